import Dispatch
public import Testing

/// Stops the test process if a test has not ended after ten minutes.
///
/// The time limits of the test library do not suffice. They do not stop a call that waits forever.
/// They also include the time for which a test waits for a free thread, which is minutes when all
/// tests run at once.
public struct MustEnd: TestTrait, TestScoping {
  private static let queue = DispatchQueue(label: "heartwood.tests.must-end")

  /// Runs a test, and stops the process if that takes too long.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let name = "\(test)"
    let stop = DispatchWorkItem { fatalError("The test has not ended after ten minutes: \(name)") }
    Self.queue.asyncAfter(deadline: .now() + 600, execute: stop)
    defer { stop.cancel() }
    try await function()
  }
}

extension Trait where Self == MustEnd {
  /// Marks a test that would wait forever if it failed.
  public static var mustEnd: MustEnd { MustEnd() }
}
