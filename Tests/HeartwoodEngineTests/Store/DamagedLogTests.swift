import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests damage in the log below the durable watermark, where opening a store reads only headers.
@Suite("A page in the log")
struct DamagedLogTests {
  private static let pageByteCount = 4096

  private static func options(_ access: StoreOptions.Access) -> StoreOptions {
    var options = StoreOptions()
    options.access = access
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    options.segmentByteCount = pageByteCount * 16
    return options
  }

  private struct Location {
    let name: String
    let offset: Int
  }

  private func range(of location: Location) -> Range<Int> {
    location.offset..<location.offset + Self.pageByteCount
  }

  /// Returns the locations of the images of each page in the log, in order of their frames.
  private func images(_ files: [String: [UInt8]]) -> [PageNumber: [Location]] {
    var locations: [PageNumber: [Location]] = [:]
    for (name, bytes) in files.sorted(by: { $0.key < $1.key }) where name.hasPrefix("wal-") {
      for offset in stride(from: Self.pageByteCount, to: bytes.count, by: Self.pageByteCount) {
        bytes.withBytes { bytes in
          let frame = bytes.slice(offset, Self.pageByteCount)
          guard frame.load64(PageLayout.frame.offset) != 0,
            frame.load32(GroupLayout.magic.offset) != GroupLayout.magicNumber
          else { return }
          locations[frame.load32(PageLayout.page.offset), default: []].append(
            Location(name: name, offset: offset))
        }
      }
    }
    return locations
  }

  /// The image was verified when it was first read, but its bytes have changed since then.
  @Test(.evidence("B1"), .evidence("D11"), arguments: [false, true])
  func `is verified again before it is written back`(isOlder: Bool) throws {
    let fixture = try StoreFixture.onDisk(Self.options(.mapped))
    let store = try fixture.open()
    var frames: [FrameNumber] = []
    for value: UInt8 in 1...2 {
      try store.write { try $0.keyspace("k").put(1, [value]) }
      frames.append(try store.snapshot().state.index.frame(of: 2))
    }
    #expect(try store.snapshot().keyspace("k")?.get(1) == [2])
    let geometry = store.files.geometry
    func file(_ frame: FrameNumber) throws -> any File {
      let path = store.files.log.path(geometry.segment(of: frame))
      return try #require(try fixture.fileSystem.open(path, .write))
    }
    let offset = geometry.offset(of: frames[1])
    let complete = try file(frames[1]).bytes(at: offset, Self.pageByteCount)
    var other = complete
    other[200] ^= 1
    if isOlder {
      other = try file(frames[0]).bytes(at: geometry.offset(of: frames[0]), Self.pageByteCount)
    }
    try file(frames[1]).write(other, at: offset)
    let error = #expect(throws: StorageError.self) { try store.checkpoint() }
    #expect(error?.kind == .corrupt)
    #expect(error?.page == 2)
    try file(frames[1]).write(complete, at: offset)
    try store.checkpoint()
    try StoreFixture.expectSound(store)
    try store.close()
  }

  /// The older image is valid and belongs to the same page and store, but is out of date.
  @Test(.evidence("B1"), .evidence("B2"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `is not accepted in the location of a newer one`(access: StoreOptions.Access) throws {
    let fixture = try StoreFixture.onDisk(Self.options(access))
    do {
      let store = try fixture.open()
      for value: UInt8 in 1...2 { try store.write { try $0.keyspace("k").put(1, [value]) } }
      // These commits do not change the leaf of the first keyspace, but their headers contain
      // durable watermarks above the leaf's frame.
      for value: UInt8 in 1...3 { try store.write { try $0.keyspace("other").put(1, [value]) } }
      try StoreFixture.expectSound(store)
    }
    var files = try fixture.allBytes()
    // The bitmap and the catalog were written twice too, but the leaf has the highest page number.
    let twice = images(files).filter { $0.value.count == 2 }
    let pair = try #require(twice.max { $0.key < $1.key }?.value)
    let older = try #require(files[pair[0].name])[range(of: pair[0])]
    files[pair[1].name]?.replaceSubrange(range(of: pair[1]), with: older)
    try fixture.write(try #require(files[pair[1].name]), to: pair[1].name)
    let store = try fixture.open()
    let error = #expect(throws: StorageError.self) { try store.snapshot().keyspace("k")?.get(1) }
    #expect(error?.kind == .corrupt)
    #expect(try store.snapshot().keyspace("other")?.get(1) == [3])
    #expect(try !store.verify().findings.isEmpty)
  }

  // Use a separate process, because an access to a mapping beyond the end of its file would crash
  // the process.
  @Test(.spawning, .evidence("B2")) func `in a truncated segment is reported as corrupt`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk(Self.options(.mapped))
      do {
        let store = try fixture.open()
        try store.write { try $0.keyspace("k").put(1, [UInt8](repeating: 1, count: 200_000)) }
        for value: UInt8 in 1...3 { try store.write { try $0.keyspace("other").put(1, [value]) } }
      }
      // The segment contains only images, so no header is lost. Leave one byte, because an empty
      // segment would not be part of the log.
      let names = try fixture.names().filter { $0.hasPrefix("wal-") }
      try fixture.write([0], to: names[1])
      let store = try fixture.open()
      let error = #expect(throws: StorageError.self) {
        try store.snapshot().keyspace("k")?.get(1)
      }
      #expect(error?.kind == .corrupt)
      #expect(try store.snapshot().keyspace("other")?.get(1) == [3])
      #expect(try !store.verify().findings.isEmpty)
    }
  }
}
