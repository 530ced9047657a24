/// The changes to rows in one transaction.
///
/// Contexts, batch requests and reverts write rows through this class, except in the fast paths of
/// ``SaveRequest``.
///
/// The caller specifies the new values of each row, and the members to add and remove. This class
/// determines the consequences: it merges new objects into existing rows, applies delete rules,
/// clears references, keeps both sides of relationships consistent, computes derived attributes,
/// and records the history. Everything that depends on other rows is based on the current contents
/// of the store.
///
/// Properties that are used for every row skip exclusivity checks. Skipping the checks is safe,
/// because the properties contain only values and only one thread uses them.
final class RowChanges {
  let rows: RowWriter
  let model: StoreModel
  let policy: MergePolicy.Kind
  @exclusivity(unchecked) var derived: DerivedRows
  /// The changes in the order in which they were requested, followed by their consequences.
  @exclusivity(unchecked) private(set) var list: [RowChange] = []
  /// The first `tableCount` changes in `list`, keyed by row number.
  @exclusivity(unchecked) private var table = NumberTable<RowChange>()
  /// The number of changes in the table.
  @exclusivity(unchecked) private var tableCount = 0
  /// The rows into which new objects were merged, keyed by the numbers that the objects would have
  /// had.
  @exclusivity(unchecked) private(set) var replaced: [ObjectNumber: ObjectNumber] = [:]
  /// The slots of the references whose edits were overridden in a conflict, keyed by object.
  @exclusivity(unchecked) private var lostEdits: [ObjectNumber: SlotSet] = [:]
  var deletions: [Deletion] = []
  var denials: [Denial] = []
  /// The ordered lists to write, in the order in which they were encountered.
  @exclusivity(unchecked) var lists = ListEdits()
  /// For each row that has been looked up, a Boolean value that indicates whether the row exists.
  @exclusivity(unchecked) private var knownRows = NumberTable<Bool>()
  /// The rows that the caller has reported as missing from the store.
  private(set) var missingRows: Set<ObjectNumber> = []
  /// The rows whose requested deletion was overridden in a conflict.
  ///
  /// Cascading deletions must not delete these rows either.
  private(set) var protectedRows: Set<ObjectNumber> = []
  private(set) var conflicts: [ObjectGraphError] = []
  /// A Boolean value that indicates whether the changes affect attributes but not relationships, as
  /// in batch insertions and updates.
  let areAttributesOnly: Bool
  /// A Boolean value that indicates whether any of the changed rows may be related to other rows.
  @exclusivity(unchecked) private var hasRelationships = false
  /// A Boolean value that indicates whether attributes derived from the save time keep their
  /// values.
  let keepsTimes: Bool

  init(
    _ rows: RowWriter, _ model: StoreModel, _ policy: MergePolicy.Kind,
    areAttributesOnly: Bool = false, keepsTimes: Bool = false
  ) {
    self.rows = rows
    self.model = model
    self.policy = policy
    self.areAttributesOnly = areAttributesOnly
    self.keepsTimes = keepsTimes
    derived = DerivedRows(rows, model)
  }

  // MARK: Requests

  /// Adds a change to the list.
  ///
  /// - Precondition: The list does not already contain a change to the same row.
  func add(_ change: RowChange) {
    list.append(change)
    if change.storage.hasRelationships { hasRelationships = true }
  }

  /// Removes all changes except the first `count` changes.
  func removeChanges(after count: Int) {
    completeTable()
    for change in list[count...] { table[change.number] = nil }
    list.removeSubrange(count...)
    tableCount = count
  }

  /// Adds the remaining changes in `list` to the table.
  private func completeTable() {
    while tableCount < list.count {
      table[list[tableCount].number] = list[tableCount]
      tableCount += 1
    }
  }

  /// Records that edits to an object's references in the given slots were overridden in a conflict.
  func recordLostEdits(of number: ObjectNumber, _ slots: SlotSet) {
    lostEdits[number, default: SlotSet()].formUnion(slots)
  }

  /// Returns whether an edit to a reference was overridden in a conflict.
  func hasLostEdit(_ number: ObjectNumber, _ slot: Int) -> Bool {
    lostEdits[number]?.contains(slot) ?? false
  }

  /// Records that a row no longer exists in the store.
  func recordMissing(_ number: ObjectNumber) { missingRows.insert(number) }

  /// Records that the deletion of a row was overridden in a conflict.
  func protect(_ number: ObjectNumber) { protectedRows.insert(number) }

  func report(_ conflict: ObjectGraphError) { conflicts.append(conflict) }

  /// A Boolean value that indicates whether relationships may change.
  var affectsRelationships: Bool { hasRelationships && !areAttributesOnly }

  // MARK: Rows

  /// Returns the change to a row, creating the change if necessary, or `nil` if the row is missing
  /// or deleted.
  func change(of number: ObjectNumber) throws -> RowChange? {
    if let known = known(number) { return known.isDeleted ? nil : known }
    guard let storage = model.storage(of: number), let row = try rows.row(number, storage) else {
      return nil
    }
    let change = RowChange(
      number, storage, before: row.values, after: row.values, version: row.version)
    add(change)
    return change
  }

  /// Returns the change to a row, or `nil` if there is none.
  func known(_ number: ObjectNumber) -> RowChange? {
    completeTable()
    return table[number]
  }

  /// Returns the number of an object's row.
  ///
  /// If the object was merged into another row, the result is the number of that row.
  func resolved(_ number: ObjectNumber) -> ObjectNumber {
    replaced[number] ?? number
  }

  /// Records that a new object was merged into another row.
  func replace(_ change: RowChange, by other: RowChange) {
    completeTable()
    replaced[change.number] = other.number
    table[change.number] = nil
  }

  /// Removes the changes for new objects that were merged into other rows.
  func removeReplaced() {
    completeTable()
    list.removeAll { replaced[$0.number] != nil }
    tableCount = list.count
  }

  /// Returns whether a row will exist after the transaction.
  func exists(_ number: ObjectNumber) throws -> Bool {
    if let known = known(number) { return !known.isDeleted }
    if let known = knownRows[number] { return known }
    let isThere = try model.storage(of: number).map { try rows.exists(number, $0) } ?? false
    knownRows[number] = isThere
    return isThere
  }

  // MARK: Writing

  /// Determines the consequences of the changes and writes all rows.
  ///
  /// - Throws: `mergeConflict` or `constraintConflict` with all conflicts, `deniedDelete` if a
  ///   delete rule prevents a deletion, or `validation` if a value cannot be stored.
  func write() throws {
    if model.hasDerived {
      for change in list where !change.isDeleted { try deriveOwn(change) }
    }
    let requested = list
    // Delete rows first, because a row that is deleted by a delete rule releases its unique values,
    // and no new object may be merged into it (C-13).
    try performDeletions()
    try resolveUniqueConstraints(of: requested)
    try resolveReferences()
    try throwConflicts()
    try writeMembers()
    try clearDanglingReferences()
    if model.hasDerived {
      for change in list where !change.isDerived && !change.isDeleted { try deriveOwn(change) }
    }
    if areAttributesOnly {
      try derived.markDependents(of: self)
    } else {
      for change in try derived.deriveRelated(self) { add(change) }
    }
    try put()
  }

  /// Computes and writes the attributes that are derived from the written rows.
  ///
  /// Call this method at the end of a transaction in which ``write()`` may have been called several
  /// times.
  func finish() throws {
    begin()
    for change in try derived.deriveRelated(self) { add(change) }
    try put()
    try rows.finish()
  }

  /// Discards the changes that have been written, so that more changes can be written in the same
  /// transaction.
  func begin() {
    list.removeAll(keepingCapacity: true)
    table.removeAll()
    tableCount = 0
    knownRows.removeAll()
    (replaced, lostEdits, deletions, denials, conflicts) = ([:], [:], [], [], [])
    (lists, missingRows, protectedRows) = (ListEdits(), [], [])
  }

  /// Computes the attributes of a row that are derived from the row itself, unless the row is
  /// unchanged.
  ///
  /// A row may be unchanged if, for example, conflict resolution has discarded all edits. If only
  /// relationship members change, the row counts as changed once they have been written.
  func deriveOwn(_ change: RowChange) throws {
    guard model.hasDerived, change.isEffective else { return }
    change.isDerived = true
    try derived.deriveOwn(
      &change.after, change.number, change.storage, keepsTimes: keepsTimes)
  }

  /// Writes the rows and their index entries.
  ///
  /// All old index entries are removed first, because a row may receive another row's former unique
  /// value.
  private func put() throws {
    for change in list where !change.isDeleted && change.isEffective {
      guard let before = change.before else { continue }
      try rows.removeEntries(change.number, change.storage, before, unlessIn: change.after)
    }
    for change in list where !change.isDeleted && change.isEffective {
      try rows.put(
        change.number, change.storage, change.after, before: change.before,
        lists: change.touched, version: change.isDerivedOnly ? change.version : nil)
    }
  }

  private func throwConflicts() throws {
    try conflicts.throwAll(conflicts.first?.kind ?? .mergeConflict, "cannot be saved")
  }

  func id(_ number: ObjectNumber) -> ManagedObjectID { ManagedObjectID(number, model.space) }
}
