import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that each header slot of the page file is either decoded completely or rejected.
@Suite("A header slot")
struct HeaderSlotTests {
  private func slot(sequence: UInt64 = 9, lineageCount: Int = 3) throws -> HeaderSlot {
    HeaderSlot(
      geometry: try #require(Geometry(pageByteCount: 8192, segmentByteCount: 8192 * 64)),
      identity: StoreIdentity(high: 0x1122_3344_5566_7788, low: 0x99AA_BBCC_DDEE_FF00),
      sequence: sequence,
      checkpointed: CommitPoint(
        frame: 4711, digest: 0xFEDC_BA98_7654_3210, lineage: 0x0F1E_2D3C_4B5A_6978,
        pageCount: 815, time: 1_750_000_000_123),
      durableUpTo: 4800,
      lineages: (0..<lineageCount).map {
        EndedLineage(lineage: UInt64($0) &* 0x9E37_79B9_7F4A_7C15, end: UInt64($0) * 100)
      })
  }

  private func bytes(_ slot: HeaderSlot) -> [UInt8] {
    // Encode into a block that is not zero, because encoding must overwrite all previous contents.
    let block = ByteBlock(count: HeaderSlotLayout.byteCount)
    for offset in 0..<block.bytes.count { block.bytes.store8(0xA5, offset) }
    slot.encode(to: block.bytes)
    return withExtendedLifetime(block) { block.bytes.bytes.copied() }
  }

  private func decoded(_ bytes: [UInt8]) throws -> HeaderSlot? {
    try bytes.withBytes { (bytes) throws(StorageError) in try HeaderSlot.decode(bytes) }
  }

  /// Returns the bytes of the slot with the given value in one field and a recomputed hash.
  private func bytes(_ slot: HeaderSlot, _ field: Field, _ value: UInt64) -> [UInt8] {
    var bytes = bytes(slot)
    for position in 0..<field.byteCount {
      bytes[field.offset + position] = UInt8(truncatingIfNeeded: value >> UInt64(8 * position))
    }
    repairHash(&bytes)
    return bytes
  }

  private func repairHash(_ bytes: inout [UInt8]) {
    let hash = bytes.withBytes {
      XXH64.hash($0.slice(0, HeaderSlotLayout.hash.offset), seed: 0)
    }
    withUnsafeBytes(of: hash.littleEndian) {
      bytes.replaceSubrange(HeaderSlotLayout.hash.offset..<HeaderSlotLayout.hash.end, with: $0)
    }
  }

  @Test(arguments: [0, 1, 3, 63, 64]) func `is read back as written`(lineageCount: Int) throws {
    let slot = try slot(lineageCount: lineageCount)
    #expect(try decoded(bytes(slot)) == slot)
  }

  @Test func `keeps the newest lineages if there are too many`() throws {
    let slot = try slot(lineageCount: 100)
    let found = try #require(try decoded(bytes(slot)))
    #expect(found.lineages == Array(slot.lineages.suffix(Limits.maxLineageCount)))
  }

  @Test func `reads no more lineages than fit`() throws {
    let found = try decoded(bytes(try slot(), HeaderSlotLayout.lineageCount, 0xFFFF_FFFF))
    #expect(found?.lineages.count == Limits.maxLineageCount)
  }

  @Test(.evidence("B2")) func `with any changed byte is rejected`() throws {
    let complete = bytes(try slot())
    for offset in complete.indices {
      for mask: UInt8 in [1, 0x80, 0xFF] {
        var changed = complete
        changed[offset] ^= mask
        guard try decoded(changed) != nil else { continue }
        Issue.record("byte \(offset) changed by \(mask)")
      }
    }
  }

  @Test(
    .evidence("B3"), arguments: [HeaderSlotLayout.checkpointed, HeaderSlotLayout.durableUpTo])
  func `with an impossible frame is corrupt`(field: Field) throws {
    let error = #expect(throws: StorageError.self) {
      try decoded(bytes(try slot(), field, Limits.maxFrame + 1))
    }
    #expect(error?.kind == .corrupt)
    #expect(try decoded(bytes(try slot(), field, Limits.maxFrame)) != nil)
  }

  @Test(.evidence("B3")) func `with an impossible sequence number is corrupt`() throws {
    let limit = HeaderSlotLayout.maxSequence
    for sequence in [limit + 1, .max] {
      let bytes = bytes(try slot(sequence: sequence))
      let error = #expect(throws: StorageError.self) { try decoded(bytes) }
      #expect(error?.kind == .corrupt)
    }
    #expect(try decoded(bytes(try slot(sequence: limit))) != nil)
  }

  @Test(.evidence("B2")) func `is rejected if it is truncated`() throws {
    let complete = bytes(try slot())
    for count in [0, 1, 7, 8, 4087, 4088, 4095] {
      #expect(try decoded(Array(complete.prefix(count))) == nil)
    }
  }

  /// A field value that is possible only in another version of the format, or in no store.
  struct Strange: Sendable, CustomTestStringConvertible {
    let field: Field
    let value: UInt64
    var testDescription: String { "\(field.name) \(value)" }
  }

  private static let strange = [
    Strange(field: HeaderSlotLayout.version, value: 0),
    Strange(field: HeaderSlotLayout.version, value: 2),
    Strange(field: HeaderSlotLayout.version, value: 0xFFFF_FFFF),
    Strange(field: HeaderSlotLayout.features, value: 1),
    Strange(field: HeaderSlotLayout.features, value: 2),
    Strange(field: HeaderSlotLayout.features, value: 4),
    Strange(field: HeaderSlotLayout.features, value: 0x8000_0000),
    Strange(field: HeaderSlotLayout.pageByteCount, value: 0),
    Strange(field: HeaderSlotLayout.pageByteCount, value: 4095),
    Strange(field: HeaderSlotLayout.pageByteCount, value: 131_072),
    Strange(field: HeaderSlotLayout.pageByteCount, value: 0xFFFF_FFFF),
    Strange(field: HeaderSlotLayout.framesPerSegment, value: 0),
    Strange(field: HeaderSlotLayout.framesPerSegment, value: 65),
    Strange(field: HeaderSlotLayout.framesPerSegment, value: 0x8000_0000),
    Strange(field: HeaderSlotLayout.footerFrames, value: 0),
    Strange(field: HeaderSlotLayout.footerFrames, value: 64),
    Strange(field: HeaderSlotLayout.footerFrames, value: 0xFFFF_FFFF),
  ]

  @Test(.evidence("B4"), arguments: strange)
  func `of another version or an impossible store is reported as incompatible`(strange: Strange)
    throws
  {
    let error = #expect(throws: StorageError.self) {
      try decoded(bytes(try slot(), strange.field, strange.value))
    }
    #expect(error?.kind == .incompatibleFormat)
    #expect(error?.file == "pages")
  }

  @Test func `with the higher sequence number is the newest`() throws {
    let (older, newer) = (try slot(sequence: 7), try slot(sequence: 8))
    #expect(HeaderSlot.newest([older, newer]) == newer)
    #expect(HeaderSlot.newest([newer, older]) == newer)
    #expect(HeaderSlot.newest([older, nil]) == older)
    #expect(HeaderSlot.newest([nil, newer]) == newer)
    #expect(HeaderSlot.newest([nil, nil]) == nil)
  }

  @Test(.evidence("D12")) func `stays intact when the other is torn`() throws {
    let fileSystem = MemoryFileSystem()
    let file = try #require(try fileSystem.open("pages", .create))
    let (older, newer) = (try slot(sequence: 7), try slot(sequence: 8))
    try file.write(bytes(newer), at: HeaderSlotLayout.offsets[0])
    try file.write(bytes(older), at: HeaderSlotLayout.offsets[1])
    #expect(try HeaderSlot.readBoth(file) == [newer, older])
    for sector in 0..<8 {
      let start = sector * 512
      try file.write([UInt8](repeating: 0xEE, count: 512), at: UInt64(start))
      let slots = try HeaderSlot.readBoth(file)
      #expect(HeaderSlot.newest(slots) == older)
      try file.write(Array(bytes(newer)[start..<start + 512]), at: UInt64(start))
    }
    #expect(HeaderSlot.newest(try HeaderSlot.readBoth(file)) == newer)
    try file.setByteCount(HeaderSlotLayout.offsets[1] + 4095)
    #expect(try HeaderSlot.readBoth(file) == [newer, nil])
  }
}
