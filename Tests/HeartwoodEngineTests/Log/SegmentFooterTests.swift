import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that encoded footers can be decoded, and that all other bytes are rejected.
@Suite("A segment footer")
struct SegmentFooterTests {
  private static let segment: UInt64 = 5
  private static let seed: UInt64 = 0x1234_5678_9ABC_DEF0
  private let geometry: Geometry

  init() throws {
    geometry = try #require(Geometry(pageByteCount: 4096, segmentByteCount: 4096 * 64))
  }

  private var sample: SegmentFooter {
    SegmentFooter(
      point: CommitPoint(
        frame: geometry.firstFrame(of: Self.segment) + 40, digest: 77, lineage: 88, pageCount: 99,
        time: 1_750_000_000_000),
      commitCount: 12,
      rows: [
        SegmentFooter.Row(page: 0, slot: 41, hash: 1), SegmentFooter.Row(page: 3, slot: 1, hash: 2),
        SegmentFooter.Row(page: .max, slot: 20, hash: .max),
      ])
  }

  private func bytes(of footer: SegmentFooter) -> [UInt8] {
    let block = ByteBlock(count: 4096)
    defer { block.keep() }
    footer.encode(to: block.bytes, segment: Self.segment, geometry: geometry, seed: Self.seed)
    return block.bytes.bytes.copied()
  }

  private func decode(_ bytes: [UInt8], segment: UInt64 = Self.segment) -> SegmentFooter? {
    bytes.withBytes {
      SegmentFooter.decode($0, segment: segment, geometry: geometry, seed: Self.seed)
    }
  }

  /// Returns the bytes after the given change, with a recomputed hash.
  private func changed(_ bytes: [UInt8], _ change: (MutableBytes) -> Void) -> [UInt8] {
    let block = ByteBlock(count: bytes.count)
    defer { block.keep() }
    bytes.withBytes { block.bytes.copy($0, to: 0) }
    change(block.bytes)
    let count = Int(block.bytes.bytes.load32(SegmentFooterLayout.count.offset))
    let end = min(64 + count * 16, bytes.count)
    let hash = XXH64.hash(block.bytes.bytes.slice(16, end - 16), seed: Self.seed)
    block.bytes.store64(hash, SegmentFooterLayout.hash.offset)
    return block.bytes.bytes.copied()
  }

  @Test func `decodes to what was encoded`() {
    #expect(decode(bytes(of: sample)) == sample)
    var empty = sample
    empty.rows = []
    #expect(decode(bytes(of: empty)) == empty)
    #expect(Array(bytes(of: sample).prefix(4)) == Array("HWFT".utf8))
  }

  @Test func `has room for a row for each frame of its segment`() throws {
    for pageByteCount in [4096, 16_384, 65_536] {
      for frames in [8, 16, 256, 1024, 16_384] {
        let geometry = try #require(
          Geometry(pageByteCount: pageByteCount, segmentByteCount: pageByteCount * frames))
        let count = geometry.lastFrame(of: 3) - geometry.firstFrame(of: 3) + 1
        let rows = (1...UInt32(count)).map { SegmentFooter.Row(page: $0, slot: $0, hash: 0) }
        let footer = SegmentFooter(point: .empty, commitCount: 1, rows: rows)
        #expect(footer.byteCount <= geometry.footerFrames * pageByteCount)
        #expect(geometry.isFrame(geometry.lastFrame(of: 3)))
        #expect(!geometry.isFrame(geometry.lastFrame(of: 3) + 1))
        #expect(geometry.footerOffset == geometry.offset(of: geometry.lastFrame(of: 3) + 1))
      }
    }
  }

  @Test(.evidence("B2")) func `with any changed bit is rejected`() {
    let complete = bytes(of: sample)
    for offset in 0..<sample.byteCount {
      for bit in 0..<8 {
        var bytes = complete
        bytes[offset] ^= 1 << UInt8(bit)
        #expect(decode(bytes) == nil, "bit \(bit) of byte \(offset)")
      }
    }
    for count in 0..<sample.byteCount { #expect(decode(Array(complete.prefix(count))) == nil) }
    #expect(decode(Array(complete.prefix(sample.byteCount))) == sample)
    #expect(decode(complete, segment: Self.segment + 1) == nil)
  }

  @Test(.evidence("B3")) func `with impossible values is rejected`() {
    typealias Layout = SegmentFooterLayout
    let complete = bytes(of: sample)
    let first = geometry.firstFrame(of: Self.segment)
    let changes: [(String, (MutableBytes) -> Void)] = [
      ("the first frame of another segment", { $0.store64(first + 64, Layout.firstFrame.offset) }),
      ("a commit in another segment", { $0.store64(first + 64, Layout.frame.offset) }),
      ("a commit in the header's slot", { $0.store64(first - 1, Layout.frame.offset) }),
      ("a commit in the footer's slot", { $0.store64(first + 62, Layout.frame.offset) }),
      ("no commit", { $0.store64(0, Layout.frame.offset) }),
      ("an absurd commit", { $0.store64(.max, Layout.frame.offset) }),
      ("too many rows", { $0.store32(253, Layout.count.offset) }),
      ("absurdly many rows", { $0.store32(.max, Layout.count.offset) }),
      ("the header's slot", { $0.store32(0, 64 + 4) }),
      ("a slot behind the commit", { $0.store32(42, 64 + 4) }),
      ("an absurd slot", { $0.store32(.max, 64 + 4) }),
      ("pages that do not ascend", { $0.store32(3, 64) }),
      ("pages that descend", { $0.store32(4, 64) }),
    ]
    for (name, change) in changes { #expect(decode(changed(complete, change)) == nil, "\(name)") }
    #expect(decode(changed(complete) { _ in }) == sample)
  }

  @Test(.evidence("B3"), arguments: TestScale.seeds(quick: 2, all: 8))
  func `decodes to nothing or to valid values, whatever the bytes`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let bytes = changed(bytes(of: sample)) { bytes in
        for _ in 0...generator.next() % 3 {
          let values: [UInt8] = [0, 1, 5, 63, 0x7F, 0xFF]
          bytes.store8(
            values[Int(generator.next() % 6)], 4 + Int(generator.next() % 110))
        }
      }
      guard let footer = decode(bytes) else { continue }
      #expect(geometry.segment(of: footer.point.frame) == Self.segment)
      let last = geometry.slot(of: footer.point.frame)
      #expect(footer.rows.allSatisfy { $0.slot > 0 && $0.slot <= last })
    }
  }
}
