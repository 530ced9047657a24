extension ManagedObjectContext {
  /// Returns the current number of an object, given a number that the object had before a save.
  ///
  /// - Complexity: O(1) for most numbers; see ``RenumberedObjects``.
  func resolved(_ number: ObjectNumber) -> ObjectNumber { renumbered.resolved(number) }

  /// Renumbers an object in this context and its children, and records the object's old number.
  ///
  /// - Returns: The objects that must leave their contexts because another object in the same
  ///   context already has the new number.
  func renumber(_ object: ManagedObject, _ number: ObjectNumber) -> [ReplacedObject] {
    let old = object.number
    guard old != number else { return [] }
    renumbered.record(number, insteadOf: old)
    return exchange(old, for: number)
  }

  /// Replaces the number `old` with `number` in this context and its children, without recording
  /// the old number.
  ///
  /// - Returns: The objects that must leave their contexts because another object in the same
  ///   context already has the new number. Objects in parent contexts precede those in child
  ///   contexts.
  func exchange(_ old: ObjectNumber, for number: ObjectNumber) -> [ReplacedObject] {
    var replacedObjects: [ReplacedObject] = []
    if let object = registered.removeValue(of: old)?.takeUnretainedValue() {
      object.number = number
      if let successor = registered[number]?.takeUnretainedValue() {
        replacedObjects.append(ReplacedObject(context: self, object: object, successor: successor))
        observer?.recordReplacement(of: old)
        follower?.recordReplacement(of: old)
      } else {
        registered[number] = .passUnretained(object)
        observer?.recordNumber(number, insteadOf: old)
      }
      follower?.recordNumber(number, insteadOf: old)
    }
    if children.isEmpty { return replacedObjects }
    children.removeAll { $0.context == nil }
    for child in children { replacedObjects += child.context?.exchange(old, for: number) ?? [] }
    return replacedObjects
  }

  /// Removes the fault, if any, that a lookup has created for an unused number, so that the number
  /// can be assigned to another object.
  func dismissFault(_ number: ObjectNumber) {
    guard let fault = registered[number]?.takeUnretainedValue() else { return }
    deleted.remove(fault)
    forgetDeleted(fault)
  }
}
