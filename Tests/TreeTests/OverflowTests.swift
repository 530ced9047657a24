import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A large value")
struct OverflowTests {
  /// Lengths near every limit of the layout, including the limit of the second index level.
  private static let lengths: [Int] = {
    let payload = 4096 - 32
    let fanout = payload / 4
    let edges = [1100, payload, 2 * payload, 5 * payload, fanout * payload, (fanout + 3) * payload]
    return edges.flatMap { edge in [edge - 1, edge, edge + 1] }
  }()

  private func reference(_ fixture: TreeFixture, _ key: [UInt8]) throws -> OverflowReference {
    try key.withSearchKey { key throws(StorageError) in
      let reader = TreeReader(view: fixture.view, root: fixture.root)
      guard let found = try reader.find(key), found.isOverflow else {
        throw StorageError(.invalidArgument, "The value is not large.")
      }
      defer { fixture.view.release(found.reference) }
      return try OverflowReference(found.value, in: fixture.view)
    }
  }

  @Test(arguments: lengths)
  func `is read completely and by range`(_ length: Int) throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let value = TreeModel.value(UInt64(length), count: length)
    #expect(try fixture.put([1], value))
    #expect(try fixture.get([1]) == value)
    let reference = try reference(fixture, [1])
    let overflow = Overflow(view: fixture.view, tree: TreeFixture.tree)
    var random = SeededGenerator(seed: UInt64(length))
    for _ in 0..<20 {
      let start = Int(random.next() % UInt64(length + 1))
      let count = min(Int(random.next() % 9000), length - start)
      var bytes: [UInt8] = []
      try overflow.read(reference, from: start, count: count) { chunk throws(StorageError) in
        bytes += chunk.copied()
      }
      #expect(bytes == Array(value[start..<start + count]))
    }
    #expect(throws: StorageError.self) {
      try overflow.read(reference, from: 1, count: length) { _ throws(StorageError) in }
    }
    try fixture.check(entryCount: 1)
    #expect(try !fixture.put([1], [2]))
    #expect(try fixture.livePages.count == 1)
    #expect(try !fixture.put([1], value))
    #expect(try fixture.delete([1]))
    #expect(try fixture.livePages.count == 1)
    #expect(fixture.pinnedCount == 0)
  }

  /// Each page contains its own number and its tree.
  ///
  /// A read of a value must therefore reject a page of another value.
  @Test(.evidence("B3")) func `with a wrong page is corrupt`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let value = TreeModel.value(5, count: 5 * 4064 - 9)
    _ = try fixture.put([1], value)
    let reference = try reference(fixture, [1])
    let last = try #require(try pages(of: reference, fixture).last)
    func expectDamage(_ page: PageNumber, _ context: String, tree: TreeID = TreeFixture.tree) {
      let error = #expect(throws: StorageError.self, "\(context)") {
        try Overflow(view: fixture.view, tree: tree).verify(reference)
      }
      #expect(error?.kind == .corrupt, "\(context)")
      #expect(error?.page == page, "\(context)")
    }
    expectDamage(reference.root, "another tree", tree: TreeFixture.tree + 1)
    let changes: [(String, PageNumber, (MutableBytes) -> Void)] = [
      ("kind", last, { $0.store8(PageKind.bitmap.rawValue, PageLayout.kind.offset) }),
      ("level", last, { $0.store8(1, PageLayout.level.offset) }),
      ("tree", last, { $0.store32(TreeFixture.tree + 1, PageLayout.tree.offset) }),
      ("bytes", last, { $0.store32(4064, OverflowLayout.payloadCount.offset) }),
      (
        "kind of the index", reference.root,
        { $0.store8(PageKind.overflow.rawValue, PageLayout.kind.offset) }
      ),
      ("level of the index", reference.root, { $0.store8(2, PageLayout.level.offset) }),
      ("pages", reference.root, { $0.store32(6, OverflowLayout.indexCount.offset) }),
    ]
    for (context, page, change) in changes {
      let bytes = try fixture.pages.writable(page)
      let before = bytes.bytes.copied()
      change(bytes)
      expectDamage(page, context)
      before.withBytes { bytes.copy($0, to: 0) }
    }
    try fixture.check(entryCount: 1)
  }

  /// Returns the pages of a value that has an index and several data pages.
  private func pages(
    of reference: OverflowReference, _ fixture: TreeFixture
  ) throws -> [PageNumber] {
    var pages: [PageNumber] = []
    let overflow = Overflow(view: fixture.view, tree: TreeFixture.tree)
    try overflow.forEachPage(reference) { page throws(StorageError) in pages.append(page) }
    return pages.filter { $0 != reference.root }
  }

  @Test func `is read in place if it fits one page`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let value = TreeModel.value(3, count: 4064)
    _ = try fixture.put([1], value)
    let overflow = Overflow(view: fixture.view, tree: TreeFixture.tree)
    let found = try overflow.inPlace(reference(fixture, [1]))
    #expect(found?.value.copied() == value)
    if let found { fixture.view.release(found.reference) }
    _ = try fixture.put([1], value + [1])
    #expect(try overflow.inPlace(reference(fixture, [1])).map { _ in 1 } == nil)
    #expect(fixture.pinnedCount == 0)
  }

  @Test func `is written in chunks`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let value = TreeModel.value(8, count: 50_000)
    var writer = try OverflowWriter(pages: fixture.pages, tree: TreeFixture.tree, length: 50_000)
    for start in stride(from: 0, to: 50_000, by: 777) {
      try Array(value[start..<min(start + 777, 50_000)]).withBytes { chunk throws(StorageError) in
        try writer.append(chunk)
      }
    }
    let reference = try writer.finish()
    let isNew = try [UInt8](arrayLiteral: 4).withSearchKey { key throws(StorageError) in
      try fixture.writer.put(key, reference)
    }
    #expect(isNew)
    #expect(try fixture.get([4]) == value)
    try fixture.check(entryCount: 1)
  }

  @Test(arguments: [(0, 0), (5000, 5001), (5000, 4999)])
  func `is rejected if it has another length than declared`(_ length: Int, _ given: Int) throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let error = #expect(throws: StorageError.self) {
      var writer = try OverflowWriter(
        pages: fixture.pages, tree: TreeFixture.tree, length: length)
      try [UInt8](repeating: 1, count: given).withBytes { chunk throws(StorageError) in
        try writer.append(chunk)
      }
      _ = try writer.finish()
    }
    #expect(error?.kind == .invalidArgument)
  }

  @Test(arguments: lengths) func `frees all its pages when it is discarded`(
    _ length: Int
  ) throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    for given in Set([0, 1, 4064, 4065, length / 2, length - 1, length]) where given <= length {
      var writer = try OverflowWriter(
        pages: fixture.pages, tree: TreeFixture.tree, length: length)
      try [UInt8](repeating: 1, count: given).withBytes { chunk throws(StorageError) in
        try writer.append(chunk)
      }
      try writer.discard()
      #expect(try fixture.livePages == [fixture.root.page], "\(given) of \(length)")
    }
    try fixture.check(entryCount: 0)
  }

  @Test func `is stored in pages of ascending number`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    _ = try fixture.put([1], TreeModel.value(3, count: 1_020 * 4064))
    let overflow = Overflow(view: fixture.view, tree: TreeFixture.tree)
    var pages: [PageNumber] = []
    try overflow.forEachPage(try reference(fixture, [1])) { number throws(StorageError) in
      let page = try fixture.view.page(number)
      defer { fixture.view.release(page) }
      if page.bytes.load8(PageLayout.kind.offset) == PageKind.overflow.rawValue {
        pages.append(number)
      }
    }
    #expect(pages.count == 1_020)
    #expect(pages == pages.sorted())
  }

  @Test func `with changed bytes is rejected`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    _ = try fixture.put([1], TreeModel.value(8, count: 50_000))
    for number in try fixture.livePages {
      let page = try fixture.pages.writable(number)
      guard page.bytes.load8(PageLayout.kind.offset) == PageKind.overflow.rawValue else { continue }
      page.store8(~page.bytes.load8(40), 40)
      break
    }
    #expect(throws: StorageError.self) { try fixture.get([1]) }
    let reference = try reference(fixture, [1])
    let error = #expect(throws: StorageError.self) {
      try Overflow(view: fixture.view, tree: TreeFixture.tree).forEachChunk(reference) {
        _ throws(StorageError) in
      }
    }
    #expect(error?.kind == .corrupt)
    var visited: Set<PageNumber> = []
    let checks = TreeChecks(view: fixture.view, root: fixture.root) { visited.insert($0).inserted }
    #expect(checks.findings.count == 1)
  }

  @Test func `with an invalid reference is rejected`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    _ = try fixture.put([1], TreeModel.value(8, count: 50_000))
    let page = try fixture.pages.writable(fixture.root.page)
    let cell = NodeView(page.bytes).leafSlot(0) + 4
    for length in [0, 1, 49_000, 4_000_000, 1 << 31, UInt64.max] {
      page.store64(length, cell)
      #expect(throws: StorageError.self) { try fixture.get([1]) }
    }
    page.store64(50_000, cell)
    for depth in [UInt8(0), 2, 255] {
      page.store8(depth, cell + OverflowLayout.depth.offset)
      #expect(throws: StorageError.self) { try fixture.get([1]) }
    }
    #expect(fixture.pinnedCount == 0)
  }
}
