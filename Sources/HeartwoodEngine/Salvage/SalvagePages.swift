/// The pages of a damaged store, as of the salvaged generation.
final class SalvagePages {
  /// The record of each page, or `nil` for a page that is damaged, is missing or was never written.
  private(set) var records: [PageRecord?]
  let state: GenerationState
  /// A Boolean value that indicates whether commits after the salvaged generation are lost.
  let hasLostCommits: Bool
  /// Notes about damaged files, each in one sentence.
  private(set) var notes: [String]
  /// The number of damaged pages that are, or may be, in use.
  private(set) var damagedPageCount = 0
  /// A Boolean value that indicates whether the usage of every page is known.
  private(set) var knowsUsage = true
  private let geometry: Geometry

  var view: PageView { state.view }

  /// Creates an object by reading every page of the store.
  ///
  /// - Parameter report: A closure that is called with the number of pages read so far.
  /// - Throws: `notAStore`, `incompatibleFormat` or `io` if the directory is not a readable store.
  init(
    of directory: String, in files: DamagedFiles, _ report: (Int) -> Void
  ) throws(StorageError) {
    let names = Set(try files.list(directory) ?? [])
    let found = try SalvageIdentity(of: directory, in: files, names)
    notes = found.notes
    geometry = found.geometry
    let (foreign, first) = try Self.foreignSegments(found, directory, files, names)
    if !foreign.isEmpty {
      notes.append(
        "The following files do not belong to the log of this store: "
          + "\(foreign.sorted().joined(separator: ", ")).")
    }
    let visible = files.hiding(foreign)
    let log = LogFiles(
      fileSystem: visible, directory: directory, geometry: found.geometry,
      identity: found.identity, isMapped: false, isWritable: false)
    let table = try log.openAll(from: first, isMapped: false)
    let pages = try files.open(directory + "/pages", .read)
    if pages == nil { notes.append("The page file is missing.") }
    // Use the header slots' page counts as the limit, because the file may be far longer. If a slot
    // is damaged, set no limit: that slot may have had the higher page count.
    let most = found.slots.count > 1 ? found.slots.map(\.checkpointed.pageCount).max() : nil
    let scan = try PageFileScan(
      pages, found.geometry, seed: found.identity.seed, upTo: most ?? .max, report)
    let chosen = try SalvageLog(
      found, log, table, committed: try Self.committed(directory, files),
      newestInPages: scan.newestFrame)
    notes += chosen.notes
    hasLostCommits = chosen.hasLostCommits
    // Limit the page count, because the store cannot use more pages than its files have room for.
    let room = scan.records.count + table.segments.count * found.geometry.framesPerSegment
    let count = min(Int(chosen.point.pageCount), room)
    let located = try Self.locate(count, chosen, scan) { report(scan.records.count + $0) }
    records = located.records
    state = try Self.state(
      chosen.point, pageCount: count, located.index, table, log, pages, directory)
    applyBitmaps()
  }

  /// Returns the names of foreign segment files, and the number of this store's first segment.
  ///
  /// A foreign segment file belongs to another store, or has a number that is too high.
  private static func foreignSegments(
    _ found: SalvageIdentity, _ directory: String, _ files: DamagedFiles, _ names: Set<String>
  ) throws(StorageError) -> (names: Set<String>, first: UInt64) {
    var foreign: Set<String> = []
    var numbers: [UInt64: String] = [:]
    for name in names where name.hasPrefix("wal-") {
      let header = try SalvageIdentity.header(of: directory + "/" + name, name, in: files)
      guard let number = found.geometry.segment(named: name),
        header.map({ $0.identity == found.identity && $0.geometry == found.geometry }) ?? true
      else {
        foreign.insert(name)
        continue
      }
      numbers[number] = name
    }
    // Start at the first segment that is needed or the first that exists, whichever is lower.
    let needed = found.header.map {
      found.geometry.segment(of: found.geometry.next(after: $0.checkpointed.frame))
    }
    let first = min(needed ?? .max, numbers.keys.min() ?? .max)
    for (number, name) in numbers where number - first > Limits.maxSegmentSpan {
      foreign.insert(name)
    }
    return (foreign, first == .max ? 0 : first)
  }

  /// Returns the durable generation according to the `counters` file, or 0 if it is unknown.
  private static func committed(
    _ directory: String, _ files: DamagedFiles
  ) throws(StorageError) -> FrameNumber {
    guard let file = try files.open(directory + "/counters", .read) else { return 0 }
    return try file.withBytes(CountersLayout.byteCount, at: 0) { bytes throws(StorageError) in
      // If `ready` is 0, the counters are not in use, and their values have no meaning.
      bytes.load64(CountersLayout.ready.offset) == 0
        ? 0 : bytes.load64(CountersLayout.durable.offset)
    }
  }

  /// Reads the page images in the log, and returns the records and the locations of all pages.
  ///
  /// If the log and the page file both contain an image, one intact copy of the image is enough.
  private static func locate(
    _ count: Int, _ chosen: SalvageLog, _ scan: PageFileScan, _ report: (Int) -> Void
  ) throws(StorageError) -> (records: [PageRecord?], index: PageIndex) {
    let index = PageIndex()
    var records: [PageRecord?] = []
    records.reserveCapacity(count)
    var imageCount = 0
    for number in 0..<count {
      let page = PageNumber(number)
      let stored = number < scan.records.count ? scan.records[number] : nil
      let frame = chosen.index.frame(of: page)
      guard frame != 0 else {
        if let stored, stored.frame <= chosen.checkpointed {
          records.append(stored)
        } else {
          records.append(try checkpointed(page, chosen, index))
        }
        continue
      }
      imageCount += 1
      if imageCount % 256 == 0 { report(imageCount) }
      if let record = try chosen.record(at: frame, page: page) {
        index.set(page, to: frame)
        records.append(record)
      } else {
        records.append(stored.flatMap { $0.frame == frame ? $0 : nil })
      }
    }
    return (records, index)
  }

  /// Returns the record of a page that is damaged in the page file but still intact in the log.
  private static func checkpointed(
    _ page: PageNumber, _ chosen: SalvageLog, _ index: PageIndex
  ) throws(StorageError) -> PageRecord? {
    let frame = chosen.checkpointedIndex.frame(of: page)
    guard frame != 0, let record = try chosen.record(at: frame, page: page) else { return nil }
    index.set(page, to: frame)
    return record
  }

  private static func state(
    _ point: CommitPoint, pageCount: Int, _ index: PageIndex, _ table: SegmentTable,
    _ log: LogFiles, _ pages: (any File)?, _ directory: String
  ) throws(StorageError) -> GenerationState {
    let file: any File
    if let pages {
      file = pages
    } else {
      // Treat a missing page file like an empty one.
      file = try MemoryFileSystem().create("/pages")
    }
    let counters = SharedCounters.ofThisProcess()
    counters.store(point.frame, CountersLayout.checkpointed)
    let files = StoreFiles(
      pageFile: PageFile(file: file, geometry: log.geometry, isMapped: false), log: log,
      counters: counters, locks: StoreLocks(file: file), start: point,
      cacheByteCount: Self.cacheByteCount, structure: { NodeChecks.check($0) })
    var point = point
    point.pageCount = PageNumber(pageCount)
    return try GenerationState(point: point, index: index, segments: table, files: files)
  }

  private static let cacheByteCount = 16 << 20

  // MARK: Free space

  /// Records which pages are in use, according to the intact bitmap pages.
  private func applyBitmaps() {
    let perBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: geometry.pageByteCount)
    for first in stride(from: 0, to: records.count, by: perBitmap) {
      let range = first..<min(first + perBitmap, records.count)
      guard let record = records[first], record.kind == .bitmap,
        let reference = try? view.page(PageNumber(first))
      else {
        knowsUsage = false
        notes.append(
          "Bitmap page \(first) is damaged, so only the trees show which of pages "
            + "\(range.lowerBound) to \(range.upperBound - 1) are in use.")
        damagedPageCount += range.count { records[$0] == nil }
        continue
      }
      defer { view.release(reference) }
      for page in range {
        let isUsed = Bitmap.bit(page - first, in: reference.bytes)
        records[page]?.usage = isUsed ? .used : .free
        if isUsed, records[page] == nil { damagedPageCount += 1 }
      }
    }
  }

  // MARK: Nodes

  /// Returns whether a page is an intact node of the given tree and level that has not been visited
  /// yet.
  func isFreshNode(_ page: PageNumber, tree: TreeID, level: Int) -> Bool {
    guard Int(page) < records.count, let record = records[Int(page)] else { return false }
    return record.isNode && record.tree == tree && Int(record.level) == level
      && !record.isVisited
  }

  func record(_ page: PageNumber) -> PageRecord? {
    Int(page) < records.count ? records[Int(page)] : nil
  }

  func markVisited(_ page: PageNumber) { records[Int(page)]?.isVisited = true }

  /// Calls `body` with a node that the scan has found to be intact.
  ///
  /// The method returns `nil` if the node can no longer be read.
  func withNode<R>(
    _ page: PageNumber, _ body: (NodeView) throws(StorageError) -> R
  ) throws(StorageError) -> R? {
    let reference: PageReference
    do throws(StorageError) { reference = try view.page(page) } catch {
      guard error.kind == .corrupt else { throw error }
      return nil
    }
    defer { view.release(reference) }
    let bytes = reference.bytes
    // The view has verified the page, but the page may have changed since the scan. Compare the
    // page with the record.
    guard let record = record(page),
      bytes.load8(PageLayout.kind.offset) == record.kind.rawValue,
      bytes.load8(PageLayout.level.offset) == record.level
    else { return nil }
    return try body(NodeView(bytes))
  }

  /// Returns the nodes that may be in use, keyed by tree, for all trees except the catalog.
  func nodes() -> [TreeID: [PageNumber]] {
    var nodes: [TreeID: [PageNumber]] = [:]
    for (page, record) in records.enumerated() {
      guard let record, record.isNode, record.usage != .free else { continue }
      nodes[record.tree, default: []].append(PageNumber(page))
    }
    return nodes
  }
}
