import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Several processes on one store, some of which are killed or suspended at random, and the check
/// of everything they have recorded.
final class ProcessCampaign {
  let directory: ScratchDirectory
  let seed: UInt64
  private(set) var killCount = 0
  private(set) var stopCount = 0
  private var generator: SeededGenerator
  private var workers: [Worker] = []

  /// One role in the campaign, and the process that fills it now.
  private final class Worker {
    var assignment: WorkerAssignment
    var process: SpawnedProcess?
    init(_ assignment: WorkerAssignment) { self.assignment = assignment }
  }

  init(seed: UInt64) throws {
    self.seed = seed
    directory = try ScratchDirectory()
    generator = SeededGenerator(seed: seed)
  }

  /// No process of a campaign outlives it.
  deinit { for worker in workers { killNow(worker) } }

  func add(_ role: WorkerAssignment.Role, _ index: Int, _ change: (inout WorkerAssignment) -> Void)
    throws
  {
    var assignment = WorkerAssignment(role, index, in: directory.path, seed: generator.next())
    change(&assignment)
    let worker = Worker(assignment)
    workers.append(worker)
    try start(worker)
  }

  // MARK: Processes

  /// The PIDs of the running processes, in the order in which they were added.
  var processNumbers: [Int32] { workers.compactMap { $0.process?.number } }

  /// Ends the process that was added at this position, for good.
  func end(_ index: Int) { killNow(workers.remove(at: index)) }

  /// The program is beside the test bundle, wherever that was built.
  static func executable() throws -> URL {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let products = bundle?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL
    let executable = products.appendingPathComponent("heartwood-worker")
    try #require(FileManager.default.isExecutableFile(atPath: executable.path), "\(executable)")
    return executable
  }

  private var complaints: String { directory.path(of: "complaints") }

  private func start(_ worker: Worker) throws {
    worker.assignment.seed = generator.next()
    if worker.assignment.role == .reader {
      worker.assignment.isReadOnly = generator.isTrue(in256: 128)
    }
    let json = try JSONEncoder().encode(worker.assignment)
    worker.process = try SpawnedProcess(
      Self.executable().path, String(decoding: json, as: UTF8.self), complaints: complaints)
  }

  private func killNow(_ worker: Worker) {
    worker.process?.end()
    worker.process = nil
  }

  /// Kills a process, or sometimes all of them, every few milliseconds, and restarts them.
  func killAtRandom(seconds: Double) throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while Date() < end {
      usleep(UInt32(2000 + generator.below(generator.isTrue(in256: 100) ? 20_000 : 220_000)))
      let victims =
        generator.isTrue(in256: 24) ? workers : [workers[generator.below(workers.count)]]
      for victim in victims {
        try expectRunning(victim)
        if let process = victim.process { kill(process.number, SIGKILL) }
      }
      for victim in victims {
        killNow(victim)
        killCount += 1
      }
      for victim in victims { try start(victim) }
    }
  }

  /// Suspends a process for a while, and resumes it.
  func stopAtRandom(seconds: Double) throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while Date() < end {
      usleep(UInt32(generator.below(60_000)))
      let victim = workers[generator.below(workers.count)]
      try expectRunning(victim)
      guard let process = victim.process else { continue }
      kill(process.number, SIGSTOP)
      usleep(UInt32(20_000 + generator.below(500_000)))
      kill(process.number, SIGCONT)
      stopCount += 1
    }
  }

  private func expectRunning(_ worker: Worker) throws {
    guard worker.process?.isRunning == false else { return }
    throw SharedContent.Violation("seed \(seed): \(try said())")
  }

  /// The errors that the processes reported; nothing before the first was started.
  private func said() throws -> String {
    guard FileManager.default.fileExists(atPath: complaints) else { return "" }
    return try String(contentsOfFile: complaints, encoding: .utf8)
  }

  func signal(_ name: String) {
    _ = FileManager.default.createFile(atPath: directory.path(of: name), contents: nil)
  }

  /// Lets every process end by itself, which must succeed.
  func finish() throws {
    signal("stop")
    let end = Date(timeIntervalSinceNow: 60)
    for worker in workers {
      while worker.process?.isRunning == true, Date() < end { usleep(2000) }
      let isStuck = worker.process?.isRunning == true
      let status = isStuck ? -1 : worker.process?.status
      killNow(worker)
      #expect(
        status == 0,
        "seed \(seed): \(worker.assignment.role) \(worker.assignment.index) is stuck or complains")
    }
    #expect(try said() == "", "seed \(seed)")
  }

  func ledgers(_ role: WorkerAssignment.Role) -> [(index: Int, records: [Ledger.Record])] {
    workers.filter { $0.assignment.role == role }.map {
      ($0.assignment.index, Ledger.records(at: $0.assignment.ledger))
    }
  }

  /// The total number of records of a kind.
  func count(_ kind: Ledger.Kind, _ role: WorkerAssignment.Role) -> Int {
    ledgers(role).reduce(0) { $0 + $1.records.filter { $0.kind == kind }.count }
  }

  /// Waits until there are so many more records of a kind; each process must run meanwhile.
  func wait(
    for kind: Ledger.Kind, _ count: Int, _ role: WorkerAssignment.Role
  ) throws {
    let wanted = self.count(kind, role) + count
    let end = Date(timeIntervalSinceNow: 60)
    while self.count(kind, role) < wanted {
      for worker in workers { try expectRunning(worker) }
      guard Date() < end else { throw SharedContent.Violation("seed \(seed): no \(kind)") }
      usleep(1000)
    }
  }

  // MARK: Afterwards

  /// No process has the store open: no lock is held, the store opens and is complete, everything
  /// acknowledged is there, and a checkpoint empties the log.
  func expectAllIsWell() throws {
    let options = try #require(workers.first).assignment.options
    let path = directory.path(of: "store")
    try expectNoLocks(path)
    let store = try Store(at: path, options: options)
    let snapshot = try store.snapshot()
    let summary = try SharedContent.check(snapshot)
    for (index, records) in ledgers(.writer) {
      let last = summary.lasts[index]
      let acknowledged = records.filter { $0.kind == .acknowledged }.map(\.number).max() ?? 0
      let intended = records.filter { $0.kind == .intent }.map(\.number).max() ?? 0
      #expect((acknowledged...max(acknowledged, intended)).contains(last), "seed \(seed)")
    }
    for (index, _) in ledgers(.keeper) {
      let ledger = WorkerAssignment(.keeper, index, in: directory.path, seed: 0).ledger
      for (number, kept) in KeeperRole.kept(by: ledger) {
        let old = try store.snapshot(at: Generation(frame: kept.generation))
        #expect(try SharedContent.check(old).hash == kept.hash, "seed \(seed), kept \(number)")
      }
    }
    for name in try store.namedGenerations().keys { try store.release(name) }
    let result = try store.checkpoint()
    #expect(result.checkpointedGeneration == snapshot.generation, "seed \(seed)")
    #expect(result.blockingGeneration == nil, "seed \(seed)")
    #expect(try store.verify().findings == [], "seed \(seed)")
    try store.close()
  }

  private func expectNoLocks(_ path: String) throws {
    let file = try #require(try PosixFileSystem().open(path + "/locks", .write))
    let locks = StoreLocks(file: file)
    for byte in LockByte.presenceReadWrite...LockByte.allocator {
      #expect(try !locks.isLockedElsewhere(byte: byte), "seed \(seed): byte \(byte)")
    }
    #expect(try locks.liveElsewhere(in: 0..<1 << 48) == [], "seed \(seed)")
  }

  /// Each read is explained by exactly one state, that of its generation; sessions never go back;
  /// no generation is acknowledged twice.
  func expectOneHistory() {
    let commits = ledgers(.writer).map { index, records in
      (index, records.filter { $0.kind == .acknowledged })
    }
    var seen: Set<UInt64> = []
    for (index, records) in commits {
      for record in records where !seen.insert(record.generation).inserted {
        Issue.record("seed \(seed): generation \(record.generation) was acknowledged twice")
      }
      for (earlier, later) in zip(records, records.dropFirst())
      where earlier.generation >= later.generation || earlier.number >= later.number {
        Issue.record("seed \(seed): writer \(index) went back from \(earlier) to \(later)")
      }
    }
    var states: [UInt64: Ledger.Record] = [:]
    for (_, records) in ledgers(.reader) {
      for record in records where record.kind == .read || record.kind == .readAgain {
        let known = states[record.generation] ?? record
        states[record.generation] = known
        #expect(known.hash == record.hash && known.lasts == record.lasts, "seed \(seed)")
      }
    }
    for (index, records) in commits { expectExplained(states, by: records, of: index) }
  }

  /// A state contains each writer's last commit up to that generation: not below the last
  /// acknowledged one, and below the next acknowledged one.
  private func expectExplained(
    _ states: [UInt64: Ledger.Record], by commits: [Ledger.Record], of writer: Int
  ) {
    var next = 0
    for state in states.values.sorted(by: { $0.generation < $1.generation }) {
      while next < commits.count, commits[next].generation <= state.generation { next += 1 }
      let last = state.lasts[writer]
      let least = next == 0 ? 0 : commits[next - 1].number
      let bound = next == commits.count ? UInt64.max : commits[next].number
      if last < least || last >= bound {
        Issue.record(
          "seed \(seed): \(state) shows \(last) of writer \(writer), not \(least)..<\(bound)")
      }
    }
  }
}
