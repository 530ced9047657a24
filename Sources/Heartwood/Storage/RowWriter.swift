/// A writer of records, index entries, relationship entries and the history in one transaction.
///
/// To save time, exclusivity checks are disabled for the cached keyspaces and row IDs, which are
/// accessed for every row. This is safe, because only one thread uses them.
final class RowWriter {
  private let transaction: WriteTransaction
  let model: StoreModel
  private let history: HistoryWriter?
  @exclusivity(unchecked) private var keyspaces: [String: KeyspaceWriter] = [:]
  /// The keyspaces of records, indexed by the entity's position.
  @exclusivity(unchecked) private var objectKeyspaces: [KeyspaceWriter?]
  /// The keyspaces of index entries, indexed by the declaring entity's position and then by the
  /// index's position.
  @exclusivity(unchecked) private var entryKeyspaces: [[KeyspaceWriter?]]
  /// The next row ID of each entity, indexed by the entity's position.
  ///
  /// An element is `nil` until the transaction needs the row ID.
  @exclusivity(unchecked) private var nextRows: [Int64?]
  @exclusivity(unchecked) private var encoder = RecordEncoder()
  /// The writers of text indexes, keyed by the entity's position.
  @exclusivity(unchecked) private var textWriters: [Int: TextIndexWriter] = [:]

  init(
    _ transaction: WriteTransaction, _ model: StoreModel, _ origin: HistoryWriter.Origin
  ) {
    self.transaction = transaction
    self.model = model
    objectKeyspaces = Array(repeating: nil, count: model.entities.count)
    nextRows = Array(repeating: nil, count: model.entities.count)
    entryKeyspaces = model.entities.map { Array(repeating: nil, count: $0.indexKeyspaces.count) }
    history = model.tracksHistory ? HistoryWriter(transaction, origin) : nil
  }

  func keyspace(_ name: String) throws -> KeyspaceWriter {
    if let known = keyspaces[name] { return known }
    let new = try transaction.keyspace(name)
    keyspaces[name] = new
    return new
  }

  /// Returns the keyspace of an entity's records.
  private func objects(_ storage: EntityStorage) throws -> KeyspaceWriter {
    if let known = objectKeyspaces[storage.entity.position] { return known }
    let new = try keyspace(storage.keyspace)
    objectKeyspaces[storage.entity.position] = new
    return new
  }

  /// Returns the keyspace of an index's entries.
  private func entries(_ index: IndexDescription) throws -> KeyspaceWriter {
    let entity = index.entity.position
    if let known = entryKeyspaces[entity][index.position] { return known }
    let new = try keyspace(model.keyspace(index))
    entryKeyspaces[entity][index.position] = new
    return new
  }

  /// Returns the writer for an entity's text index, or `nil` if the entity has none.
  private func texts(_ storage: EntityStorage) throws -> TextIndexWriter? {
    guard let index = storage.entity.textIndex else { return nil }
    if let known = textWriters[storage.entity.position] { return known }
    let new = try TextIndexWriter(
      keyspace(model.keyspace(index)), index, entity: storage.number)
    textWriters[storage.entity.position] = new
    return new
  }

  // MARK: Rows

  /// Returns an unused object number for a new row.
  func nextNumber(_ storage: EntityStorage) throws -> ObjectNumber {
    let row: Int64
    if let known = nextRows[storage.entity.position] {
      row = known
    } else {
      row =
        try keyspace(StoredModel.rowsKeyspace).withValue(storage.number) { try $0.number() } ?? 1
    }
    guard row > 0 else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: the next row ID of \(storage.entity.name) is invalid. Restore a "
          + "backup.")
    }
    guard row <= ObjectNumber.maxRow else {
      throw StorageError(
        .tooLarge,
        "The store has run out of row IDs for \(storage.entity.name). Create a new store, and copy "
          + "the objects into it.")
    }
    nextRows[storage.entity.position] = row + 1
    return ObjectNumber(entity: storage.number, row: row)
  }

  /// Writes the remaining data: the next row ID of each entity, the changes to text indexes, and
  /// the rest of the history.
  func finish() throws {
    for (_, writer) in textWriters.sorted(by: { $0.key < $1.key }) { try writer.flush() }
    try history?.finish()
    for (storage, row) in zip(model.entities, nextRows) {
      guard let row else { continue }
      var bytes: [UInt8] = []
      bytes.append(littleEndian: row)
      try keyspace(StoredModel.rowsKeyspace).put(storage.number, bytes)
    }
  }

  /// Returns the contents of a row, or `nil` if the row does not exist.
  ///
  /// An object with a temporary number has no row.
  func row(
    _ number: ObjectNumber, _ storage: EntityStorage
  ) throws -> (version: UInt64, values: [StoredValue])? {
    guard !number.isTemporary else { return nil }
    return try objects(storage).withValue(number.row) { value in
      try value.withRecord(storage.layouts) { ($0.version, try storage.values($0)) }
    }
  }

  /// Returns the version of a row, or `nil` if the row does not exist.
  func version(_ number: ObjectNumber, _ storage: EntityStorage) throws -> UInt64? {
    try objects(storage).withValue(number.row) { value in
      try value.withRecord(storage.layouts) { $0.version }
    }
  }

  /// Returns whether a row exists.
  func exists(_ number: ObjectNumber, _ storage: EntityStorage) throws -> Bool {
    guard !number.isTemporary else { return false }
    return try objects(storage).withValue(number.row) { _ in } != nil
  }

  /// Writes a row and its new index entries.
  ///
  /// The entries of `before` that are no longer valid must already have been removed.
  ///
  /// - Parameters:
  ///   - lists: The slots of the changed to-many relationships, which are recorded in the history.
  ///   - version: The existing version to keep, so that conflict detection ignores the change, or
  ///     `nil` to give the row a new version.
  /// - Throws: `validation` if a value could not be read back once stored, or `constraintConflict`
  ///   if another row has the same values in a unique index. This method checks only those unique
  ///   indexes whose attributes include one that is derived from related objects. All other unique
  ///   indexes have already been checked.
  func put(
    _ number: ObjectNumber, _ storage: EntityStorage, _ values: [StoredValue],
    before: [StoredValue]?, lists: some Collection<Int> = [], version: UInt64? = nil
  ) throws {
    storage.encode(values, version: version ?? transaction.base, with: &encoder)
    if storage.needsCheck(encoder.record) {
      try storage.requireStorable(values, ManagedObjectID(number, model.space))
    }
    try objects(storage).put(number.row, encoder.record)
    if let history { try recordInHistory(number, storage, values, before, lists, in: history) }
    for index in storage.entity.indexes where !index.isSame(values, before) {
      let components = index.slots.lazy.map { values[$0] }
      guard !index.isUnique || !components.contains(where: \.isNull) else { continue }
      if index.isOverRelationship, index.isUnique,
        try owner(index, Array(components), EntryKey.key(components)) != nil
      {
        throw index.conflict([ManagedObjectID(number, model.space)])
      }
      try entries(index).put(
        EntryKey.entry(components, number, isUnique: index.isUnique),
        index.isUnique ? EntryKey.value(number) : [])
    }
    try texts(storage)?.change(number.row, from: before, to: values)
  }

  /// Writes the row and the index entries of a new object whose entity is isolated (see
  /// ``StoreModel/isIsolated(_:)``).
  ///
  /// The record is encoded directly from the object's memory.
  ///
  /// - Returns: `false` if a value cannot be stored or may be too large, in which case nothing is
  ///   written; otherwise, `true`.
  func put(_ number: ObjectNumber, _ storage: EntityStorage, _ object: ManagedObject) throws -> Bool
  {
    do {
      try storage.encode(object, version: transaction.base, with: &encoder)
    } catch {
      return false
    }
    guard !storage.needsCheck(encoder.record) else { return false }
    try objects(storage).put(number.row, encoder.record)
    try history?.inserted(number)
    for index in storage.entity.indexes {
      let components = try index.slots.map { try object.storedValue(storage.entity.properties[$0]) }
      try entries(index).put(EntryKey.entry(components, number, isUnique: false), [])
    }
    if let texts = try texts(storage), let index = storage.entity.textIndex {
      let values = try index.slots.map {
        try object.storedValue(storage.entity.properties[$0]).string
      }
      try texts.change(number.row, fromTexts: nil, toTexts: values)
    }
    return true
  }

  /// Writes the row and the index entries of an object whose attributes have changed.
  ///
  /// The record is encoded directly from the object's memory.
  ///
  /// - Parameter originals: The stored values of all properties that may have changed, keyed by
  ///   slot.
  /// - Returns: `false` if no value has changed, or if a value cannot be stored or may be too
  ///   large. In these cases, nothing is written.
  /// - Precondition: The changed properties are attributes that are not part of any unique index.
  func putAttributes(
    _ number: ObjectNumber, _ storage: EntityStorage, _ object: ManagedObject,
    _ originals: [Int: StoredValue]
  ) throws -> Bool {
    let properties = storage.entity.properties
    var changed = SlotSet()
    do {
      for (slot, original) in originals {
        let value = try object.storedValue(properties[slot])
        if !value.isIdentical(to: original) { changed.insert(slot) }
      }
      guard !changed.isEmpty else { return false }
      try storage.encode(object, version: transaction.base, with: &encoder)
    } catch {
      return false
    }
    guard !storage.needsCheck(encoder.record) else { return false }
    try objects(storage).put(number.row, encoder.record)
    try history?.updated(
      number,
      storage.entity.columns.compactMap {
        changed.contains($0.slot) ? storage.propertyNumbers[$0.slot] : nil
      })
    func values(_ slots: [Int]) throws -> (before: [StoredValue], after: [StoredValue]) {
      let after = try slots.map { try object.storedValue(properties[$0]) }
      return (zip(slots, after).map { slot, value in originals[slot] ?? value }, after)
    }
    for index in storage.entity.indexes where index.slots.contains(where: changed.contains) {
      let (before, after) = try values(index.slots)
      let keyspace = try entries(index)
      try keyspace.delete(EntryKey.entry(before, number, isUnique: false))
      try keyspace.put(EntryKey.entry(after, number, isUnique: false), [])
    }
    if let index = storage.entity.textIndex, index.slots.contains(where: changed.contains) {
      let (before, after) = try values(index.slots)
      try texts(storage)?.change(
        number.row, fromTexts: before.map(\.string), toTexts: after.map(\.string))
    }
    return true
  }

  private func recordInHistory(
    _ number: ObjectNumber, _ storage: EntityStorage, _ values: [StoredValue],
    _ before: [StoredValue]?, _ lists: some Collection<Int>, in history: HistoryWriter
  ) throws {
    guard let before else { return try history.inserted(number) }
    let columns = storage.entity.columns.map(\.slot).filter {
      !values[$0].isIdentical(to: before[$0])
    }
    let slots = columns + lists.sorted()
    try history.updated(number, slots.compactMap { storage.propertyNumbers[$0] })
  }

  /// Removes the index entries that a row has for `values`, except those that `after` also
  /// requires.
  func removeEntries(
    _ number: ObjectNumber, _ storage: EntityStorage, _ values: [StoredValue],
    unlessIn after: [StoredValue]? = nil
  ) throws {
    for index in storage.entity.indexes where !index.isSame(values, after) {
      let components = index.slots.lazy.map { values[$0] }
      guard !index.isUnique || !components.contains(where: \.isNull) else { continue }
      try entries(index).delete(
        EntryKey.entry(components, number, isUnique: index.isUnique))
    }
  }

  /// Deletes a row, its index entries and its member lists.
  ///
  /// The row is also removed from the member lists of the objects to which its to-one relationships
  /// refer. Other member lists that contain the row are not changed.
  func delete(
    _ number: ObjectNumber, _ storage: EntityStorage, _ values: [StoredValue]
  ) throws {
    try removeEntries(number, storage, values)
    try texts(storage)?.change(number.row, from: values, to: nil)
    try objects(storage).delete(number.row)
    try history?.deleted(
      number,
      storage.preservedColumns.compactMap { property in
        guard let name = storage.propertyNumbers[property.slot],
          let text = property.fieldStorageType?.preservedText(of: values[property.slot])
        else { return nil }
        return (name, text)
      })
    for (slot, name) in model.references(of: storage.entity) where !values[slot].isNull {
      try keyspace(name).delete(EntryKey.key([values[slot], .integer(number.bits)]))
    }
    for name in model.lists(of: storage.entity) {
      let edges = try keyspace(name)
      for component in try lastComponents(edges, number) {
        try edges.delete(EntryKey.key([.integer(number.bits), .integer(component)]))
      }
    }
  }

  /// Returns the object that has the given values in a unique index, or `nil` if there is none.
  ///
  /// - Parameter key: The encoded key of `values`.
  ///
  /// - Precondition: The index entries are consistent with the rows.
  func owner(
    _ index: IndexDescription, _ values: @autoclosure () -> [StoredValue], _ key: Key
  ) throws -> ObjectNumber? {
    let entries = try entries(index)
    guard key.bytes.count > Limits.maxKeyByteCount else {
      return try entries.withValue(key) { ObjectNumber(bits: try $0.number()) }
    }
    return try RowsKeyspace.transaction(entries).owner(index, values(), key) { number in
      try model.storage(of: number).flatMap { try row(number, $0)?.values }
    }
  }
}

extension IndexDescription {
  /// Returns whether two lists of values produce the same index entry for a row.
  ///
  /// Returns `false` if `other` is `nil`.
  fileprivate func isSame(_ values: [StoredValue], _ other: [StoredValue]?) -> Bool {
    guard let other else { return false }
    return slots.allSatisfy { values[$0].isIdentical(to: other[$0]) }
  }
}
