import Dispatch
public import Testing

/// Stops the test process if a test has not ended after 25 minutes.
///
/// The time limits of the test library do not suffice, because they do not stop a call that waits
/// forever. The limit must exceed the duration of a complete run: all tests start at once, so an
/// asynchronous test may wait for a free thread until most other tests have ended.
public struct MustEnd: TestTrait, TestScoping {
  private static let queue = DispatchQueue(label: "heartwood.tests.must-end")

  /// Runs a test, and stops the process if the test takes too long.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let name = "\(test)"
    let stop = DispatchWorkItem { fatalError("The test did not end within 25 minutes: \(name)") }
    Self.queue.asyncAfter(deadline: .now() + 1500, execute: stop)
    defer { stop.cancel() }
    try await function()
  }
}

extension Trait where Self == MustEnd {
  /// Marks a test that would wait forever if it failed.
  public static var mustEnd: MustEnd { MustEnd() }
}
