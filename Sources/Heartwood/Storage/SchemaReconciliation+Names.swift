extension SchemaReconciliation {
  /// Returns the stored names of entities or properties, keyed by their names in the schema.
  ///
  /// Declarations that match nothing in the store are omitted. The rules apply in this order:
  ///
  /// 1. Suppose that a declaration has former names, and its current name is not in the store or is
  ///    already matched. It matches its first former name that is in the store and still unmatched,
  ///    even if a new declaration now uses that former name.
  /// 2. Any other declaration with former names may have been renamed by an earlier migration. It
  ///    matches a former name only if the store does not record that the declaration has replaced
  ///    it, and if no current declaration uses that name, except for declarations that exchange
  ///    their names.
  /// 3. Each remaining declaration matches its own name if that name is in the store and still
  ///    unmatched.
  ///
  /// - Parameter old: The names in the store, each with the names that it has replaced.
  static func matches(
    _ new: [(name: String, former: [String])], _ old: [(name: String, former: [String]?)]
  ) -> [String: String] {
    let declared = Set(new.map(\.name))
    let renamed = new.filter { !$0.former.isEmpty }
    var free = Set(old.map(\.name))
    var result: [String: String] = [:]
    // Repeat, because a match may use up a stored name that is also the current name of another
    // declaration, which can then match one of its own former names.
    var count: Int
    repeat {
      count = result.count
      for (name, former) in renamed where result[name] == nil && !free.contains(name) {
        result[name] = former.first { free.remove($0) != nil }
      }
    } while result.count > count
    // The former names that the remaining declarations with former names can match.
    var candidates: [String: [String]] = [:]
    for (name, former) in renamed where result[name] == nil && free.contains(name) {
      let replaced = old.first { $0.name == name }?.former ?? []
      candidates[name] = former.filter {
        $0 != name && free.contains($0) && !replaced.contains($0)
      }
    }
    for (name, _) in renamed where result[name] == nil {
      for (name, former) in exchange(from: name, candidates) {
        free.remove(former)
        result[name] = former
      }
    }
    for (name, _) in renamed where result[name] == nil {
      guard
        let found = candidates[name]?.first(where: { free.contains($0) && !declared.contains($0) })
      else { continue }
      free.remove(found)
      result[name] = found
    }
    for (name, _) in new where result[name] == nil && free.remove(name) != nil {
      result[name] = name
    }
    return result
  }

  /// Returns the declarations that exchange their names with the given declaration, each with its
  /// former name.
  ///
  /// The result is empty if there are no such declarations.
  private static func exchange(
    from start: String, _ candidates: [String: [String]]
  ) -> [(name: String, former: String)] {
    var (cycle, name): ([(name: String, former: String)], String) = ([], start)
    while let former = candidates[name]?.first, !cycle.contains(where: { $0.name == name }) {
      cycle.append((name, former))
      name = former
    }
    return name == start ? cycle : []
  }
}

/// An entity or property whose former names the store records.
protocol RenamedInStore {
  /// The names that the current name has replaced, or `nil` if there are none.
  ///
  /// If the schema uses one of these names again, the name belongs to a different declaration.
  var formerNames: [String]? { get set }
}

extension StoredModel.StoredEntity: RenamedInStore {}
extension StoredModel.StoredProperty: RenamedInStore {}

extension RenamedInStore {
  /// Records that the current name has replaced the given names.
  mutating func replace(_ names: [String]) {
    let new = names.filter { formerNames?.contains($0) != true }
    if !new.isEmpty { formerNames = (formerNames ?? []) + new }
  }
}
