import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The page file of a small closed store, in which tests change individual pages and recompute
/// their hashes.
struct DamagedPages {
  static let pageByteCount = 4096
  /// The bytes of the page file, which contains the complete store because the log was
  /// checkpointed.
  private(set) var bytes: [UInt8]
  let header: HeaderSlot

  /// Creates a store with large values, free pages, and a tree whose root has several leaves.
  init() throws {
    let fixture = StoreFixture.inMemory()
    try fixture.run { store in
      try store.write { transaction in
        let numbers = try transaction.keyspace("numbers")
        for number in 0..<200 { try numbers.put(number, [UInt8](repeating: 7, count: 60)) }
        try transaction.keyspace("gone").put(1, [UInt8](repeating: 1, count: 9000))
        let large = try transaction.keyspace("large")
        try large.put(1, [UInt8](repeating: 2, count: 3000))
        try large.put(2, [UInt8](repeating: 3, count: 10_000))
      }
      try store.write { try $0.removeKeyspace("gone") }
      try store.checkpoint()
    }
    try self.init(of: fixture)
  }

  /// Reads the page file of an existing store.
  init(of fixture: StoreFixture) throws {
    bytes = try fixture.bytes(of: "pages")
    let file = try #require(try fixture.fileSystem.open(fixture.path(of: "pages"), .read))
    header = try #require(HeaderSlot.newest(try HeaderSlot.readBoth(file)))
  }

  var pageCount: Int { Int(header.checkpointed.pageCount) }

  private func start(_ page: Int) -> Int {
    Int(Geometry.firstPageOffset) + page * Self.pageByteCount
  }

  /// Calls `body` to change a page, and then recomputes the hash of the page.
  mutating func change(_ page: Int, _ body: (MutableBytes) -> Void) {
    let block = ByteBlock(count: Self.pageByteCount)
    defer { block.keep() }
    bytes.withBytes { block.bytes.copy($0.slice(start(page), Self.pageByteCount), to: 0) }
    body(block.bytes)
    let hash = PageChecks.hash(block.bytes.bytes, seed: header.identity.seed)
    block.bytes.store64(hash, PageLayout.hash.offset)
    bytes.replaceSubrange(
      start(page)..<start(page + 1), with: block.bytes.bytes.copied())
  }

  /// Calls `body` with the bytes of a page, and returns its result.
  func read<R>(_ page: Int, _ body: (Bytes) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes { buffer in
      try body(Bytes(buffer).slice(start(page), Self.pageByteCount))
    }
  }

  func isUsed(_ page: Int) -> Bool {
    read(0) { $0.load8(BitmapLayout.bits + page / 8) & UInt8(1 << (page % 8)) != 0 }
  }

  /// Returns the first used page of the given kind for which `condition` holds.
  func page(
    _ kind: PageKind, where condition: (Bytes) -> Bool = { _ in true }
  ) throws -> Int {
    try #require(
      (0..<pageCount).first { page in
        isUsed(page)
          && read(page) { $0.load8(PageLayout.kind.offset) == kind.rawValue && condition($0) }
      })
  }

  /// Changes a byte of a page without recomputing the page's hash.
  mutating func flip(_ page: Int, _ offset: Int) { bytes[start(page) + offset] ^= 1 }

  /// Returns the offset of the number of the next tree, which is the first value in the catalog.
  func nextTreeOffset() throws -> Int {
    read(1) { catalog in
      let count = Int(catalog.load16(NodeLayout.count.offset))
      return Int(catalog.load16(NodeLayout.headsOffset(prefixLength: 0) + count * 8)) + 4
    }
  }

  /// Returns the row of a keyspace in the catalog: its offset, tree number, root and entry count.
  func row(_ name: String) throws -> (offset: Int, tree: UInt32, root: UInt32, count: UInt64) {
    try read(1) { catalog in
      let count = Int(catalog.load16(NodeLayout.count.offset))
      let prefix = Int(catalog.load16(NodeLayout.prefixLength.offset))
      try #require(prefix == 0)
      let heads = NodeLayout.headsOffset(prefixLength: 0)
      // A key's head contains its tag and up to seven more bytes, which suffice for a short name.
      var wanted: UInt64 = 0
      for byte in [0x40] + Array(name.utf8) { wanted = wanted << 8 | UInt64(byte) }
      wanted <<= UInt64(8 * (7 - name.utf8.count))
      let index = try #require(
        (0..<count).first { catalog.load64(heads + $0 * 8) == wanted })
      let cell = Int(catalog.load16(heads + count * 8 + index * 2)) + 4
      return (
        cell, catalog.load32(cell), catalog.load32(cell + 4), catalog.load64(cell + 8)
      )
    }
  }

  /// Returns the offset within a leaf at which the leaf refers to the large value with the given
  /// index.
  func reference(in leaf: Int, _ index: Int) -> Int {
    read(leaf) { page in
      let count = Int(page.load16(NodeLayout.count.offset))
      let prefix = Int(page.load16(NodeLayout.prefixLength.offset))
      let slots = NodeLayout.headsOffset(prefixLength: prefix) + count * 8
      let cell = Int(page.load16(slots + index * 2))
      return cell + 4 + max(0, Int(page.load16(cell)) - 8)
    }
  }

  /// Opens a store with these pages, as if on another machine, and returns the findings of
  /// `verify()`.
  func findings(_ access: StoreOptions.Access = .buffered) throws -> [String] {
    var fixture = access == .buffered ? StoreFixture.inMemory() : try StoreFixture.onDisk()
    fixture.options.access = access
    try fixture.write(bytes, to: "pages")
    let store = try fixture.open()
    let report = try store.verify()
    #expect(report.pageCount == pageCount)
    try? store.close()
    return report.findings
  }
}
