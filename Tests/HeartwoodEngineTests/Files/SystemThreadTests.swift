import HeartwoodEngine
import Synchronization
import Testing

@Suite("A thread")
struct SystemThreadTests {
  /// An object whose deinitialiser takes some time and then sets a flag.
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

  /// A thread may hold the last reference to an object, so `join` must wait until the thread has
  /// released it.
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
