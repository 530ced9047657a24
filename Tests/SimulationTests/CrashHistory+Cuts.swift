import HeartwoodEngine
import HeartwoodTestSupport
import Testing

extension CrashHistory {
  /// Cuts the power at every call of the steps that changes something, and checks each disk that
  /// can result.
  ///
  /// If there are too many possible disks, it checks a selection that depends on the seed.
  ///
  /// - Returns: The number of disks that were checked.
  static func cutEverywhere(
    _ steps: [Step], seed: UInt64, _ name: String, _ options: StoreOptions = options()
  ) throws -> Int {
    let complete = CrashHistory(disk: SimulatedDisk(seed: 1), seed: seed, options: options)
    try complete.run(steps)
    var states = 0
    // A quick run tries only every 16th call, beginning with a call that depends on the seed.
    let step = TestScale.pick(quick: 16, all: 1)
    for call in stride(from: 1 + Int(seed) % step, through: complete.callCount, by: step) {
      for leavesPart in [false, true] {
        let run = try cut(steps, seed: seed, atCall: call, leavesPart: leavesPart, options)
        for (number, outcome) in run.outcomes().enumerated() {
          run.expectPrefix(
            on: outcome, "\(name), cut at call \(call), part \(leavesPart), outcome \(number)")
          states += 1
        }
      }
    }
    return states
  }

  /// Runs the steps until the power is cut at the given call.
  static func cut(
    _ steps: [Step], seed: UInt64, atCall call: Int, leavesPart: Bool = false,
    _ options: StoreOptions = options()
  ) throws -> CrashHistory {
    let disk = SimulatedDisk(seed: 1, faultPlan: .powerCut(atCall: call, leavesPart: leavesPart))
    let run = CrashHistory(disk: disk, seed: seed, options: options)
    do { try run.run(steps) } catch is StorageError {}
    run.abandon()
    return run
  }

  /// Returns the disks that a power cut could leave at this moment, or a selection if there are too
  /// many.
  private func outcomes() -> [SimulatedDisk] {
    let limit = TestScale.pick(quick: 8, all: 64, long: 128)
    if let all = disk.exhaustiveCrashes(limit: limit), !all.isEmpty { return all }
    var outcomes = [disk.crashed(.nothing), disk.crashed(.everything)]
    let perMode = TestScale.pick(quick: 1, all: 2, long: 4)
    for mode in CrashMode.allCases {
      for seed in 0..<perMode {
        var generator = SeededGenerator(seed: UInt64(seed) &+ UInt64(outcomes.count))
        let options = CrashOptions.random(using: &generator)
        outcomes.append(disk.crashed(.seeded(UInt64(seed), mode, options)))
      }
    }
    return outcomes
  }

  /// Opens the store after a crash, compares its contents with the model, makes a commit, and
  /// checks that the commit survives another power cut.
  func expectPrefix(on disk: SimulatedDisk, _ context: String) {
    do {
      let opened = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
      let finding = try finding(in: opened, atLeast: durableCount)
      #expect(finding == nil, "\(context)")
      let before = try CrashHistory.number(of: opened.snapshot())
      let next = try opened.write { try $0.keyspace("after").put("crash", [1]) }
      #expect(next > newestGeneration, "\(context): a number is used again")
      let again = try Store(
        at: "/store", options: CrashHistory.options(), fileSystem: disk.crashed(.nothing))
      #expect(try again.snapshot().keyspace("after")?.get("crash") == [1], "\(context)")
      #expect(try CrashHistory.number(of: again.snapshot()) == before, "\(context)")
      #expect(try again.verify().findings == [], "\(context)")
    } catch {
      Issue.record("\(context): \(error)")
    }
  }
}
