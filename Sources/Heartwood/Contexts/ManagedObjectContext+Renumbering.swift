extension ManagedObjectContext {
  /// Returns the number that an object has now, for one that it had before it was saved.
  ///
  /// - Complexity: O(1) for most numbers; see ``RenumberedObjects``.
  func resolved(_ number: ObjectNumber) -> ObjectNumber { renumbered.resolved(number) }

  /// Gives an object another number, here and in the child contexts, and remembers the one it had.
  func renumber(_ object: ManagedObject, _ number: ObjectNumber) {
    guard object.number != number else { return }
    renumbered.record(number, insteadOf: object.number)
    exchangeNumber(of: object, for: number)
  }

  /// Gives an object another number, here and in the child contexts; nothing leads there from the
  /// one it had.
  func exchangeNumber(of object: ManagedObject, for number: ObjectNumber) {
    let old = object.number
    registered[old] = nil
    object.number = number
    registered[number] = .passUnretained(object)
    follower?.noteNumber(number, insteadOf: old)
    observer?.noteNumber(number, insteadOf: old)
    children.removeAll { $0.context == nil }
    for child in children {
      guard let context = child.context, let own = context.registered[old] else { continue }
      context.exchangeNumber(of: own.takeUnretainedValue(), for: number)
    }
  }

  /// Dismisses the fault that stands for a number under which the context had no object: it gets
  /// one.
  func dismissFault(_ number: ObjectNumber) {
    guard let fault = registered[number]?.takeUnretainedValue() else { return }
    deleted.remove(fault)
    forgetDeleted(fault)
  }
}
