extension ManagedObjectContext {
  /// Returns the number that an object has now, for one that it had before it was saved.
  ///
  /// - Complexity: O(1) for most numbers; see ``RenumberedObjects``.
  func resolved(_ number: ObjectNumber) -> ObjectNumber { renumbered.resolved(number) }

  /// Gives an object another number, here and in the child contexts, and remembers the one it had.
  ///
  /// - Returns: The objects that have to leave, because another one in their context has the
  ///   number.
  func renumber(_ object: ManagedObject, _ number: ObjectNumber) -> [Leaver] {
    let old = object.number
    guard old != number else { return [] }
    renumbered.record(number, insteadOf: old)
    return exchange(old, for: number)
  }

  /// Gives the objects of a number another one, in this context and the child contexts; nothing
  /// leads there from the one they had.
  ///
  /// - Returns: The objects that have to leave, those of a context before those of its children.
  func exchange(_ old: ObjectNumber, for number: ObjectNumber) -> [Leaver] {
    var leavers: [Leaver] = []
    if let object = registered[old]?.takeUnretainedValue() {
      registered[old] = nil
      object.number = number
      if let successor = registered[number]?.takeUnretainedValue() {
        leavers.append(Leaver(context: self, object: object, successor: successor))
        observer?.forget(old)
      } else {
        registered[number] = .passUnretained(object)
        observer?.noteNumber(number, insteadOf: old)
      }
      follower?.noteNumber(number, insteadOf: old)
    }
    if children.isEmpty { return leavers }
    children.removeAll { $0.context == nil }
    for child in children { leavers += child.context?.exchange(old, for: number) ?? [] }
    return leavers
  }

  /// Dismisses the fault that stands for a number under which the context had no object: it gets
  /// one.
  func dismissFault(_ number: ObjectNumber) {
    guard let fault = registered[number]?.takeUnretainedValue() else { return }
    deleted.remove(fault)
    forgetDeleted(fault)
  }
}
