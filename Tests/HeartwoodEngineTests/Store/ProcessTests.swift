import Foundation
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

/// Tests stores in real processes.
///
/// The tests check the state after a process is killed, and the errors in a second process.
@Suite("A store and other processes")
struct ProcessTests {
  /// Four processes, one after another, write numbers to the same store.
  ///
  /// Each process records its acknowledged numbers in another file and is killed at a random time.
  @Test(.spawning, .evidence("D4"), .evidence("I6"))
  func `lose no commit when a process is killed`() async throws {
    let directory = try ScratchDirectory()
    let path = directory.path(of: "store")
    let notes = directory.path(of: "notes")
    for round in 0..<4 {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, notes = notes as String, round = round as Int] in
        let store = try Store(at: path)
        Thread.detachNewThread {
          usleep(UInt32(40_000 + round * 23_000))
          kill(getpid(), SIGKILL)
        }
        let descriptor = open(notes, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        var number = try store.snapshot().keyspace("numbers")?.count() ?? 0
        while true {
          try store.write(durability: number % 3 == 0 ? .full : .normal) { transaction in
            try transaction.keyspace("numbers").put(
              number, [UInt8](repeating: UInt8(number & 0xFF), count: 200))
          }
          withUnsafeBytes(of: Int64(number)) { _ = write(descriptor, $0.baseAddress, 8) }
          if number % 40 == 39 { try store.checkpoint() }
          number += 1
        }
      }
      // The lock must have been released when the process ended.
      let store = try Store(at: path)
      let noted = try Data(contentsOf: URL(fileURLWithPath: notes)).count / 8
      let numbers = try #require(try store.snapshot().keyspace("numbers"))
      #expect(try numbers.count() >= noted, "round \(round)")
      for number in 0..<noted where try numbers.get(number)?.first != UInt8(number & 0xFF) {
        Issue.record("round \(round): \(number) was acknowledged, but is missing")
      }
      #expect(!store.recovery.startedLineage, "round \(round)")
      #expect(try store.verify().findings == [], "round \(round)")
      try store.close()
      // A number may have been committed but not recorded. The commit remains, so record the number
      // now.
      let count = try numbers.count()
      try Data(count: count * 8).write(to: URL(fileURLWithPath: notes))
    }
  }

  @Test(.spawning, .evidence("I8"))
  func `see each other's commits`() async throws {
    let directory = try ScratchDirectory()
    let path = directory.path(of: "store")
    let store = try Store(at: path)
    try store.write { try $0.keyspace("a").put(1, [1]) }
    await #expect(processExitsWith: .success) { [path = path as String] in
      let store = try Store(at: path)
      #expect(try store.snapshot().keyspace("a")?.get(1) == [1])
      try store.write { try $0.keyspace("a").put(2, [2]) }
      var options = StoreOptions()
      options.isReadOnly = true
      let reader = try Store(at: path, options: options)
      #expect(try reader.snapshot().keyspace("a")?.get(2) == [2])
      try reader.close()
      try store.close()
    }
    #expect(try store.snapshot().keyspace("a")?.get(2) == [2])
    #expect(try store.verify().findings == [])
    try store.close()
  }
}
