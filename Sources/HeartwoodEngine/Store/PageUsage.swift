/// The type and fill level of one page of a generation.
public struct PageUsage: Hashable, Sendable {
  /// The type of a page.
  public enum Kind: UInt8, CaseIterable, Sendable {
    /// An unused page, which a commit may allocate.
    case free
    /// A bitmap with one bit for each page in a range of the page file.
    ///
    /// A set bit means that the page is in use.
    case bitmap
    /// Keys and references to child pages.
    case branch
    /// Keys and values.
    case leaf
    /// Bytes of a value that is too large for a leaf.
    case overflow
    /// The page numbers of a value's overflow pages.
    case overflowIndex
    /// A page in use whose bytes are corrupt or cannot be read.
    case damaged
  }

  /// The type of the page.
  public var kind: Kind
  /// The number of used bytes in the page, including its header.
  ///
  /// The number is 0 for a free or damaged page, and the page size for a bitmap.
  public var usedByteCount: UInt32

  /// Creates a description of a page of the given type.
  public init(_ kind: Kind, usedByteCount: UInt32) {
    self.kind = kind
    self.usedByteCount = usedByteCount
  }

  /// Creates a description of a verified page that is in use.
  fileprivate init(of page: Bytes) {
    let byteCount: Int
    switch PageKind(rawValue: page.load8(PageLayout.kind.offset)) {
    case .leaf, .branch:
      kind = NodeView(page).isLeaf ? .leaf : .branch
      byteCount = NodeLayout.prefixOffset + NodeView(page).usedByteCount
    case .bitmap:
      kind = .bitmap
      byteCount = page.count
    case .overflow:
      kind = .overflow
      byteCount =
        OverflowLayout.contentOffset + Int(page.load32(OverflowLayout.payloadCount.offset))
    case .overflowIndex:
      kind = .overflowIndex
      byteCount =
        OverflowLayout.contentOffset + 4 * Int(page.load32(OverflowLayout.indexCount.offset))
    case nil:
      kind = .damaged
      byteCount = 0
    }
    usedByteCount = UInt32(clamping: byteCount)
  }
}

extension Store {
  /// Returns the type and fill level of every page of one generation.
  ///
  /// The result includes damaged pages, which do not cause an error. This method does not check
  /// that every page in use belongs to a tree. For that check, call ``verify()``.
  ///
  /// - Parameter snapshot: A snapshot of this store.
  /// - Returns: One 8-byte element for each page, in page order.
  /// - Throws: `corrupt` if a bitmap is corrupt, because the pages in use are then unknown. Throws
  ///   `foreignStore` if the snapshot belongs to another store, or `closed` or `io`.
  /// - Complexity: Reads every page in use once, and no free pages.
  public func pageUsage(of snapshot: Snapshot) throws -> [PageUsage] {
    try requireOpen()
    try require(snapshot)
    defer { withExtendedLifetime(snapshot) {} }
    let view = snapshot.state.view
    let used = UsedPages(view: view, geometry: files.geometry)
    return try (0..<view.pageCount).map { number throws(StorageError) in
      guard try used.contains(number) else { return PageUsage(.free, usedByteCount: 0) }
      do throws(StorageError) {
        let reference = try view.page(number)
        defer { view.release(reference) }
        return PageUsage(of: reference.bytes)
      } catch {
        guard error.kind == .corrupt else { throw error }
        return PageUsage(.damaged, usedByteCount: 0)
      }
    }
  }

  /// Returns the number of pages that belong to each keyspace of one generation.
  ///
  /// Damaged pages are not counted.
  ///
  /// - Throws: `corrupt` if a bitmap or the catalog is corrupt, or `foreignStore`, `closed` or
  ///   `io`.
  /// - Complexity: Reads every page in use once.
  package func pageCounts(of snapshot: Snapshot) throws -> [String: Int] {
    try requireOpen()
    try require(snapshot)
    defer { withExtendedLifetime(snapshot) {} }
    let view = snapshot.state.view
    let used = UsedPages(view: view, geometry: files.geometry)
    var counts: [TreeID: Int] = [:]
    for number in 0..<view.pageCount where try used.contains(number) {
      guard let reference = try? view.page(number) else { continue }
      if PageKind(rawValue: reference.bytes.load8(PageLayout.kind.offset)) != .bitmap {
        counts[reference.bytes.load32(PageLayout.tree.offset), default: 0] += 1
      }
      view.release(reference)
    }
    let rows = try Catalog.rows(in: view)
    return Dictionary(rows.map { ($0.name, counts[$0.row.root.tree] ?? 0) }) { $0 + $1 }
  }
}
