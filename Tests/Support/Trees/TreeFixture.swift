package import HeartwoodEngine
package import Testing

/// A tree for tests that need no store.
///
/// The tree uses the same page management as a real write transaction. Its log is in memory, and is
/// read through the page cache.
package final class TreeFixture {
  package static let tree: TreeID = 5

  package private(set) var pages: WorkingPages
  package let root: TreeRoot
  package private(set) var writer: TreeWriter
  private let files: StoreFiles
  private let pool: PagePool
  private let firstPage: PageNumber

  /// Creates an empty tree.
  ///
  /// - Parameter pageCount: The number of pages that are assumed to exist but are never read. The
  ///   page after them must be a bitmap page.
  package init(pageByteCount: Int, pageCount: PageNumber = 0) throws {
    let fileSystem = MemoryFileSystem()
    try fileSystem.createDirectory("/tree")
    let geometry = try #require(
      Geometry(pageByteCount: pageByteCount, segmentByteCount: pageByteCount * 64))
    let log = LogFiles(
      fileSystem: fileSystem, directory: "/tree", geometry: geometry,
      identity: StoreIdentity(high: 1, low: 2), isMapped: false, isWritable: true)
    files = StoreFiles(
      pageFile: PageFile(
        file: try #require(try fileSystem.open("/tree/pages", .create)), geometry: geometry,
        isMapped: false),
      log: log, counters: SharedCounters.ofThisProcess(),
      locks: StoreLocks(file: try #require(try fileSystem.open("/tree/locks", .create))),
      start: .empty, cacheByteCount: 1 << 20, structure: { NodeChecks.check($0) })
    pool = PagePool(pageByteCount: pageByteCount)
    firstPage = pageCount
    var point = CommitPoint.empty
    point.pageCount = pageCount
    let state = try GenerationState(
      point: point, index: PageIndex(), segments: SegmentTable([]), files: files,
      lowestFree: pageCount)
    pages = WorkingPages(on: state, files: files, pool: pool, base: 1)
    root = try TreeWriter.create(pages, tree: Self.tree)
    writer = TreeWriter(pages: pages, root: root)
  }

  // MARK: State of the pages

  package var view: PageView { pages.view }
  package var pinnedCount: Int { files.cache.pinnedCount }

  /// The pages in use, except bitmaps.
  package var livePages: Set<PageNumber> {
    get throws {
      let used = UsedPages(view: view, geometry: files.geometry)
      let perBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: files.geometry.pageByteCount)
      var live: Set<PageNumber> = []
      for page in firstPage..<pages.pageCount where Int(page) % perBitmap != 0 {
        if try used.contains(page) { live.insert(page) }
      }
      return live
    }
  }

  /// Appends the changes to the log, and begins a new transaction that is based on the new state.
  package func beginTransaction(memoryPageLimit: Int = .max) throws {
    let state = try pages.commit()
    pages = WorkingPages(
      on: state, files: files, pool: pool, base: files.geometry.next(after: state.generation),
      memoryPageLimit: memoryPageLimit)
    writer = TreeWriter(pages: pages, root: root)
  }

  // MARK: Operations

  package func put(_ key: [UInt8], _ value: [UInt8]) throws -> Bool {
    try key.withSearchKey { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try writer.put(key, value) }
    }
  }

  package func delete(_ key: [UInt8]) throws -> Bool {
    try key.withSearchKey { key throws(StorageError) in try writer.delete(key) }
  }

  package func get(_ key: [UInt8]) throws -> [UInt8]? {
    let reader = TreeReader(view: view, root: root)
    return try key.withSearchKey { key throws(StorageError) in
      guard let found = try reader.find(key) else { return nil }
      defer { view.release(found.reference) }
      return try content(found)
    }
  }

  package func content(_ found: FoundValue) throws(StorageError) -> [UInt8] {
    guard found.isOverflow else { return found.value.copied() }
    let reference = try OverflowReference(found.value, in: view)
    let block = try Overflow(view: view, tree: root.tree).copy(reference)
    return withExtendedLifetime(block) { block.bytes.bytes.copied() }
  }

  package func cursor(savesKey: Bool = false) -> TreeCursor {
    TreeCursor(view: view, root: root, savesKey: savesKey)
  }

  /// Returns all entries in the order of their keys.
  package func scan() throws -> [(key: [UInt8], value: [UInt8])] {
    var rows: [(key: [UInt8], value: [UInt8])] = []
    let cursor = cursor()
    var isAtRow = try cursor.moveToFirst()
    while isAtRow {
      if let value = try cursor.value() { rows.append((cursor.key.copied(), try content(value))) }
      isAtRow = try cursor.moveToNext()
    }
    return rows
  }

  /// Checks the complete tree, and expects that no page is lost and that every page has been
  /// released.
  package func check(entryCount: Int? = nil, _ sourceLocation: SourceLocation = #_sourceLocation)
    throws
  {
    var visited: Set<PageNumber> = []
    let checks = TreeChecks(view: view, root: root) { visited.insert($0).inserted }
    #expect(checks.findings.isEmpty, sourceLocation: sourceLocation)
    let live = try livePages
    #expect(visited == live, sourceLocation: sourceLocation)
    #expect(pinnedCount == 0, sourceLocation: sourceLocation)
    if let entryCount { #expect(checks.entryCount == entryCount, sourceLocation: sourceLocation) }
    for page in live {
      let reference = try view.page(page)
      let finding = NodeChecks.check(reference.bytes)
      #expect(finding == nil, sourceLocation: sourceLocation)
      view.release(reference)
    }
  }
}

extension [UInt8] {
  /// Runs `body` with these bytes, followed by the zeros that a search key requires.
  package func withSearchKey<R>(_ body: (SearchKey) throws(StorageError) -> R) throws(StorageError)
    -> R
  {
    try (self + [0, 0, 0, 0, 0, 0, 0, 0]).withBytes { bytes throws(StorageError) in
      try body(SearchKey(bytes.slice(0, count)))
    }
  }
}
