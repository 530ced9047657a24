import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// A power cut soon after a store was created.
@Suite("A new store")
struct CreationTests {
  /// The name of that directory was never synced.
  @Test(.evidence("D1")) func `survives a power cut in a directory that existed before`() throws {
    let disk = SimulatedDisk(seed: 4)
    try disk.createDirectory("/store")
    let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
    try store.write { try $0.keyspace("k").put(1, [1]) }
    try StoreFixture.expectSound(store)
    let cut = disk.crashed(.nothing)
    let again = try Store(at: "/store", options: CrashHistory.options(), fileSystem: cut)
    #expect(try again.snapshot().keyspace("k")?.get(1) == [1])
    try StoreFixture.expectSound(again)
  }

  /// An opening that failed in its last calls left a complete page file behind, in a directory
  /// whose own name was not synced; the next one took it for an old store and did not sync that
  /// name either, and a power cut lost everything.
  @Test(.evidence("D1"), arguments: [false, true])
  func `survives a power cut after its first opening failed`(wasKilled: Bool) throws {
    for call in 1...16 {
      let disk = SimulatedDisk(seed: 4)
      try disk.createDirectory("/store")
      disk.faultPlan =
        wasKilled
        ? .powerCut(atCall: disk.callCount + call)
        : .failure(.io, atCall: disk.callCount + call)
      _ = try? Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
      let living = wasKilled ? disk.killed() : disk
      living.faultPlan = FaultPlan()
      let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: living)
      try store.write { try $0.keyspace("k").put(1, [1]) }
      try StoreFixture.expectSound(store)
      let again = try Store(
        at: "/store", options: CrashHistory.options(), fileSystem: living.crashed(.nothing))
      #expect(try again.snapshot().keyspace("k")?.get(1) == [1], "call \(call)")
      try StoreFixture.expectSound(again)
    }
  }
}
