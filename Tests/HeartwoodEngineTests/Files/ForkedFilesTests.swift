import Dispatch
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Tests that a forked child can neither use the files and shared memory of its parent nor wait for
/// one of its threads.
///
/// Each test runs in its own process, which it forks.
@Suite("Files and locks in a forked child")
struct ForkedFilesTests {
  @Test(.spawning, .evidence("E4")) func `an inherited file rejects every call`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk()
      try fixture.run { try $0.write { try $0.keyspace("k").put(1, [1]) } }
      let file = try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write))
      let child = ForkedProcess {
        let calls: [() throws -> Void] = [
          { _ = try file.byteCount() }, { _ = try file.bytes(at: 0, 1) },
          { try file.write([1], at: 0) }, { try file.sync() }, { _ = try file.identity() },
          { _ = try file.lock(.shared, 0..<1) },
        ]
        return calls.allSatisfy { ForkedProcess.kind($0) == .forked } ? 0 : 1
      }
      #expect(child.wait() == 0)
    }
  }

  @Test(.spawning, .evidence("E4")) func `a write to shared memory stays in the child`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk()
      let store = try fixture.open()
      let counters = try fixture.counters()
      let child = ForkedProcess {
        counters.setFailed()
        return counters.hasFailed ? 0 : 1
      }
      #expect(child.wait() == 0)
      #expect(!counters.hasFailed)
      try store.write { try $0.keyspace("k").put(1, [1]) }
      try store.close()
    }
  }

  @Test(.spawning, .evidence("E3"))
  func `a lock that a thread of the parent holds does not stop the child`() async {
    await #expect(processExitsWith: .success) {
      // Opening any store prepares this process for forks.
      try Store.inMemory().close()
      let lock = Lock()
      let (isHeld, canEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let holder = SystemThread {
        lock.withLock {
          isHeld.signal()
          canEnd.wait()
        }
      }
      let thread = try #require(holder)
      isHeld.wait()
      let child = ForkedProcess {
        // End the child if it waits for the lock.
        alarm(20)
        lock.withLock { lock.wakeAll() }
        return 0
      }
      #expect(child.wait() == 0)
      canEnd.signal()
      thread.join()
    }
  }
}
