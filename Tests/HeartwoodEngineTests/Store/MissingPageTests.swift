import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A page beyond the end of the page file")
struct MissingPageTests {
  @Test(.evidence("B2"), .evidence("B3"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `is reported as corrupt and does not end the process`(access: StoreOptions.Access) throws {
    var options = StoreOptions()
    options.access = access
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    let fixture = try StoreFixture.onDisk(options)
    do {
      let store = try fixture.open()
      try store.write { transaction in
        let numbers = try transaction.keyspace("numbers")
        for number in 0..<200 { try numbers.put(number, [UInt8](repeating: 7, count: 60)) }
      }
      try store.checkpoint()
      // A page that is allocated and freed in the same transaction is never written, even if pages
      // after it are.
      try store.write { transaction in
        let large = try transaction.keyspace("large")
        for number in 0..<2 { try large.put(number, [UInt8](repeating: 1, count: 200_000)) }
        try large.delete(0)
      }
      try StoreFixture.expectSound(store)
    }
    var pages = try DamagedPages(of: fixture)
    let missing = pages.pageCount + 20
    pages.change(try pages.page(.branch)) { branch in
      let count = Int(branch.bytes.load16(NodeLayout.count.offset))
      let prefix = Int(branch.bytes.load16(NodeLayout.prefixLength.offset))
      let children = NodeLayout.headsOffset(prefixLength: prefix) + count * 8
      branch.store32(PageNumber(missing), children)
    }
    let end = Int(Geometry.firstPageOffset) + pages.pageCount * DamagedPages.pageByteCount
    try fixture.write(Array(pages.bytes[..<end]), to: "pages")
    let store = try fixture.open()
    #expect(store.statistics.pageCount > missing)
    let error = #expect(throws: StorageError.self) {
      try store.snapshot().keyspace("numbers")?.get(0)
    }
    #expect(error?.kind == .corrupt)
    #expect(error?.page == PageNumber(missing))
    #expect(try store.snapshot().keyspace("numbers")?.get(199)?.count == 60)
    #expect(try !store.verify().findings.isEmpty)
    try store.close()
  }
}
