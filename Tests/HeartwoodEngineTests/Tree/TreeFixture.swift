import HeartwoodEngine
import Testing

/// A tree in memory pages, as the tests of the tree see it.
final class TreeFixture {
  static let tree: TreeID = 5

  let pages: WorkingPages
  let root: TreeRoot
  let writer: TreeWriter

  init(pageSize: Int) throws {
    pages = WorkingPages(pageSize: pageSize)
    root = try TreeWriter.create(pages, tree: Self.tree)
    writer = TreeWriter(pages: pages, root: root)
  }

  // MARK: What the store below the tree knows

  var view: PageView { pages.view }
  var livePages: Set<PageNumber> { pages.live }
  var pinnedCount: Int { pages.view.pinned }

  /// Makes all pages copy-on-write, as for the next transaction.
  func beginTransaction() { pages.freeze() }

  // MARK: Operations

  func put(_ key: [UInt8], _ value: [UInt8]) throws -> Bool {
    try key.withSearchKey { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try writer.put(key, value) }
    }
  }

  func delete(_ key: [UInt8]) throws -> Bool {
    try key.withSearchKey { key throws(StorageError) in try writer.delete(key) }
  }

  func get(_ key: [UInt8]) throws -> [UInt8]? {
    let reader = TreeReader(view: view, root: root)
    return try key.withSearchKey { key throws(StorageError) in
      guard let found = try reader.find(key) else { return nil }
      defer { view.release(found.reference) }
      return try content(found)
    }
  }

  func content(_ found: FoundValue) throws(StorageError) -> [UInt8] {
    guard found.isOverflow else { return found.value.copied() }
    let reference = try OverflowReference(found.value, in: view)
    let block = try Overflow(view: view, tree: root.tree).copy(reference)
    return withExtendedLifetime(block) { block.bytes.bytes.copied() }
  }

  func cursor(savesKey: Bool = false) -> TreeCursor {
    TreeCursor(view: view, root: root, savesKey: savesKey)
  }

  /// All entries from first to last.
  func scan() throws -> [(key: [UInt8], value: [UInt8])] {
    var rows: [(key: [UInt8], value: [UInt8])] = []
    let cursor = cursor()
    var isAtRow = try cursor.first()
    while isAtRow {
      if let value = try cursor.value() { rows.append((cursor.key.copied(), try content(value))) }
      isAtRow = try cursor.next()
    }
    return rows
  }

  /// Checks the whole tree, that no page is lost, and that every page was released.
  func check(entryCount: Int? = nil, _ place: SourceLocation = #_sourceLocation) throws {
    var visited: Set<PageNumber> = []
    let checks = TreeChecks(view: view, root: root) { visited.insert($0).inserted }
    #expect(checks.findings.isEmpty, sourceLocation: place)
    #expect(visited == livePages, sourceLocation: place)
    #expect(pinnedCount == 0, sourceLocation: place)
    if let entryCount { #expect(checks.entryCount == entryCount, sourceLocation: place) }
    for page in livePages {
      let reference = try view.page(page)
      let finding = NodeChecks.check(reference.bytes)
      #expect(finding == nil, sourceLocation: place)
      view.release(reference)
    }
  }
}

extension [UInt8] {
  /// Runs `body` with these bytes and the zeros a search key needs behind them.
  func withSearchKey<R>(_ body: (SearchKey) throws(StorageError) -> R) throws(StorageError) -> R {
    try (self + [0, 0, 0, 0, 0, 0, 0, 0]).withBytes { bytes throws(StorageError) in
      try body(SearchKey(bytes.slice(0, count)))
    }
  }
}
