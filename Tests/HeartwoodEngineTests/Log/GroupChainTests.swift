import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests two handmade groups that would form one transaction if no field were changed.
///
/// All hashes are valid, so only the check of the changed field can reject the commit.
@Suite("A transaction of two groups")
struct GroupChainTests {
  typealias Body = @Sendable (_ first: inout HandMadeGroup, _ second: inout HandMadeGroup) -> Void

  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let body: Body

    init(_ description: String, _ body: @escaping Body) {
      testDescription = description
      self.body = body
    }
  }

  private static let changes = [
    Change("another history before it") { first, _ in first.previous = 1 },
    Change("a first group that is not the first") { first, second in
      first.ordinal = 1
      second.ordinal = 2
    },
    Change("a base elsewhere") { first, second in
      first.base = 3
      second.base = 3
    },
    Change("a base elsewhere in a group of its own") { first, _ in
      first.base = 3
      first.isCommit = true
    },
    Change("another base in the second group") { _, second in second.base = 2 },
    Change("the first ordinal twice") { _, second in second.ordinal = 0 },
    Change("an ordinal left out") { _, second in second.ordinal = 2 },
    Change("another transaction in the second group") { _, second in second.transaction += 1 },
    Change("another lineage in the second group") { _, second in second.lineage += 1 },
    Change("another history in the second group") { _, second in second.previous += 1 },
  ]

  private func commits(_ change: Change?) throws -> [FrameNumber] {
    let log = try LogFixture()
    let allocator = try log.allocator()
    _ = try allocator.allocate(0, through: 0, lineage: 7)
    var first = HandMadeGroup(frame: 1, base: 1)
    first.isCommit = false
    var second = HandMadeGroup(frame: 2, base: 1)
    second.ordinal = 1
    // Apply the change before adding the first group's digest, so that a change to `previous`
    // remains in effect.
    change?.body(&first, &second)
    let bytes = first.bytes(pageByteCount: LogFixture.pageByteCount, seed: log.seed)
    second.previous &+= HandMadeGroup.digest(of: bytes)
    try log.write(bytes, at: 1)
    try log.write(second.bytes(pageByteCount: LogFixture.pageByteCount, seed: log.seed), at: 2)
    return try log.commits().map(\.point.frame)
  }

  @Test func `is a commit if both groups match`() throws {
    #expect(try commits(nil) == [2])
  }

  @Test(.evidence("D6"), .evidence("B3"), arguments: changes)
  func `is not a commit with`(change: Change) throws {
    #expect(try commits(change) == [])
  }
}
