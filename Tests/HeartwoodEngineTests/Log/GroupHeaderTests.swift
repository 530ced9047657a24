import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Compares group headers with frames built by hand from the tables of the file format.
@Suite("A group header")
struct GroupHeaderTests {
  private static let seed: UInt64 = 0x1234_5678_9ABC_DEF0

  struct Shape: Sendable, CustomTestStringConvertible {
    let images: Int
    let voids: Int
    let isCommit: Bool
    var testDescription: String {
      "\(images) images, \(voids) voids\(isCommit ? ", commit" : "")"
    }
  }

  private static let shapes = [
    Shape(images: 0, voids: 0, isCommit: true), Shape(images: 1, voids: 0, isCommit: true),
    Shape(images: 3, voids: 2, isCommit: true), Shape(images: 3, voids: 2, isCommit: false),
    Shape(images: 0, voids: 5, isCommit: false), Shape(images: 333, voids: 0, isCommit: true),
    Shape(images: 333, voids: 0, isCommit: false), Shape(images: 0, voids: 250, isCommit: true),
  ]

  private func group(_ shape: Shape) -> HandMadeGroup {
    var random = SeededGenerator(seed: UInt64(shape.images * 1000 + shape.voids))
    var group = HandMadeGroup(frame: random.next() >> 8, base: random.next() >> 9)
    group.ordinal = UInt32(truncatingIfNeeded: random.next())
    group.lineage = random.next()
    group.transaction = random.next()
    group.previous = random.next()
    group.durableUpTo = random.next()
    group.isCommit = shape.isCommit
    group.pageCount = UInt32(truncatingIfNeeded: random.next())
    group.time = random.next()
    group.images = (0..<shape.images).map { _ in
      (UInt32(truncatingIfNeeded: random.next()), random.next())
    }
    group.voids = (0..<shape.voids).map { _ in (random.next(), random.next()) }
    return group
  }

  private func decoded(
    _ bytes: [UInt8], at frame: FrameNumber, seed: UInt64 = Self.seed
  ) -> (header: GroupHeader, digest: UInt64)? {
    bytes.withBytes { GroupHeader.decode($0, at: frame, seed: seed) }
  }

  @Test(arguments: shapes) func `decodes as the format's tables specify`(shape: Shape) throws {
    let group = group(shape)
    let bytes = group.bytes(pageByteCount: 4096, seed: Self.seed)
    let (header, digest) = try #require(decoded(bytes, at: group.frame))
    #expect(digest == HandMadeGroup.digest(of: bytes))
    #expect(header.frame == group.frame)
    #expect(header.ordinal == group.ordinal)
    #expect(header.lineage == group.lineage)
    #expect(header.transaction == group.transaction)
    #expect(header.previous == group.previous)
    #expect(header.base == group.base)
    #expect(header.durableUpTo == group.durableUpTo)
    #expect(header.commit?.pageCount == (shape.isCommit ? group.pageCount : nil))
    #expect(header.commit?.time == (shape.isCommit ? group.time : nil))
    #expect(header.images.map(\.page) == group.images.map(\.page))
    #expect(header.images.map(\.hash) == group.images.map(\.hash))
    #expect(header.voids.map(\.first) == group.voids.map(\.first))
    #expect(header.voids.map(\.last) == group.voids.map(\.last))
  }

  @Test(arguments: shapes) func `encodes as the format's tables specify`(shape: Shape) throws {
    let group = group(shape)
    let bytes = group.bytes(pageByteCount: 4096, seed: Self.seed)
    let (header, _) = try #require(decoded(bytes, at: group.frame))
    let block = ByteBlock(count: 4096)
    let digest = header.encode(to: block.bytes, seed: Self.seed)
    #expect(withExtendedLifetime(block) { block.bytes.bytes.copied() } == bytes)
    #expect(digest == HandMadeGroup.digest(of: bytes))
  }

  @Test(.evidence("B2"), arguments: shapes.filter { $0.images < 10 && $0.voids < 10 })
  func `with any changed byte is rejected`(shape: Shape) {
    let group = group(shape)
    let bytes = group.bytes(pageByteCount: 4096, seed: Self.seed)
    for offset in 0..<96 + shape.images * 12 + shape.voids * 16 {
      for mask: UInt8 in [1, 2, 0x80, 0xFF] {
        var changed = bytes
        changed[offset] ^= mask
        guard decoded(changed, at: group.frame) != nil else { continue }
        Issue.record("byte \(offset) changed by \(mask)")
      }
    }
  }

  @Test func `does not depend on the bytes after it in its frame`() {
    let group = group(Shape(images: 2, voids: 1, isCommit: true))
    var bytes = group.bytes(pageByteCount: 4096, seed: Self.seed)
    bytes[96 + 2 * 12 + 16] ^= 0xFF
    bytes[4095] ^= 0xFF
    #expect(decoded(bytes, at: group.frame) != nil)
  }

  @Test func `is valid at one frame of one store only`() {
    let group = group(Shape(images: 2, voids: 0, isCommit: true))
    let bytes = group.bytes(pageByteCount: 4096, seed: Self.seed)
    #expect(decoded(bytes, at: group.frame + 1) == nil)
    #expect(decoded(bytes, at: group.frame, seed: Self.seed + 1) == nil)
  }

  @Test(.evidence("B2")) func `is rejected if it is truncated`() {
    let group = group(Shape(images: 3, voids: 0, isCommit: true))
    let bytes = group.bytes(pageByteCount: 4096, seed: Self.seed)
    for count in 0..<96 + 3 * 12 {
      #expect(decoded(Array(bytes.prefix(count)), at: group.frame) == nil)
    }
  }

  /// A page image has its hash and its frame index at the same offsets as a group header.
  ///
  /// Its page number is at the offset of the magic number in the header.
  @Test(.evidence("B3")) func `without its signature is rejected, whatever its hash`() {
    let group = group(Shape(images: 1, voids: 0, isCommit: true))
    let bytes = group.bytes(pageByteCount: 4096, seed: Self.seed)
    let block = ByteBlock(count: 4096)
    defer { block.keep() }
    bytes.withBytes { block.bytes.copy($0, to: 0) }
    block.bytes.store32(GroupLayout.magicNumber + 1, GroupLayout.magic.offset)
    let hash = XXH64.hash(block.bytes.bytes.slice(8, 96 + 12 - 8), seed: Self.seed)
    block.bytes.store64(hash, GroupLayout.hash.offset)
    #expect(decoded(block.bytes.bytes.copied(), at: group.frame) == nil)
  }

  /// The counts in the header exceed the size of its frame, although its hash is valid.
  @Test(
    .evidence("B3"),
    arguments: [
      (136, UInt32.max, 0), (96, UInt32.max, UInt32.max), (4096, 333, 1), (5000, 408, 0),
      (0, 0, 0), (8, 0, 0), (95, 0, 0), (97, 0, 0), (4_294_967_295, 357_913_933, 0),
    ] as [(UInt32, UInt32, UInt32)])
  func `with inconsistent counts is rejected`(
    byteCount: UInt32, images: UInt32, voids: UInt32
  ) {
    let bytes = HandMadeGroup(frame: 1, base: 1).bytes(pageByteCount: 4096, seed: Self.seed)
    let block = ByteBlock(count: 4096)
    bytes.withBytes { block.bytes.copy($0, to: 0) }
    block.bytes.store32(byteCount, GroupLayout.byteCount.offset)
    block.bytes.store32(images, GroupLayout.imageCount.offset)
    block.bytes.store32(voids, GroupLayout.voidCount.offset)
    let end = min(max(Int(byteCount), 8), 4096)
    let hash = XXH64.hash(block.bytes.bytes.slice(8, end - 8), seed: Self.seed)
    block.bytes.store64(hash, 0)
    #expect(GroupHeader.decode(block.bytes.bytes, at: 1, seed: Self.seed) == nil)
    block.keep()
  }
}
