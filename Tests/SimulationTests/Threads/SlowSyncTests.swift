import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

@Suite("A device whose sync does not return")
struct SlowSyncTests {
  /// Blocks the syncs of the log or of the page file until it is opened again.
  private final class Gate: Sendable {
    private let isClosed = Mutex(false)
    private let opened = DispatchSemaphore(value: 0)
    let reached = DispatchSemaphore(value: 0)

    func close() { isClosed.withLock { $0 = true } }

    func pass() {
      guard isClosed.withLock({ $0 }) else { return }
      reached.signal()
      opened.wait()
      opened.signal()
    }

    func open() {
      isClosed.withLock { $0 = false }
      opened.signal()
    }
  }

  private enum Work: CaseIterable {
    case commit, checkpoint
  }

  @Test(.evidence("I2"), .mustEnd, arguments: Work.allCases)
  private func `stops no reader, old or new, in this process or in another one`(
    work: Work
  ) throws {
    let directory = try ScratchDirectory()
    let path = directory.path(of: "store")
    let files = ObservedFileSystem(PosixFileSystem())
    var options = StoreOptions()
    options.maintenance = .inline
    let store = try Store(at: path, options: options, fileSystem: files)
    func write(_ value: UInt8, _ durability: StoreOptions.Durability) throws {
      try store.write(durability: durability) { try $0.keyspace("a").put(1, [value]) }
    }
    try write(1, .normal)
    let old = try store.snapshot()
    try write(2, .normal)
    let gate = Gate()
    let name = work == .commit ? "/wal-" : "/pages"
    files.onSync = { path in if path.contains(name) { gate.pass() } }
    gate.close()
    let worker = Thread {
      do {
        switch work {
        case .commit: try store.write { try $0.keyspace("a").put(1, [3]) }
        case .checkpoint: try store.checkpoint()
        }
      } catch {
        Issue.record(error)
      }
      gate.reached.signal()
    }
    worker.start()
    gate.reached.wait()
    // The worker is now blocked in a sync.
    var readOnly = options
    readOnly.isReadOnly = true
    for _ in 0..<20 {
      #expect(try old.keyspace("a")?.get(1) == [1])
      #expect(try store.snapshot().keyspace("a")?.get(1) == [2])
      let other = try Store(
        at: path, options: readOnly, fileSystem: OtherProcess(PosixFileSystem()))
      #expect(try other.snapshot().keyspace("a")?.get(1) == [2])
      try other.close()
    }
    gate.open()
    gate.reached.wait()
    files.onSync = nil
    #expect(try store.snapshot().keyspace("a")?.get(1) == [work == .commit ? 3 : 2])
    #expect(try store.verify().findings == [])
  }
}
