import HeartwoodEngine
import HeartwoodTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Tests `map` and `kept` files that are very long but sparse, so that they take almost no disk
/// space.
@Suite("A sparse file")
struct HollowFileTests {
  /// The bytes at the start of the file.
  enum Front: CaseIterable, Codable, Sendable { case nothing, magic, newerVersion, fittingCounts }

  /// A length that is valid for a map with one retained generation, but exceeds the memory of a
  /// small machine.
  private static let byteCount: UInt64 = 15 << 30 | 8

  private static func front(_ file: AtomicFile, _ front: Front) -> [UInt8] {
    let block = ByteBlock(count: 56)
    defer { block.keep() }
    guard front != .nothing else { return block.bytes.bytes.copied() }
    block.bytes.store64(file.magic, AtomicFileLayout.magic.offset)
    block.bytes.store32(front == .newerVersion ? 9 : 1, AtomicFileLayout.version.offset)
    guard front == .fittingCounts else { return block.bytes.bytes.copied() }
    let isMap = file.name == "map"
    let count = UInt32((Self.byteCount - 104) / (isMap ? 16 : 100))
    block.bytes.store32(isMap ? 1 : count, AtomicFileLayout.rowCount.offset)
    if isMap { block.bytes.store32(count, MapLayout.retainedFrameCount.offset) }
    return block.bytes.bytes.copied()
  }

  @Test(
    .spawning, .mustEnd, .evidence("B2"), arguments: ["map", "kept"], Front.allCases)
  func `is rejected before memory is allocated for it`(name: String, front: Front) async throws {
    // Use a separate process, because other tests in this process use memory too.
    await #expect(processExitsWith: .success) { [name = name as String, front = front as Front] in
      let file = name == "map" ? RetainedFrameMap.file : NamedGenerations.file
      let fixture = try StoreFixture.onDisk()
      try fixture.run { store in try store.write { try $0.keyspace("k").put(1, [1]) } }
      try fixture.write(Self.front(file, front), to: name)
      let hollow = try #require(try fixture.fileSystem.open(fixture.path(of: name), .write))
      try hollow.setByteCount(Self.byteCount)
      let before = Self.peakByteCount
      let error = #expect(throws: StorageError.self) { _ = try fixture.open() }
      #expect(error?.kind == .corrupt)
      #expect(error?.file == name)
      #expect(Self.peakByteCount - before < 1 << 30)
    }
  }

  #if canImport(Glibc)
    private static let ownUsage = __rusage_who_t(RUSAGE_SELF.rawValue)
  #else
    private static let ownUsage: Int32 = RUSAGE_SELF
  #endif

  /// The peak memory use of this process, in bytes.
  private static var peakByteCount: Int {
    var usage = rusage()
    getrusage(Self.ownUsage, &usage)
    #if canImport(Darwin)
      return usage.ru_maxrss
    #else
      return usage.ru_maxrss * 1024
    #endif
  }
}
