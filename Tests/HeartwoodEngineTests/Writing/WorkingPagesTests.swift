import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the pages of a transaction, which are in memory, in the log, or retained for savepoints.
@Suite("The pages of a transaction")
struct WorkingPagesTests {
  private func fixture() throws -> TreeFixture {
    let fixture = try TreeFixture(pageByteCount: 4096)
    for number in 0..<200 { _ = try fixture.put(Self.key(number), [1]) }
    try fixture.beginTransaction()
    return fixture
  }

  private static func key(_ number: Int) -> [UInt8] { Array("key number \(number)".utf8) }

  @Test func `are none before the first change`() throws {
    let fixture = try fixture()
    #expect(fixture.pages.isUnchanged)
    #expect(fixture.pages.memoryPageCount == 0)
    _ = try fixture.put(Self.key(3), [2])
    #expect(!fixture.pages.isUnchanged)
    #expect(fixture.pages.memoryPageCount == 1)
  }

  @Test func `keep their addresses until they are moved`() throws {
    let fixture = try fixture()
    let pages = fixture.pages
    let page = fixture.root.page
    let address = try pages.writable(page).base
    let moves = pages.moveCount
    try pages.makeRoom()
    #expect(try pages.writable(page).base == address)
    #expect(pages.moveCount == moves)
    pages.beginSavepoint()
    #expect(pages.moveCount > moves)
    let copy = try pages.writable(page).base
    #expect(copy != address)
    #expect(pages.memoryPageCount == 2)
    pages.rollBackSavepoint()
    #expect(try pages.writable(page).base == address)
    #expect(pages.memoryPageCount == 1)
  }

  @Test func `are copied once for each savepoint that changes them`() throws {
    let fixture = try fixture()
    let pages = fixture.pages
    _ = try fixture.put(Self.key(3), [2])
    for depth in 1...5 {
      pages.beginSavepoint()
      #expect(pages.memoryPageCount == depth)
      _ = try fixture.put(Self.key(3), [UInt8(depth + 2)])
      _ = try fixture.put(Self.key(3), [UInt8(depth + 2)])
      #expect(pages.memoryPageCount == depth + 1)
    }
    // Releasing the inner savepoint keeps the previous version of a page, unless the outer
    // savepoint already has a copy of the page.
    pages.releaseSavepoint()
    #expect(pages.memoryPageCount == 5)
    #expect(try fixture.get(Self.key(3)) == [7])
    pages.rollBackSavepoint()
    #expect(try fixture.get(Self.key(3)) == [5])
    #expect(pages.memoryPageCount == 4)
    for _ in 0..<3 { pages.releaseSavepoint() }
    #expect(pages.memoryPageCount == 1)
    #expect(try fixture.get(Self.key(3)) == [5])
    try fixture.check(entryCount: 200)
  }

  @Test func `are unchanged when every change was rolled back`() throws {
    let fixture = try fixture()
    let pages = fixture.pages
    let pageCount = pages.pageCount
    let lowestFree = pages.lowestFree
    for _ in 0..<2 {
      pages.beginSavepoint()
      for number in 200..<900 { _ = try fixture.put(Self.key(number), [3]) }
      for number in 0..<150 { _ = try fixture.delete(Self.key(number)) }
      #expect(pages.pageCount > pageCount)
      pages.rollBackSavepoint()
      #expect(pages.isUnchanged)
      #expect(pages.memoryPageCount == 0)
      #expect(pages.pageCount == pageCount)
      #expect(pages.lowestFree == lowestFree)
    }
    try fixture.check(entryCount: 200)
  }

  @Test func `are spilled when there are too many, and copied back when they change`() throws {
    let fixture = try fixture()
    try fixture.beginTransaction(memoryPageLimit: 2)
    let pages = fixture.pages
    for number in 0..<1000 {
      _ = try fixture.put(Self.key(number), [5])
      let moves = pages.moveCount
      let isOver = pages.memoryPageCount > 2
      try pages.makeRoom()
      #expect(pages.memoryPageCount == 0 || !isOver)
      #expect((pages.moveCount != moves) == isOver)
    }
    #expect(!pages.isUnchanged)
    try fixture.check(entryCount: 1000)
    try fixture.beginTransaction()
    try fixture.check(entryCount: 1000)
    #expect(try fixture.get(Self.key(77)) == [5])
  }
}
