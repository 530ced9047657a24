/// A term of a text index.
public struct TextTerm: Sendable, Hashable {
  /// The term, normalised by the index's tokenizer.
  public let text: String
  /// The number of objects that contain the term.
  public let count: Int
}

extension ManagedObjectContext {
  /// Returns the terms in a text index that begin with a prefix, sorted by descending frequency.
  ///
  /// Terms with the same frequency are sorted by their characters. Unsaved changes are not
  /// included.
  ///
  /// - Throws: `unsupportedPredicate` if the class has no text index; any error from reading the
  ///   store.
  /// - Complexity: Reads the index entries of all terms that begin with the prefix.
  public func terms<M: ManagedObject>(
    withPrefix prefix: String, of type: M.Type, limit: Int = 10
  ) throws -> [TextTerm] {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(for: M.self) {
      return try storeContext.terms(withPrefix: prefix, of: type, limit: limit)
    }
    try requireReadable()
    let entity = try model.schema.requiredEntity(of: type)
    let search = try TextSearch(.prefix(prefix), entity, model.schema)
    // If the tokenizer produces no term from a prefix, the prefix matches nothing. The empty prefix
    // is an exception, and matches all terms.
    let last = search.tree.leaves.last?.term
    guard let start = last ?? (prefix.isEmpty ? [] : nil) else { return [] }
    var root = self
    while let parent = root.parent { root = parent }
    let view = try root.currentView()
    var counts: [[UInt8]: Int] = [:]
    if !view.isEmpty, let keyspace = try view.keyspace(model.keyspace(search.index)) {
      for storage in model.family(of: entity) {
        let reader = TextIndexReader(
          keyspace, entity: storage.number, fieldCount: search.index.slots.count)
        try reader.forEachTerm(prefix: start) { term, entry in
          counts[term, default: 0] += entry.count
          return true
        }
        for (_, change) in try reader.pending() {
          for word in change.before?.words ?? [] where word.term.starts(with: start) {
            counts[word.term, default: 0] -= 1
          }
          for word in change.after?.words ?? [] where word.term.starts(with: start) {
            counts[word.term, default: 0] += 1
          }
        }
      }
    }
    return counts.filter { $0.value > 0 }.sorted { first, second in
      first.value != second.value
        ? first.value > second.value : first.key.lexicographicallyPrecedes(second.key)
    }.prefix(max(0, limit)).map {
      TextTerm(text: String(decoding: $0.key, as: UTF8.self), count: $0.value)
    }
  }
}
