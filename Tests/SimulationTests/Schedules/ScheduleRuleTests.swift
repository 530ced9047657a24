import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests which orders are explored, and how hanging or dying processes are handled.
@Suite("An exploration of orders")
struct ScheduleRuleTests {
  /// Runs one participant for each closure, in the given order, on a shared file system.
  private static func run(
    _ switches: [Schedule.Switch], on memory: MemoryFileSystem,
    _ bodies: [@Sendable (ScheduledProcess, Schedule) throws -> Void]
  ) -> Schedule {
    let schedule = Schedule(switches)
    for body in bodies {
      let process = ScheduledProcess(memory)
      schedule.add(process) { try body(process, $0) }
    }
    schedule.run()
    return schedule
  }

  private static func memory(_ byteCount: UInt64 = 1) throws -> MemoryFileSystem {
    let memory = MemoryFileSystem()
    try #require(try memory.open("/f", .create)).setByteCount(byteCount)
    return memory
  }

  private static func file(_ fileSystem: any FileSystem) throws -> any File {
    try #require(try fileSystem.open("/f", .write))
  }

  /// Increments a number in a file, and reads another part of the file in between.
  private static func count(_ process: ScheduledProcess, _: Schedule) throws {
    let file = try file(process)
    let number = try file.bytes(at: 0, 1)[0]
    _ = try file.bytes(at: 8192, 1)
    try file.write([number + 1], at: 0)
  }

  /// Explores all orders of three participants that each increment the number.
  ///
  /// - Returns: The resulting numbers, and the summary of the exploration.
  private func counts(
    _ preemptionBound: Int, _ preemptions: Schedule.Preemptions = .distinct
  ) throws -> (found: Set<UInt8>, summary: Exploration.Summary) {
    var found: Set<UInt8> = []
    let summary = try Exploration(
      preemptionBound: preemptionBound, runLimit: .max, seed: 1, preemptions: preemptions
    ).run {
      let memory = try Self.memory(16_384)
      let schedule = Self.run($0, on: memory, [Self.count, Self.count, Self.count])
      found.insert(try Self.file(memory).bytes(at: 0, 1)[0])
      return schedule
    }
    #expect(summary.failure == nil)
    return (found, summary)
  }

  @Test func `finds the updates that a preemption loses, and none without it`() throws {
    #expect(try counts(0).found == [3])
    #expect(try counts(1).found == [1, 2, 3])
  }

  @Test func `skips only orders with the same outcome`() throws {
    let all = try counts(2, .all)
    let distinct = try counts(2)
    #expect(distinct.found == all.found && distinct.summary.outcomes == all.summary.outcomes)
    #expect(distinct.summary.runCount < all.summary.runCount / 2)
  }

  @Test func `reports a deadlock`() throws {
    let summary = try Exploration(preemptionBound: 1, runLimit: .max, seed: 1).run {
      Self.run(
        $0, on: try Self.memory(),
        [[0, 1], [1, 0]].map { (bytes: [UInt64]) in
          { process, _ in
            let file = try Self.file(process)
            for byte in bytes { try file.waitForLock(.exclusive, byte..<byte + 1) }
            _ = try file.lock(.none, 0..<2)
          }
        })
    }
    #expect(summary.failure?.failures == ["all participants wait for each other"])
    #expect(summary.failure?.switches.count == 1)
  }

  @Test func `lets a process that is refused a lock continue with something else`() throws {
    var found: Set<UInt8> = []
    let summary = try Exploration(preemptionBound: 1, runLimit: .max, seed: 1).run {
      let memory = try Self.memory(16_384)
      let schedule = Self.run(
        $0, on: memory,
        [
          { process, _ in
            let file = try Self.file(process)
            try file.waitForLock(.exclusive, 0..<1)
            try file.write([1], at: 0)
            try file.write([2], at: 0)
            _ = try file.lock(.none, 0..<1)
          },
          { process, _ in
            let file = try Self.file(process)
            guard try !file.lock(.shared, 0..<1) else { return }
            try file.write(file.bytes(at: 0, 1), at: 8192)
          },
        ])
      found.insert(try Self.file(memory).bytes(at: 8192, 1)[0])
      return schedule
    }
    #expect(summary.failure == nil && found == [0, 1, 2])
  }

  /// Keeps files open after the thread that opened them has ended.
  private final class Opened: @unchecked Sendable {
    // @unchecked because only one participant at a time uses the files.
    var files: [any File] = []
  }

  @Test func `releases the locks of a killed process, and shows nothing it does later`() throws {
    var killCount = 0
    let summary = try Exploration(preemptionBound: 1, runLimit: .max, seed: 1).run {
      let memory = try Self.memory(UInt64(CountersLayout.byteCount))
      let opened = Opened()
      let schedule = Self.run(
        $0, on: memory,
        [
          { process, _ in
            let file = try Self.file(process)
            opened.files.append(file)
            let counters = SharedCounters(try file.mapShared(byteCount: CountersLayout.byteCount))
            var isComplete = false
            defer { if !isComplete { counters.store(2, CountersLayout.durable) } }
            try file.waitForLock(.exclusive, 0..<1)
            counters.store(1, CountersLayout.appended)
            counters.store(1, CountersLayout.durable)
            _ = try file.lock(.none, 0..<1)
            isComplete = true
          },
          { $1.kill(0, by: 1) },
          { process, _ in
            let file = try Self.file(process)
            let counters = SharedCounters(try file.mapShared(byteCount: CountersLayout.byteCount))
            try file.waitForLock(.exclusive, 0..<1)
            if counters.durable > counters.appended { throw StorageError(.io, "It is too new.") }
          },
        ])
      if schedule.isDead(0) { killCount += 1 }
      return schedule
    }
    #expect(summary.failure == nil)
    #expect(killCount > 3)
  }
}
