/// A row that a transaction changes: what it holds, and what it is to hold.
///
/// A class, because lists of changes are gone through several times: each step retains one object
/// then, and not four. Its variables are unchecked, because they are used several times for every
/// row, by one thread, and hold values only.
final class RowChange {
  let storage: EntityStorage
  let number: ObjectNumber
  /// The values that the row holds; `nil` if there is none.
  let before: [StoredValue]?
  /// The version of the row as it is; 0 if there is none.
  let version: UInt64
  /// The values that it is to hold.
  @exclusivity(unchecked) var after: [StoredValue]
  /// Whether the row is to be deleted.
  @exclusivity(unchecked) var isDeleted = false
  /// Whether the row is that of a new object, which may meet another one.
  @exclusivity(unchecked) var isNew = false
  /// The number that its object has until the transaction has succeeded, for errors.
  @exclusivity(unchecked) var reportedNumber: ObjectNumber
  /// Whether it is the change of an object that is saved.
  @exclusivity(unchecked) var isOfObject = false
  /// The slots that were set on a new object.
  @exclusivity(unchecked) var assigned = SlotSet()
  /// The references that were set, by slot: they take their target from whatever it was related to.
  @exclusivity(unchecked) var edited = SlotSet()
  /// The edits of to-many relationships by slot.
  @exclusivity(unchecked) var members: [Int: MemberEdit] = [:]
  /// The slots of to-many relationships whose members or order change.
  @exclusivity(unchecked) var touched: Set<Int> = []
  /// Whether all that changes is derived from other rows: the row keeps its version then, and is
  /// unchanged for others.
  @exclusivity(unchecked) var isDerivedOnly = false
  /// Whether the row is to hold something else than whoever asked for the change wanted.
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

  /// Whether the row is written: something of it changes, or there is none yet.
  var isEffective: Bool {
    guard let before else { return true }
    return !touched.isEmpty || !before.isIdentical(to: after)
  }

  /// The object that a reference is to lead to.
  func target(_ slot: Int) -> ObjectNumber? { after[slot].reference }

  /// The object that a reference leads to in the store.
  func targetBefore(_ slot: Int) -> ObjectNumber? { before?[slot].reference }

  /// Sets a reference to something else than was asked for.
  func redirect(_ slot: Int, to target: ObjectNumber?) {
    after[slot] = target.map { .integer($0.bits) } ?? .null
    isAdjusted = true
  }
}

/// The changes of one to-many relationship of an object.
struct MemberEdit {
  /// The objects that join, in their order.
  var added: [ObjectNumber] = []
  /// The objects that leave.
  var removed: [ObjectNumber] = []
  /// The members of an ordered relationship as its object has them, if they were loaded.
  var mine: [ObjectNumber]?
  /// The members it had when they were read.
  var base: [ObjectNumber]?

  /// Takes up the edit of a later new object, which has become the same row.
  mutating func append(_ other: MemberEdit) {
    added += other.added
    removed += other.removed
    if let theirs = other.mine { mine = (mine ?? []) + theirs }
  }
}

extension StoredValue {
  /// The object that a reference leads to; `nil` if there is none.
  var reference: ObjectNumber? {
    if case .integer(let bits) = self { return ObjectNumber(bits: bits) }
    return nil
  }
}
