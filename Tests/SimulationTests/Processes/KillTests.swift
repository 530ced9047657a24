import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests real processes that use one store, some of which are killed or suspended at random.
@Suite("Processes on one store", .serialized, .waiting)
struct KillTests {
  private static let seconds = TestScale.pick(quick: 1.2, all: 4.0, long: 12.0)

  private func fill(
    _ campaign: ProcessCampaign, isMapped: Bool,
    _ change: (inout WorkerAssignment) -> Void = { _ in }
  ) throws {
    for index in 0..<3 {
      try campaign.add(.writer, index) {
        $0.isMapped = isMapped
        $0.isDurable = index == 0
        change(&$0)
      }
    }
    for role in [WorkerAssignment.Role.reader, .follower] {
      for index in 0..<2 {
        try campaign.add(role, index) {
          $0.isMapped = isMapped
          change(&$0)
        }
      }
    }
    for role in [WorkerAssignment.Role.keeper, .backup] {
      try campaign.add(role, 0) {
        $0.isMapped = isMapped
        change(&$0)
      }
    }
  }

  private func conclude(_ campaign: ProcessCampaign, _ title: String) throws {
    try campaign.finish()
    try campaign.expectAllIsWell()
    campaign.expectOneHistory()
    try campaign.expectBackups()
    try campaign.expectReplica()
    print(
      "\(title), seed \(campaign.seed): \(campaign.killCount) kills, \(campaign.stopCount) stops, "
        + "\(campaign.count(.acknowledged, .writer)) commits, "
        + "\(campaign.count(.busy, .writer)) refused, \(campaign.count(.read, .reader)) reads, "
        + "\(campaign.count(.readAgain, .reader)) again, "
        + "\(campaign.count(.expired, .reader)) expired, "
        + "\(campaign.count(.checkpointed, .keeper)) checkpoints, "
        + "\(campaign.count(.kept, .keeper)) kept, "
        + "\(campaign.count(.backedUp, .backup)) backups, "
        + "\(campaign.count(.read, .follower)) reads of the replica")
  }

  @Test(
    .evidence("A8"), .evidence("D2"), .evidence("D4"), .evidence("I1"), .evidence("I5"),
    .evidence("I6"),
    arguments: (TestScale.chosenSeeds ?? [1, 2]).map { ($0, $0 % 2 == 1) })
  func `lose no commit and see only complete ones when they are killed`(
    seed: UInt64, isMapped: Bool
  ) throws {
    let campaign = try ProcessCampaign(seed: seed)
    try fill(campaign, isMapped: isMapped)
    try campaign.killAtRandom(seconds: Self.seconds)
    try conclude(campaign, isMapped ? "mapped" : "buffered")
  }

  @Test(.evidence("I1"), .evidence("I2"), arguments: [UInt64(3)])
  func `continue, or throw busy, while one of them is suspended`(seed: UInt64) throws {
    let campaign = try ProcessCampaign(seed: seed)
    try fill(campaign, isMapped: true) { $0.busyMilliseconds = 200 }
    try campaign.stopAtRandom(seconds: Self.seconds)
    try conclude(campaign, "stopped")
  }
}
