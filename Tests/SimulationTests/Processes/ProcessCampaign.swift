import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Runs several processes on one store, kills or suspends some of them at random, and checks
/// everything that they have recorded.
final class ProcessCampaign {
  /// The number of seconds after which a process counts as stuck.
  ///
  /// On a busy disk, a process may need more than a minute for a few syncs.
  static let seconds = 300.0

  let directory: ScratchDirectory
  let seed: UInt64
  private(set) var killCount = 0
  private(set) var stopCount = 0
  private var generator: SeededGenerator
  private var workers: [Worker] = []

  /// A role in the campaign, and the process that currently has this role.
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

  /// Kills all processes, so that none of them continues after the campaign.
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

  /// Kills the process with the given index, in the order in which processes were added, and does
  /// not restart it.
  func end(_ index: Int) { killNow(workers.remove(at: index)) }

  /// Returns the URL of the worker program, which is in the same directory as the test bundle.
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

  /// Repeatedly kills one process, or sometimes all of them, and restarts the killed processes.
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

  /// Repeatedly suspends a process for some time and then resumes it.
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

  /// Returns the errors that the processes have reported, or an empty string if no process has been
  /// started.
  private func said() throws -> String {
    guard FileManager.default.fileExists(atPath: complaints) else { return "" }
    return try String(contentsOfFile: complaints, encoding: .utf8)
  }

  func signal(_ name: String) {
    _ = FileManager.default.createFile(atPath: directory.path(of: name), contents: nil)
  }

  /// Tells all processes to end, and expects all of them to end successfully.
  func finish() throws {
    signal("stop")
    let end = Date(timeIntervalSinceNow: Self.seconds)
    for worker in workers {
      while worker.process?.isRunning == true, Date() < end { usleep(2000) }
      let isStuck = worker.process?.isRunning == true
      let status = isStuck ? -1 : worker.process?.status
      killNow(worker)
      #expect(
        status == 0,
        "seed \(seed): \(worker.assignment.role) \(worker.assignment.index) is stuck or has failed")
    }
    #expect(try said() == "", "seed \(seed)")
  }

  func ledgers(_ role: WorkerAssignment.Role) -> [(index: Int, records: [Ledger.Record])] {
    workers.filter { $0.assignment.role == role }.map {
      ($0.assignment.index, Ledger.records(at: $0.assignment.ledger))
    }
  }

  /// Returns the total number of records of a kind in the ledgers of a role.
  func count(_ kind: Ledger.Kind, _ role: WorkerAssignment.Role) -> Int {
    ledgers(role).reduce(0) { $0 + $1.records.filter { $0.kind == kind }.count }
  }

  /// Waits until there are at least `count` more records of a kind.
  ///
  /// - Throws: An error if a process ends in the meantime.
  func wait(
    for kind: Ledger.Kind, _ count: Int, _ role: WorkerAssignment.Role
  ) throws {
    let wanted = self.count(kind, role) + count
    let end = Date(timeIntervalSinceNow: Self.seconds)
    while self.count(kind, role) < wanted {
      for worker in workers { try expectRunning(worker) }
      guard Date() < end else { throw SharedContent.Violation("seed \(seed): no \(kind)") }
      usleep(1000)
    }
  }

  // MARK: Checks

  /// Checks the store after all processes have ended.
  ///
  /// No lock may be held. The store must be complete and contain everything that was acknowledged,
  /// and a checkpoint must empty the log.
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

  /// Checks that every generation in the backups can be restored.
  func expectBackups() throws {
    for worker in workers where worker.assignment.role == .backup {
      let own = worker.assignment
      guard FileManager.default.fileExists(atPath: own.backup) else { continue }
      for point in try Backup(at: own.backup).restorePoints() {
        try BackupRole.check(point.generation, of: own)
      }
    }
  }

  /// Checks that the replica can be brought up to date.
  func expectReplica() throws {
    let own = try #require(workers.first).assignment
    guard FileManager.default.fileExists(atPath: own.replica) else { return }
    let backup = Backup(at: own.backup)
    let replica = try Replica(at: own.replica, following: backup)
    try replica.advance()
    #expect(try replica.generation == backup.restorePoints().last?.generation, "seed \(seed)")
    try replica.close()
    var options = own.options
    options.isReadOnly = true
    let store = try Store(at: own.replica, options: options)
    _ = try SharedContent.check(store.snapshot())
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

  /// Checks that all records agree with a single history.
  ///
  /// All reads of a generation must have found the same contents. The generations of each writer
  /// must increase. No generation may be acknowledged twice.
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
        Issue.record("seed \(seed): writer \(index) went backwards from \(earlier) to \(later)")
      }
    }
    var states: [UInt64: Ledger.Record] = [:]
    for (_, records) in ledgers(.reader) + ledgers(.follower) {
      for record in records where record.kind == .read || record.kind == .readAgain {
        let known = states[record.generation] ?? record
        states[record.generation] = known
        #expect(known.hash == record.hash && known.lasts == record.lasts, "seed \(seed)")
      }
    }
    for (index, records) in commits { expectExplained(states, by: records, of: index) }
  }

  /// Checks, in each state that was read, the number of a writer's last transaction.
  ///
  /// The number must be at least the number of the last transaction acknowledged to the writer up
  /// to that generation. It must be less than the number of the next acknowledged transaction.
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
