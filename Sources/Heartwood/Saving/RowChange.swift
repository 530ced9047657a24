/// A change to one row in a transaction, including the row's current and new values.
///
/// The type is a class, because lists of changes are traversed several times. Each step of a
/// traversal retains only one object, whereas it would retain four if the type were a struct. The
/// properties skip exclusivity checks, because they are used several times for every row. Skipping
/// the checks is safe, because the properties contain only values and only one thread uses them.
final class RowChange {
  let storage: EntityStorage
  let number: ObjectNumber
  /// The current values of the row, or `nil` if the row does not exist.
  let before: [StoredValue]?
  /// The current version of the row, or 0 if the row does not exist.
  let version: UInt64
  /// The new values of the row.
  @exclusivity(unchecked) var after: [StoredValue]
  /// A Boolean value that indicates whether the change deletes the row.
  @exclusivity(unchecked) var isDeleted = false
  /// A Boolean value that indicates whether the change inserts a new object.
  ///
  /// The object may be merged into an existing row.
  @exclusivity(unchecked) var isNew = false
  /// The object's current number, for error messages.
  ///
  /// A new object receives its permanent number only if the transaction succeeds.
  @exclusivity(unchecked) var reportedNumber: ObjectNumber
  /// A Boolean value that indicates whether the change comes from a managed object that is being
  /// saved.
  @exclusivity(unchecked) var isOfObject = false
  /// The slots of the properties that were set in a new object.
  @exclusivity(unchecked) var assigned = SlotSet()
  /// The slots of the references that were set explicitly.
  ///
  /// In a one-to-one relationship, only an explicitly set reference can separate its target from
  /// the target's previous partner.
  @exclusivity(unchecked) var edited = SlotSet()
  /// The edits to the to-many relationships, keyed by slot.
  @exclusivity(unchecked) var members: [Int: MemberEdit] = [:]
  /// The slots of to-many relationships whose members or order change.
  @exclusivity(unchecked) var touched: Set<Int> = []
  /// A Boolean value that indicates whether the only changes are to attributes derived from other
  /// rows.
  ///
  /// The row then keeps its version, so that other contexts treat it as unchanged.
  @exclusivity(unchecked) var isDerivedOnly = false
  /// A Boolean value that indicates whether the attributes derived from the row itself have been
  /// computed.
  ///
  /// Consequences of other changes affect only relationships, so these attributes stay valid.
  @exclusivity(unchecked) var isDerived = false
  /// A Boolean value that indicates whether the new values differ from the requested values.
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

  /// The requested values and edits of a change, which are restored if the caller's request fails.
  struct Request {
    let after: [StoredValue]
    fileprivate let assigned: SlotSet
    fileprivate let edited: SlotSet
    fileprivate let members: [Int: MemberEdit]
  }

  var request: Request {
    get { Request(after: after, assigned: assigned, edited: edited, members: members) }
    set {
      (after, assigned, edited, members) = (
        newValue.after, newValue.assigned, newValue.edited, newValue.members
      )
    }
  }

  /// A Boolean value that indicates whether the row must be written.
  ///
  /// A row must be written if it is new or its contents change.
  var isEffective: Bool {
    guard let before else { return true }
    return !touched.isEmpty || !before.isIdentical(to: after)
  }

  /// Returns the new target of a reference, or `nil` if the reference will have no target.
  func target(_ slot: Int) -> ObjectNumber? { after[slot].reference }

  /// Returns the stored target of a reference, or `nil` if there is none.
  func targetBefore(_ slot: Int) -> ObjectNumber? { before?[slot].reference }

  /// Replaces the requested target of a reference, or clears the reference if `target` is `nil`.
  func redirect(_ slot: Int, to target: ObjectNumber?) {
    after[slot] = target.map { .integer($0.bits) } ?? .null
    isAdjusted = true
  }
}

/// The changes to a to-many relationship of an object.
struct MemberEdit {
  /// The members to add, in order.
  var added: [ObjectNumber] = []
  /// The members to remove.
  var removed: [ObjectNumber] = []
  /// The members of an ordered relationship in the context that is being saved, or `nil` if they
  /// are not known.
  var mine: [ObjectNumber]?
  /// The members that the context originally read, or `nil` if they are not known.
  var base: [ObjectNumber]?

  /// Adds the edit of another new object that was merged into the same row.
  mutating func append(_ other: MemberEdit) {
    added += other.added
    removed += other.removed
    if let theirs = other.mine { mine = (mine ?? []) + theirs }
  }
}

extension StoredValue {
  /// The target if the value is a reference to an object; otherwise, `nil`.
  var reference: ObjectNumber? {
    if case .integer(let bits) = self { return ObjectNumber(bits: bits) }
    return nil
  }
}
