import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A new store")
struct CreationTests {
  /// The directory existed before the store was created, but its name was never synced.
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

  /// In an earlier version, a power cut could lose a store whose first opening had failed late.
  ///
  /// The failed opening left a complete page file in a directory whose name had not been synced.
  /// The next opening treated the store as an existing one and did not sync the name either.
  @Test(.evidence("D1"), arguments: [false, true])
  func `survives a power cut after the first attempt to open it failed`(wasKilled: Bool) throws {
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
