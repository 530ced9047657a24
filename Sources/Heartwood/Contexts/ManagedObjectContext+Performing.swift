extension ManagedObjectContext {
  /// Runs `body` immediately on the caller's thread, for code ported from Core Data.
  public func performAndWait<R>(_ body: () throws -> R) rethrows -> R {
    confinement?.enter()
    defer { confinement?.leave() }
    defer { processPendingChanges() }
    return try body()
  }

  /// Runs `body` on the caller's actor, for code ported from Core Data.
  public nonisolated(nonsending) func perform<R>(_ body: () throws -> R) async rethrows -> R {
    try performAndWait(body)
  }
}
