import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The catalog")
struct CatalogTests {
  private static let keys = [Key(true), Key(7), Key(1.5), Key("numbers", 1), Key(1, "numbers")]

  @Test(.evidence("B3"), arguments: keys)
  func `reports a key that is not a name as corrupt`(key: Key) {
    let error = #expect(throws: StorageError.self) {
      try key.bytes.withBytes { bytes throws(StorageError) in try Catalog.name(of: bytes) }
    }
    #expect(error?.kind == .corrupt, "\(key)")
  }

  /// The catalog itself is the tree with number 0.
  @Test(.evidence("B3"), .evidence("B5"), arguments: [true, false])
  func `reports the tree number 0 of a keyspace or of the next tree as corrupt`(isNext: Bool) throws
  {
    var pages = try DamagedPages()
    let offset = isNext ? try pages.nextTreeOffset() : try pages.row("numbers").offset
    pages.change(1) { $0.store32(0, offset) }
    #expect(try pages.findings().contains { $0.contains("a row of its catalog is invalid") })
    let fixture = StoreFixture.inMemory()
    try fixture.write(pages.bytes, to: "pages")
    let store = try fixture.open()
    let error = #expect(throws: StorageError.self) {
      try store.write { _ = try $0.keyspace(isNext ? "new" : "numbers") }
    }
    #expect(error?.kind == .corrupt)
  }

  @Test func `rejects new keyspaces when every number has been used`() throws {
    var pages = try DamagedPages()
    let next = try pages.nextTreeOffset()
    pages.change(1) { $0.store32(.max, next) }
    let fixture = StoreFixture.inMemory()
    try fixture.write(pages.bytes, to: "pages")
    try fixture.run { store in
      let error = #expect(throws: StorageError.self) {
        try store.write { _ = try $0.keyspace("new") }
      }
      #expect(error?.kind == .diskFull)
      try store.write { try $0.keyspace("numbers").put(7, [1]) }
      #expect(try store.snapshot().keyspaceNames == ["large", "numbers"])
    }
  }
}
