import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

/// Tests readers, writers and checkpoints that run concurrently, with real threads and files.
@Suite("A store used by threads")
struct ThreadTests {
  private final class Failures: Sendable {
    private let list = Mutex<[String]>([])
    func add(_ sentence: String) { list.withLock { $0.append(sentence) } }
    var all: [String] { list.withLock { $0 } }
  }

  /// Runs each closure on a separate thread, and waits until all of them have ended.
  private func concurrently(_ bodies: [@Sendable () throws -> Void], _ failures: Failures) {
    let group = DispatchGroup()
    for body in bodies {
      group.enter()
      Thread.detachNewThread {
        do { try body() } catch { failures.add("\(error)") }
        group.leave()
      }
    }
    group.wait()
  }

  /// Each commit writes its number under every key, so a reader that finds different numbers has
  /// seen an incomplete commit.
  @Test(
    .evidence("I1"), .evidence("I2"), .evidence("D2"),
    arguments: [StoreOptions.Access.mapped, .buffered])
  func `shows each reader one generation while commits and checkpoints continue`(
    access: StoreOptions.Access
  ) throws {
    let directory = try ScratchDirectory()
    var options = StoreOptions()
    options.access = access
    options.segmentByteCount = 128 << 10
    options.checkpointLogByteCount = 1 << 20
    options.cacheByteCount = 1 << 20
    let store = try Store(at: directory.path(of: "store"), options: options)
    let isDone = Atomic<Bool>(false)
    let failures = Failures()
    let keys = (0..<200).map { Int64($0) }
    @Sendable func value(_ number: Int) -> [UInt8] {
      let size = 80 + number % 60
      return [UInt8](repeating: UInt8(number % 251), count: size)
    }
    try store.write { transaction in
      for key in keys { try transaction.keyspace("a").put(key, value(0)) }
    }
    let writer: @Sendable () throws -> Void = {
      defer { isDone.store(true, ordering: .releasing) }
      for number in 1...TestScale.pick(quick: 50, all: 400) {
        try store.write(durability: number % 50 == 0 ? .full : .normal) { transaction in
          let keyspace = try transaction.keyspace("a")
          for key in keys { try keyspace.put(key, value(number)) }
        }
      }
    }
    let reader: @Sendable () throws -> Void = {
      var last = Generation(frame: 0)
      while !isDone.load(ordering: .acquiring) {
        let snapshot = try store.snapshot()
        if snapshot.generation < last { failures.add("a reader went back in time") }
        last = snapshot.generation
        let keyspace = try snapshot.keyspace("a")
        let first = try keyspace?.get(keys[0])
        for key in keys where try keyspace?.get(key) != first {
          failures.add("\(snapshot.generation) shows two commits")
        }
        let count = try keyspace?.count()
        if count != keys.count { failures.add("\(snapshot.generation) counts wrong") }
      }
    }
    let checkpointer: @Sendable () throws -> Void = {
      while !isDone.load(ordering: .acquiring) { try store.checkpoint() }
    }
    concurrently([writer, reader, reader, checkpointer], failures)
    #expect(failures.all.isEmpty)
    #expect(try store.verify().findings == [])
    try store.close()
  }

  @Test(.evidence("I3"))
  func `serialises writers, each on top of all earlier commits`() throws {
    let directory = try ScratchDirectory()
    let store = try Store(at: directory.path(of: "store"))
    let failures = Failures()
    let writer: @Sendable () throws -> Void = {
      for _ in 0..<25 {
        try store.write(durability: .full) { transaction in
          let keyspace = try transaction.keyspace("a")
          let old = try keyspace.get("sum")?.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
          let new = (old ?? 0) + 1
          try keyspace.put("sum", withUnsafeBytes(of: new) { [UInt8]($0) })
        }
      }
    }
    concurrently([writer, writer, writer, writer], failures)
    #expect(failures.all.isEmpty)
    let sum = try store.snapshot().keyspace("a")?.withValue("sum") { $0.unsafeLoad(as: Int64.self) }
    #expect(sum == 100)
    // Threads share syncs: a waiting thread need not sync if another thread's sync covers its
    // commit.
    #expect(store.statistics.activity.logSyncCount <= 100)
    #expect(try store.verify().findings == [])
    try store.close()
  }

  @Test func `throws when the wait for the writer times out`() throws {
    var options = StoreOptions()
    options.busyTimeout = .milliseconds(50)
    let store = try Store.inMemory(options: options)
    let failures = Failures()
    let hasStarted = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let slow: @Sendable () throws -> Void = {
      try store.write { transaction in
        try transaction.keyspace("a").put("slow", [1])
        hasStarted.signal()
        mayEnd.wait()
      }
    }
    let impatient: @Sendable () throws -> Void = {
      hasStarted.wait()
      defer { mayEnd.signal() }
      do {
        try store.write { _ in }
        failures.add("a second writer got in")
      } catch let error as StorageError where error.kind == .busy {}
    }
    concurrently([slow, impatient], failures)
    #expect(failures.all.isEmpty)
    try store.write { try $0.keyspace("a").put("after", [1]) }
    #expect(try store.snapshot().keyspace("a")?.count() == 2)
    #expect(try store.verify().findings == [])
  }

  /// The object graph keeps the transaction of a save until the saved objects have been updated.
  @Test(.evidence("I3"), .evidence("I4"))
  func `does not reuse the page buffers of a transaction that outlives its closure`() throws {
    let directory = try ScratchDirectory()
    let store = try Store(at: directory.path(of: "store"))
    let failures = Failures()
    let writers = (0..<4).map { writer -> @Sendable () throws -> Void in
      {
        for number in 0..<TestScale.pick(quick: 15, all: 60) {
          var last: WriteTransaction?
          try store.write(durability: .normal) { transaction in
            let keyspace = try transaction.keyspace("\(writer)")
            for key in 0..<100 {
              try keyspace.put(key, [UInt8](repeating: UInt8(number), count: 3000))
            }
            last = transaction
          }
          withExtendedLifetime(last) {}
          last = nil
          let snapshot = try store.snapshot()
          for key in 0..<100
          where try snapshot.keyspace("\(writer)")?.get(key)?.first != UInt8(number) {
            failures.add("writer \(writer) does not find what it has written")
          }
        }
      }
    }
    concurrently(writers, failures)
    #expect(failures.all == [])
    #expect(try store.verify().findings == [])
  }
}
