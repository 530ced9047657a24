import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests which commits a scanner finds in logs that were written normally, torn, overwritten or
/// built by hand.
@Suite("A log scanner")
struct LogScannerTests {
  @Test func `finds nothing in an empty log`() throws {
    #expect(try LogFixture().commits().isEmpty)
  }

  @Test func `finds commits with their images`() throws {
    let log = try LogFixture()
    let points = [try log.commit([]), try log.commit([3, 4, 9]), try log.commit([4])]
    let found = try log.commits()
    #expect(found.map(\.point) == points)
    #expect(found.map { $0.images.map(\.page) } == [[], [3, 4, 9], [4]])
    #expect(found.map { $0.images.map(\.frame) } == [[], [3, 4, 5], [9]])
    // The first commit starts the first lineage, which ends the lineage of the empty store. No
    // other commit ends a lineage.
    #expect(found.map { $0.ended != nil } == [true, false, false])
    for commit in found { #expect(try log.scanner().verifyImages(of: commit)) }
    #expect(try log.commits(from: points[1]).map(\.point) == [points[2]])
  }

  @Test func `finds commits that span several groups and segments`() throws {
    let log = try LogFixture()
    let first = try log.commit((0..<1000).map { $0 })
    let second = try log.commit([7])
    let found = try log.commits()
    #expect(found.map(\.point) == [first, second])
    let commit = try #require(found.first)
    #expect(commit.images.map(\.page) == (0..<1000).map { $0 })
    // The commit has four headers, each of which lists at most 333 images.
    #expect(first.frame == log.geometry.advance(1, by: 1003))
    #expect(try log.scanner().verifyImages(of: commit))
  }

  @Test func `takes the durable watermark from all groups of a commit`() throws {
    let log = try LogFixture()
    try log.commit([1])
    log.durableUpTo = log.point.frame
    try log.commit((0..<400).map { $0 })
    #expect(try log.commits().map(\.durableWatermark) == [0, 2])
  }

  @Test(.evidence("D2")) func `stops at a commit with a damaged header`() throws {
    for group in 0..<3 {
      let log = try LogFixture()
      let first = try log.commit([1, 2])
      let base = log.geometry.next(after: first.frame)
      try log.commit((0..<700).map { $0 })
      try log.commit([5])
      try log.flip(40, of: log.geometry.advance(base, by: group * 334))
      #expect(try log.commits().map(\.point) == [first], "group \(group)")
    }
  }

  @Test(.evidence("D2")) func `stops at a commit whose segment is missing`() throws {
    for missing: UInt64 in 1...3 {
      let log = try LogFixture()
      let first = try log.commit([1, 2])
      try log.commit((0..<20).map { $0 })
      try log.commit([5])
      try log.files.remove(missing)
      #expect(try log.commits().map(\.point) == [first], "segment \(missing)")
    }
  }

  @Test func `detects damage in any image of a commit on request`() throws {
    let log = try LogFixture()
    try log.commit([1, 2, 3])
    for frame: FrameNumber in 2...4 {
      for offset in [0, 8, 16, 30, 4095] {
        try log.flip(offset, of: frame)
        let found = try log.commits()
        #expect(found.count == 1)
        for commit in found {
          #expect(try !log.scanner().verifyImages(of: commit), "byte \(offset) of \(frame)")
        }
        try log.flip(offset, of: frame)
      }
    }
  }

  @Test func `accepts a commit only if it continues the previous one`() throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    let second = try log.commit([2])
    // This point has the same position and lineage, but a different history.
    var other = first
    other.digest ^= 1
    #expect(try log.commits(from: other).isEmpty)
    #expect(try log.commits(from: first).map(\.point) == [second])
  }

  @Test func `accepts another lineage only at the first frame of a segment`() throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    log.lineage = 8
    try log.commit([2])
    #expect(try log.commits().map(\.point) == [first])
  }

  // MARK: Abandoned transactions

  /// The number of images in a full group.
  private static let perGroup = 333

  @Test(.evidence("D6"), arguments: [true, false])
  func `never accepts the stale header after a later commit`(wasMarked: Bool) throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    let base = log.geometry.next(after: first.frame)
    let count = Self.perGroup * (wasMarked ? 1 : 2) + 10
    try log.commit((0..<UInt32(count)).map { $0 })
    // The later transaction ends in the same frame as the first group of the abandoned transaction.
    let end = log.geometry.advance(base, by: Self.perGroup)
    let stale = try log.frames(after: end)
    log.point = first
    let second = try log.commit((0..<UInt32(Self.perGroup)).map { $0 + 5 })
    #expect(second.frame == end)
    for (frame, bytes) in stale { try log.write(bytes, at: frame) }
    let header = try #require(try log.scanner().header(at: log.geometry.next(after: end)))
    #expect(header.header.ordinal == 1)
    #expect((header.header.commit != nil) == wasMarked)
    #expect(try log.commits().map(\.point) == [first, second])
    #expect(try log.recovery().point == second)
    // The next commit overwrites the stale group and is not affected by it.
    log.point = second
    let third = try log.commit([9])
    #expect(try log.commits().map(\.point) == [first, second, third])
  }

  @Test(.evidence("D6")) func `never completes a torn transaction with a stale header`() throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    let base = log.geometry.next(after: first.frame)
    let pages = (0..<UInt32(Self.perGroup + 10)).map { $0 }
    try log.commit(pages)
    let end = log.geometry.advance(base, by: Self.perGroup)
    let stale = try log.frames(after: end)
    // Write the same transaction again, but restore the stale frames after its first group.
    log.point = first
    try log.commit(pages)
    for (frame, bytes) in stale { try log.write(bytes, at: frame) }
    #expect(try log.scanner().header(at: base) != nil)
    #expect(try log.scanner().header(at: log.geometry.next(after: end)) != nil)
    #expect(try log.commits().map(\.point) == [first])
  }

  @Test(.evidence("D6")) func `never accepts a complete commit of another history`() throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    try log.commit([2])
    let lost = try log.commit([3])
    let stale = try log.frames(after: log.geometry.advance(1, by: 3))
    log.point = first
    let second = try log.commit([4])
    for (frame, bytes) in stale { try log.write(bytes, at: frame) }
    #expect(try log.scanner().header(at: log.geometry.next(after: second.frame)) != nil)
    let found = try log.commits().map(\.point)
    #expect(found == [first, second])
    #expect(!found.contains(lost))
  }
}
