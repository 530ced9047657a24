/// The one way in which rows are changed: by a context, a batch request or a revert, in one
/// transaction.
///
/// Who changes rows says what each is to hold, and which members join and leave. What follows from
/// that is found here: which row a new object becomes, what a deletion entails, which references
/// are `nil`, that both sides of a relationship agree, what is derived, and what the history says.
/// Everything that depends on other rows goes by what the store holds now.
///
/// What is used for every row is unchecked: it holds values only, and one thread uses it.
final class RowChanges {
  let rows: RowWriter
  let model: StoreModel
  let policy: MergePolicy.Kind
  @exclusivity(unchecked) var derived: DerivedRows
  /// The changes in the order in which they were asked for, then those that follow from them.
  @exclusivity(unchecked) private(set) var list: [RowChange] = []
  /// The changes by the number of the row, as far as they were asked for.
  @exclusivity(unchecked) private var table = NumberTable<RowChange>()
  /// The number of changes that are in the table.
  @exclusivity(unchecked) private var tableCount = 0
  /// The rows that new objects have become, by the numbers they would have had.
  @exclusivity(unchecked) private(set) var replaced: [ObjectNumber: ObjectNumber] = [:]
  /// The slots of edits that gave way, by object.
  @exclusivity(unchecked) private var yielded: [ObjectNumber: SlotSet] = [:]
  var deletions: [Deletion] = []
  var denials: [Denial] = []
  /// The ordered lists to be written, in the order in which they were met.
  @exclusivity(unchecked) var lists = ListEdits()
  /// Whether there are the rows that were asked for, by number.
  @exclusivity(unchecked) private var knownRows = NumberTable<Bool>()
  /// The rows whose being gone is no news to whoever changes others.
  private(set) var gone: Set<ObjectNumber> = []
  /// The rows whose deletion was asked for and gives way: a cascade does not delete them either.
  private(set) var spared: Set<ObjectNumber> = []
  private(set) var conflicts: [ObjectGraphError] = []
  /// Whether the values of rows are all that changes, and no relationship: so it is in batches.
  let areAttributesOnly: Bool
  /// Whether the times of objects stay as they are.
  let keepsTimes: Bool
  /// The number of changes at the beginning whose own derived attributes are computed.
  private var requestedCount = 0

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

  // MARK: What is asked for

  /// Takes up a change; a row has one at most.
  func add(_ change: RowChange) {
    list.append(change)
  }

  /// Puts the changes into the table that came since somebody asked.
  private func completeTable() {
    while tableCount < list.count {
      table[list[tableCount].number] = list[tableCount]
      tableCount += 1
    }
  }

  /// Notes that an object has edits of these references, which give way.
  func yield(_ number: ObjectNumber, _ slots: SlotSet) {
    yielded[number, default: SlotSet()].formUnion(slots)
  }

  /// Whether an edit of a reference gave way.
  func hasYielded(_ number: ObjectNumber, _ slot: Int) -> Bool {
    yielded[number]?.contains(slot) ?? false
  }

  /// Notes that a row is known to be gone.
  func noteGone(_ number: ObjectNumber) { gone.insert(number) }

  /// Notes that the deletion of a row gives way.
  func spare(_ number: ObjectNumber) { spared.insert(number) }

  func report(_ conflict: ObjectGraphError) { conflicts.append(conflict) }

  // MARK: Rows

  /// The change of a row, made if there is none; `nil` if the row is gone or deleted.
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

  /// The change of a row, if there is one.
  func known(_ number: ObjectNumber) -> RowChange? {
    completeTable()
    return table[number]
  }

  /// The number of the row that an object is or becomes.
  func resolved(_ number: ObjectNumber) -> ObjectNumber {
    guard !replaced.isEmpty, var result = replaced[number] else { return number }
    while let next = replaced[result] { result = next }
    return result
  }

  /// Has a new object become another row.
  func replace(_ change: RowChange, by other: RowChange) {
    completeTable()
    replaced[change.number] = other.number
    table[change.number] = nil
    if let slots = yielded.removeValue(forKey: change.number) { yield(other.number, slots) }
  }

  /// Takes the new objects out that have become other rows.
  func removeReplaced() {
    completeTable()
    list.removeAll { replaced[$0.number] != nil }
    tableCount = list.count
  }

  /// Whether there will be a row after the transaction.
  func exists(_ number: ObjectNumber) throws -> Bool {
    if let known = known(number) { return !known.isDeleted }
    if let known = knownRows[number] { return known }
    let isThere = try model.storage(of: number).map { try rows.exists(number, $0) } ?? false
    knownRows[number] = isThere
    return isThere
  }

  // MARK: Writing

  /// Works out what follows from the changes, and writes all of it.
  ///
  /// - Throws: `mergeConflict` or `constraintConflict`, with all of them; `deniedDelete`;
  ///   `validation` if a value cannot be stored.
  func write() throws {
    for change in list where !change.isDeleted {
      // One that gave way in all that it changed is not written.
      if change.isEffective || !change.members.isEmpty { try deriveOwn(change) }
    }
    try settleUniqueness()
    requestedCount = list.count
    try carryOutDeletions()
    try settleReferences()
    try throwConflicts()
    try settleMembers()
    try settleOneWayReferences()
    for change in list[requestedCount...] where !change.isDeleted && change.isEffective {
      try deriveOwn(change)
    }
    if areAttributesOnly {
      try derived.noteChanges(self)
    } else {
      for change in try derived.deriveRelated(self) { add(change) }
    }
    try put()
  }

  /// Ends a transaction of several writes: what depends on rows that were written is computed.
  func finish() throws {
    begin()
    for change in try derived.deriveRelated(self) { add(change) }
    try put()
    try rows.finish()
  }

  /// Forgets the changes, which were written, so that others of the same transaction can follow.
  func begin() {
    list.removeAll(keepingCapacity: true)
    table.removeAll()
    tableCount = 0
    knownRows.removeAll()
    (replaced, yielded, deletions, lists, gone, spared) = ([:], [:], [], ListEdits(), [], [])
  }

  private func deriveOwn(_ change: RowChange) throws {
    guard model.hasDerived else { return }
    try derived.deriveOwn(
      &change.after, change.number, change.storage, keepsTimes: keepsTimes)
  }

  /// Writes the rows with their entries: what one gives up may be taken by another.
  private func put() throws {
    let written = list.filter { !$0.isDeleted && $0.isEffective }
    for change in written {
      try rows.removeEntries(change.number, change.storage, change.before, unlessIn: change.after)
    }
    for change in written {
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
