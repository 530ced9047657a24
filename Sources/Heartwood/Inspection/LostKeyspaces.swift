/// The object graph's keyspaces that have lost their names, and must be identified by their
/// contents.
///
/// The name of a keyspace is restored only if exactly one name is possible for it.
struct LostKeyspaces {
  private let store: Store
  var report: SalvageReport

  /// The number of entries to sample when recognising a keyspace.
  private static let sampleCount = 100

  init(_ store: Store, _ report: SalvageReport) {
    self.store = store
    self.report = report
  }

  /// An entry in a sample.
  private struct Entry {
    let key: [UInt8]
    let value: [UInt8]
    /// The components of the key, or an empty array if any component is not an integer.
    let numbers: [Int64]

    init(_ key: RawSpan, _ value: RawSpan) {
      self.key = key.copy
      self.value = value.copy
      let components = (try? Key.Component.all(in: self.key)) ?? []
      let numbers = components.map { component -> Int64? in
        if case .integer(let number) = component { return number }
        return nil
      }
      self.numbers = numbers.allSatisfy { $0 != nil } ? numbers.compactMap(\.self) : []
    }
  }

  private var lostNames: [String] {
    report.keyspaces.filter(\.hasLostName).map(\.name)
  }

  private func sample(of name: String) throws -> [Entry] {
    var entries: [Entry] = []
    try store.snapshot().keyspace(name)?.forEach { key, value in
      entries.append(Entry(key, value))
      return entries.count < Self.sampleCount
    }
    return entries
  }

  private mutating func rename(_ name: String, to known: String) throws {
    try store.write { try $0.renameKeyspace(name, to: known) }
    for index in report.keyspaces.indices where report.keyspaces[index].name == name {
      report.keyspaces[index].name = known
    }
    report.keyspaces.sort { $0.name < $1.name }
    report.notes.append("Keyspace \"\(name)\" was identified by its contents as \"\(known)\".")
  }

  // MARK: Recognising keyspaces

  /// Identifies the keyspace of the model, and restores its name.
  mutating func findModel() throws {
    guard try store.snapshot().keyspace(StoredModel.keyspace) == nil else { return }
    for name in lostNames {
      let model = try store.snapshot().keyspace(name)?
        .withValue(Key(StoredModel.key)) { $0.copy }
      guard let model, (try? StoredModel.decoded(model)) != nil else { continue }
      return try rename(name, to: StoredModel.keyspace)
    }
  }

  /// Identifies the keyspaces of rows, lists and the history, and restores their names.
  mutating func findOthers(_ stored: StoredModel, _ model: StoreModel) throws {
    var names = Set(try store.snapshot().keyspaceNames)
    var candidates: [String: [String]] = [:]
    for name in lostNames {
      let entries = try sample(of: name)
      guard !entries.isEmpty else { continue }
      candidates[name] = Self.possibleNames(entries, stored, model).filter { !names.contains($0) }
    }
    // Select a keyspace with only one possible name, unless another keyspace has the same only
    // choice.
    func clearCandidate() -> (key: String, value: [String])? {
      candidates.first { name, possible in
        possible.count == 1
          && !candidates.contains { $0.key != name && $0.value == possible }
      }
    }
    // Repeat, because assigning a name to one keyspace rules out that name for all other keyspaces.
    while let clear = clearCandidate() {
      try rename(clear.key, to: clear.value[0])
      names.insert(clear.value[0])
      candidates[clear.key] = nil
      candidates = candidates.mapValues { $0.filter { $0 != clear.value[0] } }
    }
  }

  private static func possibleNames(
    _ entries: [Entry], _ stored: StoredModel, _ model: StoreModel
  ) -> [String] {
    if entries.allSatisfy({ $0.numbers.count == 1 }) {
      // The keyspace of next row IDs contains only eight-byte values, whereas records are longer.
      if entries.allSatisfy({ $0.value.count == 8 }) {
        return entries.allSatisfy({ isNextRow($0, stored) }) ? [StoredModel.rowsKeyspace] : []
      }
      return model.entities.filter { isRow(of: $0, entries, stored) }.map(\.keyspace)
    }
    guard entries.allSatisfy({ $0.numbers.count == 2 }) else { return [] }
    // Recognise the history by its transaction numbers. They are lower than any object number,
    // because object numbers contain an entity number.
    if entries.allSatisfy({ $0.numbers[0] <= ObjectNumber.maxRow }) {
      return [HistoryFormat.keyspace]
    }
    var names: Set<String> = []
    for entity in stored.entities {
      for property in entity.properties {
        guard case .toMany(let isOrdered) = property.kind, let ends = property.ends,
          let name = ends.keyspace, !name.hasPrefix("edges."),
          entries.allSatisfy({ isMember($0, ends, isOrdered, stored) })
        else { continue }
        names.insert(name)
      }
    }
    return names.sorted()
  }

  /// Returns whether an entry could contain an entity's next row ID.
  ///
  /// The result is `false` for entries of unique indexes, because object numbers are higher than
  /// row IDs.
  private static func isNextRow(_ entry: Entry, _ stored: StoredModel) -> Bool {
    guard let row = try? entry.value.span.bytes.number() else { return false }
    return (1...ObjectNumber.maxRow).contains(row)
      && stored.entities.contains { $0.number == entry.numbers[0] }
  }

  /// Returns whether all entries could be rows of an entity.
  ///
  /// Each entry must be decodable. An entry in the entity's latest layout must also be identical to
  /// a new encoding of its values.
  private static func isRow(
    of storage: EntityStorage, _ entries: [Entry], _ stored: StoredModel
  ) -> Bool {
    let targets = stored.entity(storage.number)?.properties.reduce(into: [Int: Set<Int>]()) {
      targets, property in
      guard case .toOne = property.kind, let slot = storage.slot(of: property.name) else { return }
      targets[slot] = Set(property.ends?.targets ?? [])
    }
    return entries.allSatisfy { entry in
      let isRow = try? entry.value.span.bytes.withRecord(storage.layouts) { record in
        let values = try storage.values(record)
        for (slot, targets) in targets ?? [:] {
          if case .integer(let bits) = values[slot],
            !targets.contains(ObjectNumber(bits: bits).entity)
          {
            return false
          }
        }
        return record.layoutNumber < storage.layouts.count - 1
          || storage.record(values, version: record.version) == entry.value
      }
      return isRow ?? false
    }
  }

  private static func isMember(
    _ entry: Entry, _ ends: StoredModel.StoredEnds, _ isOrdered: Bool, _ stored: StoredModel
  ) -> Bool {
    guard isOrdered == (entry.value.count == 8) else { return false }
    let owner = ObjectNumber(bits: entry.numbers[0])
    let owners = stored.entities.filter { entity in
      entity.properties.contains { $0.ends?.declaration == ends.declaration }
    }
    var member = ObjectNumber(bits: entry.numbers[1])
    if isOrdered, let bits = try? entry.value.span.bytes.number() {
      member = ObjectNumber(bits: bits)
    }
    return owners.contains { $0.number == owner.entity } && ends.targets.contains(member.entity)
  }
}
