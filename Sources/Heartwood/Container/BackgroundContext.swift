import Dispatch

/// A context that runs its work on a separate thread instead of the caller's thread.
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
  /// A call to ``perform(_:)``, and the nested calls that are waiting for their turn.
  ///
  /// Call 0 represents the context itself. Every top-level call is treated as a nested call within
  /// call 0.
  private struct Call {
    var isBusy = false
    /// The waiting calls, earliest first.
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let executor: ContextExecutor
  private let context: ManagedObjectContext
  private var calls = [0: Call()]
  private var lastCall = 0

  /// The calls that enclose the current task, from outermost to innermost, keyed by the identity of
  /// the background context.
  @TaskLocal private static var outerCalls: [ObjectIdentifier: [Int]] = [:]

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
  /// While `body` waits for something, such as a download, no other call runs. However, a call made
  /// by `body`, or by a task that `body` creates, does not wait for the outer call. The inner call
  /// runs while `body` waits, and ends before the outer call does. If calls on two contexts wait
  /// for each other, neither call ever finishes.
  ///
  /// Objects must not leave `body`; return IDs or values. Save changes before `body` returns.
  /// Otherwise, other calls that run before the caller's next call would see the unsaved changes.
  ///
  /// - Returns: The result of `body`.
  /// - Throws: The error that `body` throws.
  public func perform<R: Sendable>(
    _ body: nonisolated(nonsending) @Sendable (ManagedObjectContext) async throws -> R
  ) async throws -> R {
    var outerCalls = Self.outerCalls
    // Check whether the outer call is still running, because a task may outlive the call that
    // created it.
    let outer = outerCalls[ObjectIdentifier(self)]?.last { calls[$0] != nil } ?? 0
    await begin(within: outer)
    lastCall += 1
    let call = lastCall
    calls[call] = Call()
    outerCalls[ObjectIdentifier(self), default: []].append(call)
    let result: Result<R, any Error>
    do {
      let value = try await Self.$outerCalls.withValue(outerCalls) { try await body(context) }
      result = .success(value)
    } catch {
      result = .failure(error)
    }
    // Wait for calls by tasks that `body` created but did not await.
    await begin(within: call)
    while calls[call]?.waiting.isEmpty == false {
      end(within: call)
      await begin(within: call)
    }
    calls[call] = nil
    context.endEvent()
    end(within: outer)
    return try result.get()
  }

  /// Waits until no nested call is running within the given call, and then prevents other nested
  /// calls from starting.
  private func begin(within call: Int) async {
    guard calls[call]?.isBusy == true else {
      calls[call]?.isBusy = true
      return
    }
    await withCheckedContinuation { calls[call]?.waiting.append($0) }
  }

  private func end(within call: Int) {
    guard calls[call]?.waiting.isEmpty == false else {
      calls[call]?.isBusy = false
      return
    }
    calls[call]?.waiting.removeFirst().resume()
  }
}
