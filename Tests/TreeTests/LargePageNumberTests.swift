import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests trees whose page numbers need more than 31 bits and whose page offsets need more than 32
/// bits.
@Suite("A tree in pages with large numbers")
struct LargePageNumberTests {
  private static let pageByteCount = 4096
  private static let perBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: pageByteCount)

  /// Returns a tree whose root is the last or the second-to-last page before a limit.
  private func fixture(before retainedGeneration: Int) throws -> TreeFixture {
    let first = retainedGeneration / Self.perBitmap * Self.perBitmap
    let fixture = try TreeFixture(pageByteCount: Self.pageByteCount, pageCount: PageNumber(first))
    // Mark all pages between the root and the limit as used. The root follows its bitmap.
    let bitmap = try fixture.pages.writable(PageNumber(first))
    for bit in 2..<max(retainedGeneration - first - 1, 2) {
      let offset = BitmapLayout.bits + bit / 8
      bitmap.store8(bitmap.bytes.load8(offset) | 1 << UInt8(bit % 8), offset)
    }
    return fixture
  }

  /// The limits are 2 GiB and 4 GiB in the page file, and the page number 2^31.
  @Test(arguments: [1 << 19, 1 << 20, 1 << 31])
  func `works like any other`(retainedGeneration: Int) throws {
    let fixture = try fixture(before: retainedGeneration)
    let keys = (0..<150).map { Array("key \($0 * 7919 % 150)".utf8) }
    for key in keys { #expect(try fixture.put(key, [UInt8](repeating: 3, count: 100))) }
    #expect(try fixture.put(keys[0], [UInt8](repeating: 4, count: 60_000)) == false)
    #expect(fixture.pages.pageCount > PageNumber(retainedGeneration) + 10)
    let reference = try fixture.view.page(PageNumber(retainedGeneration))
    #expect(reference.bytes.load32(PageLayout.page.offset) == PageNumber(retainedGeneration))
    fixture.view.release(reference)
    // A file in memory cannot have a length of several terabytes.
    if retainedGeneration < 1 << 31 { try fixture.beginTransaction() }
    #expect(try fixture.get(keys[0]) == [UInt8](repeating: 4, count: 60_000))
    for key in keys[1...] { #expect(try fixture.get(key)?.count == 100) }
    #expect(try fixture.scan().count == 150)
    for key in keys { #expect(try fixture.delete(key)) }
    #expect(try fixture.scan().isEmpty)
  }

  /// A bitmap is not created if any of the pages that it would cover has no valid page number.
  @Test func `is full at the last page number`() throws {
    let last = Int(Limits.maxPageCount) / Self.perBitmap * Self.perBitmap - Self.perBitmap
    let fixture = try fixture(before: last + Self.perBitmap - 1)
    var error: StorageError?
    for number in 0..<20_000 where error == nil {
      do {
        _ = try fixture.put(Array("\(number)".utf8), [UInt8](repeating: 3, count: 900))
      } catch let failure as StorageError { error = failure }
    }
    #expect(error?.kind == .diskFull)
  }
}
