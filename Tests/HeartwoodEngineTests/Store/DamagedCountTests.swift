import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests catalogs in which an entry count is incorrect but the hash is valid.
@Suite("A damaged entry count")
struct DamagedCountTests {
  private func store(counting count: UInt64) throws -> Store {
    var pages = try DamagedPages()
    let row = try pages.row("numbers")
    pages.change(1) { $0.store64(count, row.offset + 8) }
    let fixture = StoreFixture.inMemory()
    try fixture.write(pages.bytes, to: "pages")
    return try fixture.open()
  }

  private func kind(_ body: () throws -> Void) -> StorageError.Kind? {
    do { try body() } catch { return (error as? StorageError)?.kind }
    return nil
  }

  @Test(.evidence("B3")) func `of zero does not prevent reading, and throws on deletion`()
    throws
  {
    let store = try store(counting: 0)
    #expect(try store.snapshot().keyspace("numbers")?.get(7)?.count == 60)
    let deletion = kind { try store.write { try $0.keyspace("numbers").delete(7) } }
    #expect(deletion == .corrupt)
    #expect(try store.snapshot().keyspace("numbers")?.get(7)?.count == 60)
    try store.write { try $0.keyspace("numbers").put(1000, [1]) }
    #expect(try store.verify().findings.count == 1)
  }

  @Test(.evidence("B3"), arguments: [1 << 56, UInt64.max])
  func `beyond the limit throws`(count: UInt64) throws {
    let store = try store(counting: count)
    #expect(kind { _ = try store.snapshot().keyspace("numbers") } == .corrupt)
    let put = kind { try store.write { try $0.keyspace("numbers").put(1000, [1]) } }
    #expect(put == .corrupt)
    try store.write { try $0.keyspace("large").put(3, [1]) }
    #expect(try !store.verify().findings.isEmpty)
  }
}
