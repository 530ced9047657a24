import Dispatch

/// An executor for an actor that owns a context.
///
/// The executor runs the actor's jobs in order, on a thread outside Swift's concurrency pool.
///
/// ```swift
/// actor Notebook {
///   private let executor = ContextExecutor()
///   private let context: ManagedObjectContext
///   nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
///
///   init(_ container: PersistentContainer) { context = container.newContext() }
///
///   func add(_ text: String) throws -> ManagedObjectID {
///     let note = Note(context: context)
///     note.text = text
///     try context.save()
///     return note.objectID
///   }
/// }
/// ```
///
/// Saves wait for locks and for the disk. With this executor, an actor does not block a thread of
/// the pool while it waits.
public final class ContextExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "heartwood.context")

  /// Creates an executor with its own queue.
  public init() {}

  /// Adds a job to the queue.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}
