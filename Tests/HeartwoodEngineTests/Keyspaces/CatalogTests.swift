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
}
