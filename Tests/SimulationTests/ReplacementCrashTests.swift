import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests power cuts, deaths of the process and errors at every call while stores are destroyed,
/// moved or replaced.
@Suite("Interruptions while stores are destroyed, moved or replaced")
struct ReplacementCrashTests {
  enum Step: CaseIterable {
    case destruction, movement, replacement

    func run(_ disk: SimulatedDisk) throws {
      let replacement = StoreReplacement(disk, busyMilliseconds: 0)
      switch self {
      case .destruction: try replacement.destroy("/a")
      case .movement: try replacement.move("/a", to: "/c")
      case .replacement: try replacement.replace("/a", with: "/b")
      }
    }

    /// The possible values at the paths, before and after the step.
    var outcomes: [[UInt8?]] {
      switch self {
      case .destruction: [[1, 2, nil], [nil, 2, nil]]
      case .movement: [[1, 2, nil], [nil, 2, 1]]
      case .replacement: [[1, 2, nil], [2, nil, nil]]
      }
    }
  }

  private func filled() throws -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 9)
    for (path, value) in [("/a", 1), ("/b", 2)] as [(String, UInt8)] {
      let store = try Store(at: path, options: CrashHistory.options(), fileSystem: disk)
      try store.write { try $0.keyspace("k").put(1, [value]) }
      try store.close()
    }
    return disk
  }

  /// Returns the value in the store at each path, or `nil` if there is no store.
  private func values(_ disk: SimulatedDisk) throws -> [UInt8?] {
    try ["/a", "/b", "/c"].map { path in
      // An interrupted replacement is undone when the store is opened.
      let former = path + ".heartwood-replaced"
      guard try disk.list(path) != nil || disk.list(former) != nil else { return nil }
      let store = try Store(at: path, options: CrashHistory.options(), fileSystem: disk)
      try StoreFixture.expectSound(store)
      let value = try store.snapshot().keyspace("k")?.get(1)?.first
      try store.close()
      return value ?? 0
    }
  }

  /// Expects one of the outcomes, and that the step can be repeated.
  private func expectOutcome(_ step: Step, _ disk: SimulatedDisk, _ label: String) throws {
    let found = try values(disk)
    #expect(step.outcomes.contains(found), "\(step) \(label): \(found)")
    if found == step.outcomes[0] { try step.run(disk) }
    #expect(try values(disk) == step.outcomes[1], "\(step) again \(label)")
    try StoreReplacement(disk, busyMilliseconds: 0).destroy("/a")
    let names = try disk.list("/") ?? []
    #expect(!names.contains { $0.hasPrefix("a") }, "\(step) \(label): \(names)")
  }

  @Test(.evidence("D19"), arguments: Step.allCases)
  func `leave the state before or after`(step: Step) throws {
    let whole = try filled()
    let start = whole.callCount
    try step.run(whole)
    let count = whole.callCount - start
    #expect(count > 1)
    #expect(try values(whole) == step.outcomes[1])
    for call in 1...count {
      for isKill in [true, false] {
        let disk = try filled()
        disk.faultPlan = .powerCut(atCall: disk.callCount + call)
        #expect(throws: (any Error).self) { try step.run(disk) }
        if isKill {
          try expectOutcome(step, disk.killed(), "killed at call \(call)")
          continue
        }
        for seed in TestScale.seeds(quick: 3, all: 40) {
          try expectOutcome(
            step, disk.crashed(.seeded(seed, .uniform)), "cut at call \(call), seed \(seed)")
        }
      }
      let failing = try filled()
      failing.faultPlan = .failure(.io, atCall: failing.callCount + call)
      try? step.run(failing)
      failing.faultPlan = FaultPlan()
      try expectOutcome(step, failing, "failing call \(call)")
    }
  }

  @Test(.evidence("D19"), arguments: [false, true])
  func `never bring a replaced store back`(isReplacement: Bool) throws {
    let whole = try filled()
    let start = whole.callCount
    try Step.replacement.run(whole)
    var movedCount = 0
    for call in 1...whole.callCount - start {
      let disk = try filled()
      disk.faultPlan = .powerCut(atCall: disk.callCount + call)
      #expect(throws: (any Error).self) { try Step.replacement.run(disk) }
      let killed = disk.killed()
      guard try values(killed) == [2, nil, nil] else { continue }
      let replacement = StoreReplacement(killed, busyMilliseconds: 0)
      if isReplacement {
        try replacement.replace("/c", with: "/a")
      } else {
        try replacement.move("/a", to: "/c")
      }
      #expect(try values(killed) == [nil, nil, 2], "killed at call \(call)")
      movedCount += 1
    }
    #expect(movedCount > 3)
  }
}
