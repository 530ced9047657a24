import HeartwoodEngine
import Synchronization
import Testing

/// Threads of the operating system.
@Suite("A thread")
struct SystemThreadTests {
  /// Takes some time to be destroyed, and records when it was.
  private final class Slow: Sendable {
    private let gone: Flag
    init(_ gone: Flag) { self.gone = gone }
    deinit {
      SystemThread.sleep(milliseconds: 50)
      gone.value.store(true, ordering: .sequentiallyConsistent)
    }
  }

  private final class Flag: Sendable {
    let value = Atomic(false)
  }

  /// A thread may hold the last lock on a file: a thread that joins it relies on its end.
  @Test func `holds nothing after it is joined`() throws {
    let gone = Flag()
    let thread: SystemThread?
    do {
      let slow = Slow(gone)
      thread = SystemThread { withExtendedLifetime(slow) {} }
    }
    try #require(thread).join()
    let isGone = gone.value.load(ordering: .sequentiallyConsistent)
    #expect(isGone)
  }
}
