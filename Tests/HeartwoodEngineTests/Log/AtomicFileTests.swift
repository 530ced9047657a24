import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the format shared by the map and the list of named generations.
@Suite("An atomically replaced file")
struct AtomicFileTests {
  static let samples: [AtomicFileBytes] = {
    var list = NamedGenerations()
    for (index, name) in ["a", "before an upgrade"].enumerated() {
      list.rows[name] = NamedGenerations.Row(
        lineage: 7, generation: UInt64(index) + 20, time: 1_750_000_000_000)
    }
    let retainedGenerations = [200, 400].map {
      CommitPoint(frame: $0, digest: $0 << 40, lineage: 7, pageCount: 8, time: 1_750_000_000_000)
    }
    let map = RetainedFrameMap(
      serial: 4711, start: 10, retainedGenerations: retainedGenerations,
      lineages: [EndedLineage(lineage: 5, end: 3)],
      retainedFrames: [RetainedFrameMap.RetainedFrame(frame: 11, page: 3)])
    return [AtomicFileBytes(map), AtomicFileBytes(list)]
  }()

  /// A file with a changed or missing byte must be rejected, because its rows cannot be trusted.
  ///
  /// If the list were incomplete, maintenance would reclaim the named generations that are missing
  /// from it. If the map were incomplete, it would be unknown which frames may be missing.
  @Test(.evidence("K1"), .evidence("B2"), arguments: samples)
  func `with any changed or missing byte is corrupt`(sample: AtomicFileBytes) {
    for offset in sample.bytes.indices {
      var changed = sample.bytes
      changed[offset] ^= 0x10
      sample.expectError(.corrupt, changed, "byte \(offset)")
      sample.expectError(.corrupt, Array(sample.bytes.prefix(offset)), "\(offset) bytes")
    }
  }

  @Test(
    .evidence("B3"), arguments: samples, [AtomicFileLayout.storeHigh, AtomicFileLayout.storeLow])
  func `of another store is corrupt`(sample: AtomicFileBytes, field: Field) {
    sample.expectError(.corrupt, sample.forged { $0.store64(1, field.offset) }, field.name)
  }

  @Test(.evidence("B4"), arguments: samples)
  func `of another version is reported as incompatible`(sample: AtomicFileBytes) {
    let newer = sample.forged { $0.store32(2, AtomicFileLayout.version.offset) }
    sample.expectError(.incompatibleFormat, newer, "version 2")
  }

  @Test(.evidence("B3"), arguments: samples)
  func `with counts beyond its length is corrupt`(sample: AtomicFileBytes) {
    for count: UInt32 in [0, 1, 3, .max] {
      let bytes = sample.forged { $0.store32(count, AtomicFileLayout.rowCount.offset) }
      sample.expectError(.corrupt, bytes, "\(count) rows")
    }
  }

  /// ZFS updates the disk usage of a file only seconds after a sync.
  @Test(.evidence("B2"), arguments: [false, true])
  func `is read twice only if its disk usage is not known yet`(isKnown: Bool) throws {
    let fileSystem = ObservedFileSystem(MemoryFileSystem())
    fileSystem.hidesDiskUsage = !isKnown
    let count: UInt64 = 70_000
    let map = RetainedFrameMap(
      serial: 1, start: 0,
      retainedGenerations: [
        CommitPoint(frame: count, digest: 1, lineage: 7, pageCount: 8, time: 1)
      ],
      lineages: [],
      retainedFrames: (1...count).map { RetainedFrameMap.RetainedFrame(frame: $0, page: 3) })
    try fileSystem.createDirectory("/store")
    let log = LogFiles(
      fileSystem: fileSystem, directory: "/store",
      geometry: try #require(Geometry(pageByteCount: 4096, segmentByteCount: 1 << 20)),
      identity: AtomicFileBytes.identity, isMapped: false, isWritable: true)
    try RetainedFrameMap.file.replace(with: map.encoded(for: log.identity), log)
    var readCount = 0
    fileSystem.onRead = { _, _ throws(StorageError) in readCount += 1 }
    #expect(try RetainedFrameMap.read(log)?.retainedFrames.count == Int(count))
    // The fields at the start and the complete file are always read.
    #expect(isKnown ? readCount == 2 : readCount > 2)
  }
}
