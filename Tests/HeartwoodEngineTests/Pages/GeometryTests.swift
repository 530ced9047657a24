import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Compares the arithmetic of frames and pages with the rules of the format.
@Suite("A geometry")
struct GeometryTests {
  struct Sizes: Sendable, CustomTestStringConvertible {
    let page: Int
    let frames: Int
    let footer: Int
    var testDescription: String { "\(frames) slots of \(page) bytes" }
  }

  static let possible = [
    Sizes(page: 4096, frames: 8, footer: 1), Sizes(page: 4096, frames: 256, footer: 2),
    Sizes(page: 4096, frames: 1024, footer: 5), Sizes(page: 16_384, frames: 64, footer: 1),
    Sizes(page: 65_536, frames: 8, footer: 1), Sizes(page: 65_536, frames: 8192, footer: 3),
  ]

  private func geometry(_ sizes: Sizes) throws -> Geometry {
    try #require(Geometry(pageByteCount: sizes.page, segmentByteCount: sizes.page * sizes.frames))
  }

  @Test(arguments: possible) func `computes its sizes`(sizes: Sizes) throws {
    let geometry = try geometry(sizes)
    #expect(geometry.framesPerSegment == sizes.frames)
    #expect(geometry.footerFrames == sizes.footer)
    #expect(geometry.footerFrames * sizes.page >= sizes.frames * 16 + 64)
    #expect(1 << geometry.pageShift == sizes.page)
    #expect(1 << geometry.segmentShift == sizes.frames)
    #expect(geometry.segmentByteCount == sizes.page * sizes.frames)
    let read = Geometry(
      pageByteCount: sizes.page, framesPerSegment: sizes.frames, footerFrames: sizes.footer)
    #expect(read == geometry)
  }

  @Test(arguments: [
    (0, 4096), (-4096, 32_768), (2048, 65_536), (5000, 40_000), (131_072, 1 << 20),
    (4096, 0), (4096, 16_384), (4096, -32_768), (4096, 36_864), (4096, 4096 << 25),
    (4096, Int.max), (Int.min, 4096), (4096, 33_000), (4096, 32_769), (8192, 69_632),
  ])
  func `rejects sizes that no new store can have`(page: Int, segment: Int) {
    #expect(Geometry(pageByteCount: page, segmentByteCount: segment) == nil)
  }

  // Use a separate process, because a failure would trap and end the process.
  @Test(.spawning) func `rejects the largest integers`() async {
    await #expect(processExitsWith: .success) {
      for page in [1, 8, 4096, 65_536, Int.max] {
        for segment in [Int.max, Int.max - 1, 1 << 62] {
          #expect(Geometry(pageByteCount: page, segmentByteCount: segment) == nil)
        }
      }
    }
  }

  @Test(
    .evidence("B4"),
    arguments: [
      (4096, 8, 0), (4096, 8, 2), (4096, 4, 1), (4096, 9, 1), (4096, 1 << 25, 131_073),
      (4095, 8, 1), (2048, 8, 1), (131_072, 8, 1), (0, 0, 0), (4096, 0, 1),
      (Int(UInt32.max), Int(UInt32.max), Int(UInt32.max)),
    ])
  func `rejects impossible sizes found in a header`(
    page: Int, frames: Int, footer: Int
  ) {
    #expect(Geometry(pageByteCount: page, framesPerSegment: frames, footerFrames: footer) == nil)
  }

  /// Returns the frames of the first segments, derived directly from the file format.
  private func frames(_ geometry: Geometry, segments: Int) -> [FrameNumber] {
    let slots = geometry.framesPerSegment
    return (0..<segments * slots).filter { index in
      index % slots > 0 && index % slots < slots - geometry.footerFrames
    }.map { FrameNumber($0) }
  }

  @Test(arguments: possible.filter { $0.frames <= 1024 })
  func `steps from each slot to the next frame`(sizes: Sizes) throws {
    let geometry = try geometry(sizes)
    let frames = frames(geometry, segments: 4)
    var position = 0
    for index in 0..<UInt64(sizes.frames * 3) {
      while frames[position] <= index { position += 1 }
      #expect(geometry.next(after: index) == frames[position], "after \(index)")
      #expect(geometry.isFrame(index) == frames.contains(index), "\(index)")
    }
  }

  @Test(arguments: possible.filter { $0.frames <= 256 })
  func `advances by any number of frames`(sizes: Sizes) throws {
    let geometry = try geometry(sizes)
    let frames = frames(geometry, segments: 4)
    for start in stride(from: 0, to: frames.count / 2, by: 3) {
      for count in 0..<frames.count / 2 {
        let found = geometry.advance(frames[start], by: count)
        guard found != frames[start + count] else { continue }
        Issue.record("\(count) after \(frames[start]) is \(found)")
        return
      }
    }
  }

  @Test(arguments: possible) func `locates frames and pages`(sizes: Sizes) throws {
    let geometry = try geometry(sizes)
    let last = UInt64(sizes.frames - sizes.footer - 1)
    #expect(geometry.firstFrame(of: 3) == UInt64(3 * sizes.frames + 1))
    #expect(geometry.lastSlot(of: 3) == UInt64(4 * sizes.frames - 1))
    #expect(geometry.segment(of: geometry.lastSlot(of: 3)) == 3)
    #expect(geometry.segment(of: geometry.firstFrame(of: 3)) == 3)
    #expect(geometry.slot(of: geometry.firstFrame(of: 3)) == 1)
    #expect(geometry.offset(of: UInt64(sizes.frames) + last) == last * UInt64(sizes.page))
    #expect(geometry.offset(ofPage: 0) == 131_072)
    let end = 131_072 + (UInt64(UInt32.max) - 1) * UInt64(sizes.page)
    #expect(geometry.offset(ofPage: .max - 1) == end)
  }

  @Test func `names segments by their first frame`() throws {
    let geometry = try geometry(Sizes(page: 4096, frames: 1024, footer: 5))
    #expect(geometry.segmentName(0) == "wal-0000000000000001")
    #expect(geometry.segmentName(1) == "wal-0000000000000401")
    for segment: UInt64 in [0, 1, 2, 77, 1 << 32, 1 << 53] {
      #expect(geometry.segment(named: geometry.segmentName(segment)) == segment)
    }
  }

  @Test(arguments: [
    "", "wal-", "wal-1", "wal-0000000000000000", "wal-0000000000000002", "wal-0000000000000402",
    "wal-000000000000040G", "wal-00000000000004010", "WAL-0000000000000401",
    "wal-000000000000AC01", "wal-+000000000000401", "wal--000000000000401", "pages",
    "wal-ffffffffffffffff",
  ])
  func `rejects a name that is not a segment name`(name: String) throws {
    let geometry = try geometry(Sizes(page: 4096, frames: 1024, footer: 5))
    #expect(geometry.segment(named: name) == nil)
  }
}
