import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Interrupts the backup of a store, the thinning of a backup and the restoration of a generation.
///
/// At every call, the power is cut, the process dies, an error occurs, or the disk is full.
@Suite("Interruptions of backups")
struct BackupCrashTests {
  enum Step: CaseIterable {
    case first, delta, thinning, restoring, creating, advancing, promoting
  }

  /// A disk with a store and its backups, and their expected contents.
  private struct Scene {
    let disk: SimulatedDisk
    var states: [BackedUpState] = []
    var store: Store?

    /// Creates the scene in which a step begins.
    init(before step: Step) throws {
      disk = SimulatedDisk(seed: 5)
      let opened = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
      store = opened
      let count = step == .first ? 0 : step == .delta ? 1 : 4
      for round in 0...count {
        try opened.write(durability: .full) { transaction in
          let keyspace = try transaction.keyspace("k")
          for key in 0..<12 where key % (round + 1) == 0 {
            try keyspace.put(key, [UInt8](repeating: UInt8(round), count: 900))
          }
        }
        guard round < count else { break }
        states.append(try BackedUpState(opened.snapshot()))
        try opened.backup(to: "/backup")
        if round == 0, step == .advancing || step == .promoting { try Self.replica(disk).close() }
      }
    }

    static func replica(_ disk: SimulatedDisk) throws -> Replica {
      try Replica(
        at: "/replica", following: Backup(at: "/backup", on: disk), CrashHistory.options())
    }

    var backup: Backup { Backup(at: "/backup", on: disk) }

    func run(_ step: Step) throws {
      switch step {
      case .first, .delta: try store?.backup(to: "/backup")
      case .thinning:
        let kept = [states[0].generation, states[3].generation]
        try backup.thin { kept.contains($0.generation) }
      case .restoring: try backup.restore(states[2].generation, to: "/restored")
      case .creating, .advancing:
        let replica = try Self.replica(disk)
        try replica.advance()
        try replica.close()
      case .promoting: try Replica.promote("/replica", CrashHistory.options(), disk)
      }
    }
  }

  /// Expects that an interrupted step has lost nothing, and that the step can be repeated.
  private func expectSound(
    _ scene: Scene, _ step: Step, _ disk: SimulatedDisk, _ label: String
  ) throws {
    let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
    try StoreFixture.expectSound(store)
    #expect(try store.snapshot().keyspace("k")?.count() == 12, "\(label)")
    let backup = Backup(at: "/backup", on: disk)
    let kept = step == .thinning ? [scene.states[0], scene.states[3]] : scene.states
    for (position, state) in kept.enumerated() {
      let path = "/check\(position)"
      try backup.restore(state.generation, to: path)
      try state.expectEqual(at: path, on: disk, label)
    }
    if try disk.list("/restored") != nil {
      try scene.states[2].expectEqual(at: "/restored", on: disk, label)
    }
    if step == .promoting { try expectPromotable(scene, disk, label) }
    if step == .creating || step == .advancing { try expectFollowing(scene, disk, label) }
    try store.backup(to: "/backup")
    try backup.restore(to: "/newest")
    try BackedUpState(store.snapshot()).expectEqual(at: "/newest", on: disk, label)
    let names = try store.namedGenerations().keys.filter { $0.hasPrefix("backup-") }
    #expect(names.count == 1, "\(label)")
    let files = try disk.list("/backup") ?? []
    #expect(!files.contains { $0.hasSuffix(".partial") }, "\(label)")
    try store.close()
  }

  /// Expects that the replica has one of the states, if it exists, and can be advanced.
  private func expectFollowing(
    _ scene: Scene, _ disk: SimulatedDisk, _ label: String
  ) throws {
    var options = CrashHistory.options()
    options.isReadOnly = true
    if try disk.list("/replica") != nil {
      let reader = try Store(at: "/replica", options: options, fileSystem: disk)
      let snapshot = try reader.snapshot()
      let state = scene.states.first { $0.generation == snapshot.generation }
      try #require(state, "\(label)").expectSamePages(snapshot, label)
      try StoreFixture.expectSound(reader)
      try reader.close()
    }
    let replica = try Scene.replica(disk)
    try replica.advance()
    try replica.close()
    let reader = try Store(at: "/replica", options: options, fileSystem: disk)
    try scene.states[3].expectSamePages(reader.snapshot(), label)
    let status = try reader.replicaStatus
    #expect(status != nil && status?.lastError == nil, "\(label)")
    try StoreFixture.expectSound(reader)
    try reader.close()
  }

  /// Expects that the promotion is complete, or can be completed.
  private func expectPromotable(
    _ scene: Scene, _ disk: SimulatedDisk, _ label: String
  ) throws {
    if try disk.list("/replica")?.contains("replica") == true {
      try Replica.promote("/replica", CrashHistory.options(), disk)
    }
    let promoted = try Store(at: "/replica", options: CrashHistory.options(), fileSystem: disk)
    let snapshot = try promoted.snapshot()
    #expect(snapshot.generation > scene.states[0].generation, "\(label)")
    try scene.states[0].expectSamePages(snapshot, label)
    try promoted.write { try $0.keyspace("promoted").put(1, [1]) }
    try StoreFixture.expectSound(promoted)
    #expect(throws: (any Error).self) { try promoted.backup(to: "/backup") }
    try promoted.close()
  }

  @Test(
    .evidence("A1"), .evidence("A2"), .evidence("A5"), .evidence("A7"), .evidence("A8"),
    .evidence("A9"), arguments: Step.allCases)
  func `lose nothing and can be continued`(step: Step) throws {
    let whole = try Scene(before: step)
    let start = whole.disk.callCount
    try whole.run(step)
    let count = whole.disk.callCount - start
    #expect(count > 5)
    for call in stride(from: 1, through: count, by: TestScale.pick(quick: 7, all: 1)) {
      let killed = try Scene(before: step)
      killed.disk.faultPlan = .powerCut(atCall: killed.disk.callCount + call, leavesPart: true)
      #expect(throws: (any Error).self) { try killed.run(step) }
      try expectSound(killed, step, killed.disk.killed(), "\(step) killed at call \(call)")
      for seed in TestScale.seeds(quick: 1, all: 20) {
        try expectSound(
          killed, step, killed.disk.crashed(.seeded(seed, .uniform)),
          "\(step) cut at call \(call), seed \(seed)")
      }
      for kind in [StorageError.Kind.io, .diskFull] {
        let failing = try Scene(before: step)
        failing.disk.faultPlan = .failure(kind, atCall: failing.disk.callCount + call)
        try? failing.run(step)
        failing.disk.faultPlan = FaultPlan()
        var scene = failing
        scene.store = nil
        try expectSound(scene, step, failing.disk.killed(), "\(step) \(kind) at call \(call)")
      }
    }
  }
}
