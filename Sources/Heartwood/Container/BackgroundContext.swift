import Dispatch

/// A context with a thread of its own, for work off the caller's.
///
/// Saving waits for locks and disks, so what runs here never takes one of the threads that Swift's
/// concurrency shares.
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

  /// What runs its work.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    queue.asUnownedSerialExecutor()
  }

  init(_ context: sending ManagedObjectContext) {
    queue = SerialQueue()
    self.context = context
  }

  /// Runs `body` with the context, after what was asked for before.
  ///
  /// Objects stay here; return IDs or values. Save what shall be kept: another block may run before
  /// your next, and finds what was left.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  public func perform<R: Sendable>(
    _ body: @Sendable (ManagedObjectContext) throws -> R
  ) async throws -> R {
    defer { context.processPendingChanges() }
    return try body(context)
  }
}

/// Runs the jobs of one actor, one after the other, on a thread that nobody else waits for.
private final class SerialQueue: SerialExecutor {
  private let queue = DispatchQueue(label: "heartwood.context")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}
