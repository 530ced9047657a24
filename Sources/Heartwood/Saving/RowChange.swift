/// The change of one row in a transaction: its current and its new values.
///
/// It is a class because the lists of changes are traversed several times: each step then retains
/// one object instead of four. Its variables skip exclusivity checks, because one thread uses them
/// several times for every row, and they hold only values.
final class RowChange {
  let storage: EntityStorage
  let number: ObjectNumber
  /// The current values of the row; `nil` if it does not exist.
  let before: [StoredValue]?
  /// The current version of the row; 0 if it does not exist.
  let version: UInt64
  /// The new values of the row.
  @exclusivity(unchecked) var after: [StoredValue]
  /// Whether the row is to be deleted.
  @exclusivity(unchecked) var isDeleted = false
  /// Whether the row belongs to a new object, which may turn out to be an existing row.
  @exclusivity(unchecked) var isNew = false
  /// The number of the object before the transaction has succeeded, for error messages.
  @exclusivity(unchecked) var reportedNumber: ObjectNumber
  /// Whether the change belongs to an object that is being saved.
  @exclusivity(unchecked) var isOfObject = false
  /// The slots that were set in a new object.
  @exclusivity(unchecked) var assigned = SlotSet()
  /// The slots of references that were set; each of them takes its target from that target's
  /// previous partner.
  @exclusivity(unchecked) var edited = SlotSet()
  /// The edits of to-many relationships by slot.
  @exclusivity(unchecked) var members: [Int: MemberEdit] = [:]
  /// The slots of to-many relationships whose members or order change.
  @exclusivity(unchecked) var touched: Set<Int> = []
  /// Whether only attributes derived from other rows change: the row then keeps its version, and
  /// counts as unchanged to other contexts.
  @exclusivity(unchecked) var isDerivedOnly = false
  /// Whether the new values differ from those that the caller requested.
  @exclusivity(unchecked) var isAdjusted = false

  init(
    _ number: ObjectNumber, _ storage: EntityStorage, before: [StoredValue]?,
    after: [StoredValue], version: UInt64 = 0
  ) {
    self.number = number
    reportedNumber = number
    self.storage = storage
    self.before = before
    self.after = after
    self.version = version
  }

  /// Whether the row must be written: it is new, or something in it changes.
  var isEffective: Bool {
    guard let before else { return true }
    return !touched.isEmpty || !before.isIdentical(to: after)
  }

  /// Returns the new target of a reference.
  func target(_ slot: Int) -> ObjectNumber? { after[slot].reference }

  /// Returns the target of a reference in the store.
  func targetBefore(_ slot: Int) -> ObjectNumber? { before?[slot].reference }

  /// Sets a reference to another target than the one requested.
  func redirect(_ slot: Int, to target: ObjectNumber?) {
    after[slot] = target.map { .integer($0.bits) } ?? .null
    isAdjusted = true
  }
}

/// The changes of one to-many relationship of an object.
struct MemberEdit {
  /// The members that join, in order.
  var added: [ObjectNumber] = []
  /// The members that leave.
  var removed: [ObjectNumber] = []
  /// The members of an ordered relationship in the object, if they were loaded.
  var mine: [ObjectNumber]?
  /// The members when they were read.
  var base: [ObjectNumber]?

  /// Adds the edit of a later new object that has become the same row.
  mutating func append(_ other: MemberEdit) {
    added += other.added
    removed += other.removed
    if let theirs = other.mine { mine = (mine ?? []) + theirs }
  }
}

extension StoredValue {
  /// The target of a reference; `nil` if there is none.
  var reference: ObjectNumber? {
    if case .integer(let bits) = self { return ObjectNumber(bits: bits) }
    return nil
  }
}
