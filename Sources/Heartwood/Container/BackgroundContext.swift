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
  private let queue: SerialQueue
  private let context: ManagedObjectContext

  /// The executor that runs the actor's work.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    queue.asUnownedSerialExecutor()
  }

  init(_ context: sending ManagedObjectContext) {
    queue = SerialQueue()
    self.context = context
  }

  /// Runs `body` with the context, after all earlier calls have finished.
  ///
  /// Objects must not leave `body`; return IDs or values. Save changes before `body` returns: other
  /// calls may run before the caller's next call, and would see unsaved changes.
  ///
  /// - Returns: The result of `body`.
  /// - Throws: The error that `body` throws.
  public func perform<R: Sendable>(
    _ body: @Sendable (ManagedObjectContext) throws -> R
  ) async throws -> R {
    defer { context.processPendingChanges() }
    return try body(context)
  }
}

/// An executor that runs the jobs of one actor in order, on a thread that is not part of Swift's
/// concurrency pool.
private final class SerialQueue: SerialExecutor {
  private let queue = DispatchQueue(label: "heartwood.context")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}
