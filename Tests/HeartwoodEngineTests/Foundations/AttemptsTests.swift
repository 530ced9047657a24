import HeartwoodEngine
import Testing

@Suite("The number of attempts")
struct AttemptsTests {
  /// Files that contradict each other must not cause an endless loop.
  @Test func `is limited`() {
    var attempts = Attempts()
    var count = 0
    let error = #expect(throws: StorageError.self) {
      while count < 1_000_000 {
        count += 1
        try attempts.next("pin a generation", "/store")
      }
    }
    #expect(count == Limits.maxAttemptCount)
    #expect(error?.kind == .busy && error?.file == "/store")
  }
}
