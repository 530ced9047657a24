import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// A power cut soon after a store was made.
@Suite("A new store")
struct CreationTests {
  /// Nobody has synced the name of that folder.
  @Test(.evidence("D1")) func `outlives a power cut in a folder that was there before`() throws {
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
}
