import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// An entry of a store, for comparisons.
struct SalvageEntry: Hashable {
  let keyspace: String
  let key: [UInt8]
}

/// The files of a store, with its contents and the location of every entry.
struct SalvageSample {
  /// The pages that an entry needs.
  struct Location {
    let leaf: PageNumber
    var overflowPages: Set<PageNumber> = []
  }

  var files: [String: [UInt8]] = [:]
  private(set) var contents: [SalvageEntry: [UInt8]] = [:]
  private(set) var locations: [SalvageEntry: Location] = [:]
  private(set) var trees: [String: TreeID] = [:]
  /// The pages in use, by their kind.
  private(set) var pages: [PageKind: [PageNumber]] = [:]
  /// The levels of the branches.
  private(set) var levels: [PageNumber: Int] = [:]
  /// The number of leaves that remain in free pages.
  private(set) var staleLeafCount = 0
  private(set) var generation: FrameNumber = 0
  let geometry: Geometry
  private var frames: [PageNumber: FrameNumber] = [:]

  static let path = "/store"

  /// Writes a store with several keyspaces, large values and free pages that hold old leaves.
  ///
  /// - Parameter isCheckpointed: `true` if all pages are in the page file; `false` if the newest
  ///   pages are only in the log.
  init(pageByteCount: Int, isCheckpointed: Bool, seed: UInt64, scale: Int = 1) throws {
    try self.init(pageByteCount: pageByteCount, isCheckpointed: isCheckpointed) { store in
      try Self.write(to: store, seed: seed, count: 600 * scale * pageByteCount / 4096)
    }
  }

  /// Writes a store with one keyspace, whose tree has at least three levels of branches.
  static func ofTallTree(seed: UInt64) throws -> SalvageSample {
    var generator = SeededGenerator(seed: seed)
    return try SalvageSample(pageByteCount: 4096, isCheckpointed: true) { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("tall")
        // Neighbouring keys differ only in their last byte, so branches hold few separators.
        for group in UInt8(1)...160 {
          for number in 0..<UInt8(2 + generator.below(3)) {
            let key = [UInt8](repeating: group, count: 900) + [number]
            try keyspace.put(key, generator.bytes(20))
          }
        }
      }
    }
  }

  private init(
    pageByteCount: Int, isCheckpointed: Bool, _ write: (Store) throws -> Void
  ) throws {
    var options = StoreOptions()
    options.pageByteCount = pageByteCount
    options.segmentByteCount = pageByteCount * 64
    options.checkpointLogByteCount = 0
    geometry = try #require(
      Geometry(pageByteCount: pageByteCount, segmentByteCount: pageByteCount * 64))
    let fixture = StoreFixture.inMemory(options)
    let store = try fixture.open()
    try write(store)
    if isCheckpointed { try store.checkpoint() }
    let snapshot = try store.snapshot()
    try record(snapshot)
    files = try fixture.allBytes()
    files["locks"] = []
    withExtendedLifetime(snapshot) {}
  }

  private static func write(to store: Store, seed: UInt64, count: Int) throws {
    var generator = SeededGenerator(seed: seed)
    try store.write { transaction in
      let numbers = try transaction.keyspace("numbers")
      let names = try transaction.keyspace("names")
      for number in 0..<count * 4 {
        try numbers.put(number, generator.bytes(20 + generator.below(60)))
      }
      for number in 0..<count {
        let text = String(repeating: "key", count: 1 + number % 40) + "\(number)"
        try names.put(text, generator.bytes(generator.below(100)))
      }
      let dropped = try transaction.keyspace("dropped")
      for number in 0..<count { try dropped.put(number, generator.bytes(80)) }
    }
    try store.checkpoint()
    try store.write { transaction in
      let large = try transaction.keyspace("large")
      for number in 0..<12 { try large.put(number, generator.bytes(3000 * (1 + number * 2))) }
      _ = try transaction.keyspace("empty")
    }
    try store.checkpoint()
    try store.write { transaction in
      // Removed leaves stay in free pages.
      try transaction.removeKeyspace("dropped")
      let numbers = try transaction.keyspace("numbers")
      for number in count..<count * 2 { try numbers.delete(number) }
      for number in count * 3..<count * 3 + count / 2 { try numbers.delete(number) }
    }
    try store.checkpoint()
    for _ in 0..<6 {
      try store.write { transaction in
        let numbers = try transaction.keyspace("numbers")
        for _ in 0..<count / 20 {
          try numbers.put(generator.below(count), generator.bytes(40))
        }
        let names = try transaction.keyspace("names")
        try names.put("key\(generator.below(count))", generator.bytes(30))
        try transaction.keyspace("large").put(generator.below(3), generator.bytes(7000))
      }
    }
  }

  private mutating func record(_ snapshot: Snapshot) throws {
    let view = snapshot.state.view
    generation = snapshot.state.point.frame
    var names: [TreeID: String] = [:]
    for (name, row) in try Catalog.rows(in: view) {
      names[row.root.tree] = name
      trees[name] = row.root.tree
    }
    for name in trees.keys {
      try snapshot.keyspace(name)?.forEach { key, value in
        contents[SalvageEntry(keyspace: name, key: key.array)] = value.array
        return true
      }
    }
    let used = UsedPages(view: view, geometry: geometry)
    for page in 0..<view.pageCount {
      guard try used.contains(page) else {
        if let old = try? view.page(page) {
          if old.bytes.load8(PageLayout.kind.offset) == PageKind.leaf.rawValue {
            staleLeafCount += 1
          }
          view.release(old)
        }
        continue
      }
      frames[page] = snapshot.state.index.frame(of: page)
      let reference = try view.page(page)
      defer { view.release(reference) }
      let kind = try #require(PageKind(rawValue: reference.bytes.load8(PageLayout.kind.offset)))
      pages[kind, default: []].append(page)
      if kind == .branch { levels[page] = Int(reference.bytes.load8(PageLayout.level.offset)) }
      let tree = reference.bytes.load32(PageLayout.tree.offset)
      guard kind == .leaf, let name = names[tree] else { continue }
      try record(NodeView(reference.bytes), page, tree, name, view)
    }
  }

  private mutating func record(
    _ node: NodeView, _ page: PageNumber, _ tree: TreeID, _ name: String, _ view: PageView
  ) throws {
    let block = ByteBlock(count: 2048, alignment: 16)
    defer { block.keep() }
    for slot in 0..<node.count {
      let key = node.copyKey(slot, to: block.bytes).copied()
      var location = Location(leaf: page)
      if node.isOverflow(slot) {
        let reference = try OverflowReference(node.value(slot), in: view)
        try Overflow(view: view, tree: tree).forEachPage(reference) {
          location.overflowPages.insert($0)
        }
      }
      locations[SalvageEntry(keyspace: name, key: key)] = location
    }
  }

  // MARK: Damage

  var usedPages: [PageNumber] { pages.values.joined().sorted() }

  /// Returns whether the newest version of a page is in the page file.
  func isInPageFile(_ page: PageNumber) -> Bool { frames[page] == 0 }

  /// Destroys every copy of the newest version of pages, and leaves older versions of them in the
  /// page file.
  mutating func destroy(_ pages: Set<PageNumber>, _ generator: inout SeededGenerator) {
    for page in pages.sorted() {
      let offset = Int(geometry.offset(ofPage: page))
      let stored = storedFrame(at: offset)
      let frame = frames[page] == 0 ? stored : frames[page] ?? 0
      if stored == frame { overwrite("pages", offset, geometry.pageByteCount, &generator) }
      overwrite(
        geometry.segmentName(geometry.segment(of: frame)), Int(geometry.offset(of: frame)),
        geometry.pageByteCount, &generator)
    }
  }

  /// Destroys the pages in the page file that are also in the log, and returns their number.
  mutating func destroyCopies(_ generator: inout SeededGenerator) -> Int {
    var count = 0
    for page in usedPages {
      let offset = Int(geometry.offset(ofPage: page))
      let frame = storedFrame(at: offset)
      guard frame != 0, files[geometry.segmentName(geometry.segment(of: frame))] != nil
      else { continue }
      overwrite("pages", offset, geometry.pageByteCount, &generator)
      count += 1
    }
    return count
  }

  /// Returns the frame in the header of a page in the page file, or 0 if there is no page.
  private func storedFrame(at offset: Int) -> FrameNumber {
    guard let bytes = files["pages"], offset + 16 <= bytes.count else { return 0 }
    return bytes.withBytes { $0.load64(offset + PageLayout.frame.offset) }
  }

  /// Overwrites bytes with zeros, random bytes or a single flipped bit.
  mutating func overwrite(
    _ name: String, _ offset: Int, _ count: Int, _ generator: inout SeededGenerator
  ) {
    guard var bytes = files[name], offset < bytes.count else { return }
    let end = min(offset + count, bytes.count)
    switch generator.below(3) {
    case 0: for index in offset..<end { bytes[index] = 0 }
    case 1: bytes.replaceSubrange(offset..<end, with: generator.bytes(end - offset))
    default:
      // Every bit in the first half of a page is part of a field, a key or a value.
      bytes[offset + generator.below(min(24, end - offset))] ^= 1 << UInt8(generator.below(8))
    }
    files[name] = bytes
  }

  mutating func remove(_ name: String) { files[name] = nil }
  mutating func cut(_ name: String, to count: Int) {
    files[name] = Array((files[name] ?? []).prefix(count))
  }

  // MARK: Salvage

  /// Salvages the damaged files, verifies the new store, and returns its contents.
  ///
  /// Expects that the damaged files have not changed.
  func salvaged() throws -> (report: SalvageReport, contents: [SalvageEntry: [UInt8]]) {
    let disk = MemoryFileSystem()
    let broken = StoreFixture.on(disk)
    for (name, bytes) in files { try broken.write(bytes, to: name) }
    let report = try StoreSalvage(of: Self.path, to: "/new", on: disk).run()
    let after = try broken.allBytes()
    #expect(after == files, "the damaged store has changed")
    var options = broken.options
    options.pageByteCount = 4096
    let store = try Store(at: "/new", options: options, fileSystem: disk)
    #expect(try store.verify().findings == [])
    let contents = try Self.entries(of: store)
    try store.close()
    return (report, contents)
  }

  /// Returns the entries of the newest generation of a store.
  static func entries(of store: Store) throws -> [SalvageEntry: [UInt8]] {
    var contents: [SalvageEntry: [UInt8]] = [:]
    let snapshot = try store.snapshot()
    for name in try snapshot.keyspaceNames {
      try snapshot.keyspace(name)?.forEach { key, value in
        contents[SalvageEntry(keyspace: name, key: key.array)] = value.array
        return true
      }
    }
    return contents
  }
}

extension RawSpan {
  fileprivate var array: [UInt8] { withUnsafeBytes { Array($0) } }
}
