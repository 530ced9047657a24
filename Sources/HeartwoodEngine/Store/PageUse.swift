/// What one page of a generation holds, and how full it is.
public struct PageUse: Hashable, Sendable {
  /// What a page holds.
  public enum Kind: UInt8, CaseIterable, Sendable {
    /// Nothing: a commit may take it.
    case free
    /// One bit for each page of a stretch of the page file: in use or free.
    case bitmap
    /// Keys and the pages they lead to.
    case branch
    /// Keys and values.
    case leaf
    /// Bytes of a value too large for a leaf.
    case overflow
    /// The numbers of the pages of such a value.
    case overflowIndex
    /// It is in use, but its bytes are not what was written or cannot be read.
    case damaged
  }

  /// What the page holds.
  public var kind: Kind
  /// Bytes of the page in use, its header included; 0 for a free and for a damaged page.
  ///
  /// A bitmap counts as full.
  public var usedByteCount: UInt32

  /// Describes a page.
  public init(_ kind: Kind, usedByteCount: UInt32) {
    self.kind = kind
    self.usedByteCount = usedByteCount
  }

  /// Looks at a page that is in use and has been verified.
  fileprivate init(of page: Bytes) {
    let byteCount: Int
    switch PageKind(rawValue: page.load8(PageLayout.kind.offset)) {
    case .leaf:
      kind = .leaf
      byteCount = NodeLayout.prefixOffset + NodeView(page).usedByteCount
    case .branch:
      kind = .branch
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
  /// Looks at every page of one generation: what it holds, and how full it is.
  ///
  /// A damaged page is one of the answers and no error. Whether a page in use belongs to anything
  /// is for ``verify()`` to say.
  ///
  /// - Parameter snapshot: A snapshot of this store.
  /// - Returns: One element for each page, by page number; 8 bytes each.
  /// - Throws: `corrupt` if a bitmap is damaged, for then nobody knows which pages are in use;
  ///   `foreignStore` for a snapshot of another store; `closed` or `io`.
  /// - Complexity: Every page in use is read once; free ones are not.
  public func pageUse(of snapshot: Snapshot) throws -> [PageUse] {
    try requireOpen()
    guard snapshot.belongs(to: table) else {
      throw StorageError(
        .foreignStore, "The snapshot was taken from another store.", file: files.directory)
    }
    defer { withExtendedLifetime(snapshot) {} }
    let view = snapshot.state.view
    let used = UsedPages(view: view, geometry: files.geometry)
    return try (0..<view.pageCount).map { number throws(StorageError) in
      guard try used.contains(number) else { return PageUse(.free, usedByteCount: 0) }
      do throws(StorageError) {
        let reference = try view.page(number)
        defer { view.release(reference) }
        return PageUse(of: reference.bytes)
      } catch {
        guard error.kind == .corrupt else { throw error }
        return PageUse(.damaged, usedByteCount: 0)
      }
    }
  }
}
