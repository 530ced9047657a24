import Synchronization
public import Testing

/// Runs tests that mostly wait (for other processes or for time to pass) on two separate threads.
///
/// The test library runs tests on as many threads as there are processors. A test that blocks one
/// of these threads leaves a processor idle.
public struct Waiting: TestTrait, SuiteTrait, TestScoping {
  /// The executors of the two threads.
  ///
  /// There are only two, because the tests on other threads need the processors.
  private static let executors = [
    QueueExecutor("heartwood.tests.waiting-0"), QueueExecutor("heartwood.tests.waiting-1"),
  ]
  private static let useCount = Atomic(0)

  /// Runs a test, or the tests of a suite, on one of the threads.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let number = Self.useCount.add(1, ordering: .relaxed).oldValue
    try await withTaskExecutorPreference(Self.executors[number % 2]) { try await function() }
  }
}

extension Trait where Self == Waiting {
  /// Marks a test, or all tests of a suite, as mostly waiting.
  public static var waiting: Waiting { Waiting() }
}
