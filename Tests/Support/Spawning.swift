import Dispatch
public import Testing

/// Runs exit tests on a separate thread, on which no test computes or blocks.
///
/// In the test library, one thread waits for the processes of all exit tests. If a process ends
/// before its test has asked for the result, this thread spins until the test asks. With a thousand
/// other tests running, this can take minutes, and the thread keeps a processor busy the entire
/// time.
public struct Spawning: TestTrait, TestScoping {
  private static let executor = QueueExecutor("heartwood.tests.spawning")
  private static let turns = Turns()

  /// Waits until only a few other exit tests are running, and then runs a test on the thread.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(Self.executor) {
      await Self.turns.begin()
      let result: Result<Void, any Error>
      do { result = .success(try await function()) } catch { result = .failure(error) }
      await Self.turns.end()
      try result.get()
    }
  }
}

extension Trait where Self == Spawning {
  /// Marks an exit test.
  public static var spawning: Spawning { Spawning() }
}

/// Limits the number of exit tests that run at the same time, because each keeps a processor busy.
private actor Turns {
  private var freeCount = 3
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func begin() async {
    if freeCount > 0 {
      freeCount -= 1
    } else {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  func end() {
    if waiting.isEmpty {
      freeCount += 1
    } else {
      waiting.removeFirst().resume()
    }
  }
}

/// Runs tasks one after another on a queue.
final class QueueExecutor: TaskExecutor {
  private let queue: DispatchQueue

  init(_ name: String) { queue = DispatchQueue(label: name) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
