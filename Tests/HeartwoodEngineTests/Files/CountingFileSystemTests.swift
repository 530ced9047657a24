import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A counting file system")
struct CountingFileSystemTests {
  @Test func `every call is counted and passed on`() throws {
    let inner = MemoryFileSystem()
    let system = CountingFileSystem(inner)
    try system.createDirectory("d")
    let file = try #require(try system.open("d/a", .create))
    let before = system.counts
    #expect(before.opens == 1 && before.others == 1)
    try file.write([1, 2, 3], at: 0)
    try file.sync()
    _ = try file.lock(.shared, 0..<1)
    _ = try file.map(0, byteCount: 1)
    #expect(try file.bytes(at: 1, 10) == [2, 3])
    try system.syncDirectory("d")
    let difference = system.counts - before
    var expected = CallCounts()
    expected.writes = 1
    expected.bytesWritten = 3
    expected.reads = 1
    expected.bytesRead = 2
    expected.syncs = 1
    expected.locks = 1
    expected.maps = 1
    expected.directorySyncCount = 1
    #expect(difference == expected)
    #expect(before + difference == system.counts)
    #expect(
      "\(difference)" == "reads: 1, bytesRead: 2, writes: 1, bytesWritten: 3, syncs: 1, "
        + "directorySyncs: 1, maps: 1, locks: 1")
    #expect(try inner.open("d/a", .read)?.byteCount() == 3)
  }
}
