extension ManagedObjectContext {
  /// Returns the current number of an object, from one that it had before it was saved.
  ///
  /// - Complexity: O(1) for most numbers; see ``RenumberedObjects``.
  func resolved(_ number: ObjectNumber) -> ObjectNumber { renumbered.resolved(number) }

  /// Renumbers an object in this context and its children, and records its old number.
  ///
  /// - Returns: The objects that must leave their contexts, because another object there already
  ///   has the number.
  func renumber(_ object: ManagedObject, _ number: ObjectNumber) -> [ReplacedObject] {
    let old = object.number
    guard old != number else { return [] }
    renumbered.record(number, insteadOf: old)
    return exchange(old, for: number)
  }

  /// Renumbers the objects with a number in this context and its children; the old number is not
  /// recorded.
  ///
  /// - Returns: The objects that must leave, those of a context before those of its children.
  func exchange(_ old: ObjectNumber, for number: ObjectNumber) -> [ReplacedObject] {
    var replacedObjects: [ReplacedObject] = []
    if let object = registered[old]?.takeUnretainedValue() {
      registered[old] = nil
      object.number = number
      if let successor = registered[number]?.takeUnretainedValue() {
        replacedObjects.append(ReplacedObject(context: self, object: object, successor: successor))
        observer?.forget(old)
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

  /// Removes the fault that exists for a number without an object; an object gets the number now.
  func dismissFault(_ number: ObjectNumber) {
    guard let fault = registered[number]?.takeUnretainedValue() else { return }
    deleted.remove(fault)
    forgetDeleted(fault)
  }
}
