import Dispatch

/// A context that runs its work on a separate thread instead of the caller's.
///
/// Saves wait for locks and for the disk. On a separate thread, they do not block the threads of
/// Swift's concurrency pool.
///
/// ```swift
/// let background = container.newBackgroundContext()
/// try await background.perform { context in
///   Note(context: context).text = "milk"
///   try context.save()
/// }
/// ```
public actor BackgroundContext {
  private let executor: ContextExecutor
  private let context: ManagedObjectContext
  private var isBusy = false
  /// The calls that wait for their turn, the earliest first.
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// The context whose call the current task is part of.
  @TaskLocal private static var current: ObjectIdentifier?

  /// The executor that runs the actor's work.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  init(_ context: sending ManagedObjectContext) {
    executor = ContextExecutor()
    self.context = context
  }

  /// Runs `body` with the context, after all earlier calls have finished.
  ///
  /// While `body` waits for something else, such as a download, no other call runs. A call within
  /// `body`, or within a task that `body` creates, does not wait for the outer call.
  ///
  /// Objects must not leave `body`; return IDs or values. Save changes before `body` returns: other
  /// calls may run before the caller's next call, and would see unsaved changes.
  ///
  /// - Returns: The result of `body`.
  /// - Throws: The error that `body` throws.
  public func perform<R: Sendable>(
    _ body: nonisolated(nonsending) @Sendable (ManagedObjectContext) async throws -> R
  ) async throws -> R {
    let isWithinCall = Self.current == ObjectIdentifier(self)
    if !isWithinCall { await begin() }
    defer {
      context.processPendingChanges()
      if !isWithinCall { end() }
    }
    return try await Self.$current.withValue(ObjectIdentifier(self)) { try await body(context) }
  }

  private func begin() async {
    guard isBusy else {
      isBusy = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  private func end() {
    guard !waiting.isEmpty else {
      isBusy = false
      return
    }
    waiting.removeFirst().resume()
  }
}
