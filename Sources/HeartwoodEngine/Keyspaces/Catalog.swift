/// The layout of a catalog row, which describes one keyspace.
package enum CatalogLayout {
  package static let tree = Field("tree", at: 0, 4)
  package static let root = Field("root", at: 4, 4)
  package static let count = Field("count", at: 8, 8)
  package static let reserved = Field("reserved", at: 16, 8)
  package static let fields = [tree, root, count, reserved]
  package static let byteCount = 24
}

/// The tree that maps the names of keyspaces to their roots and entry counts.
///
/// The root of the catalog is page 1 in every store that has been written to. Under the key `nil`,
/// the catalog stores the next tree number in four bytes. Tree numbers are therefore never reused.
package enum Catalog {
  package static let root = TreeRoot(tree: 0, page: 1)

  /// The root and the entry count of a keyspace.
  package struct Row: Hashable {
    package var root: TreeRoot
    package var count: UInt64
  }

  package static func row(_ name: String, in view: PageView) throws(StorageError) -> Row? {
    try value(of: name, in: view, decode)
  }

  /// Returns the names and rows of all keyspaces, sorted by name.
  package static func rows(in view: PageView) throws(StorageError) -> [(name: String, row: Row)] {
    guard view.pageCount > 0 else { return [] }
    var rows: [(String, Row)] = []
    let cursor = TreeCursor(view: view, root: root)
    var isValid = try cursor.moveToFirst()
    while isValid {
      if let name = try name(of: cursor.key), let value = try cursor.value() {
        rows.append((name, try decode(value.value)))
      }
      isValid = try cursor.moveToNext()
    }
    return rows
  }

  package static func nextTree(in view: PageView) throws(StorageError) -> TreeID {
    try value(of: nextTreeKey, in: view) { value throws(StorageError) in
      guard value.count == 4, value.load32(0) > root.tree else { throw damaged }
      return value.load32(0)
    } ?? root.tree + 1
  }

  @inline(__always)
  private static func value<R>(
    of key: some LookupKey, in view: PageView, _ decode: (Bytes) throws(StorageError) -> R
  ) throws(StorageError) -> R? {
    guard view.pageCount > 0 else { return nil }
    return try withSearchBytes(key) { key throws(StorageError) -> R? in
      guard let found = try TreeReader(view: view, root: root).find(SearchKey(key)) else {
        return nil
      }
      defer { view.release(found.reference) }
      return try decode(found.value)
    }
  }

  package static let nextTreeKey = Key(Optional<Int>.none)

  package static func set(
    _ key: some LookupKey, to value: Bytes, in pages: WorkingPages
  ) throws(StorageError) {
    try withSearchBytes(key) { key throws(StorageError) in
      _ = try TreeWriter(pages: pages, root: root).put(SearchKey(key), value)
    }
  }

  package static func set(
    _ row: Row, of name: String, in pages: WorkingPages
  ) throws(StorageError) {
    try encode(row).withBytes { value throws(StorageError) in try set(name, to: value, in: pages) }
  }

  package static func encode(_ row: Row) -> [UInt8] {
    let block = ByteBlock(count: CatalogLayout.byteCount)
    defer { block.keep() }
    block.bytes.store32(row.root.tree, CatalogLayout.tree.offset)
    block.bytes.store32(row.root.page, CatalogLayout.root.offset)
    block.bytes.store64(row.count, CatalogLayout.count.offset)
    return block.bytes.bytes.copied()
  }

  package static func decode(_ bytes: Bytes) throws(StorageError) -> Row {
    guard bytes.count == CatalogLayout.byteCount,
      bytes.load32(CatalogLayout.tree.offset) > root.tree,
      bytes.load64(CatalogLayout.count.offset) <= Limits.maxEntryCount
    else { throw damaged }
    return Row(
      root: TreeRoot(
        tree: bytes.load32(CatalogLayout.tree.offset),
        page: bytes.load32(CatalogLayout.root.offset)),
      count: bytes.load64(CatalogLayout.count.offset))
  }

  /// Returns the name that a catalog key encodes, or `nil` if the key is the one under which the
  /// next tree number is stored.
  package static func name(of key: Bytes) throws(StorageError) -> String? {
    if nextTreeKey.bytes.withBytes({ key.equals($0) }) { return nil }
    do {
      var decoder = KeyDecoder(key)
      let name = try decoder.decodeString()
      try decoder.finish()
      return name
    } catch {
      // `invalidArgument` means that the key is well formed but is not a single string. Every key
      // here must be a name, so the data is damaged.
      throw error.kind == .invalidArgument ? damaged : error
    }
  }

  private static let damaged = StorageError.corrupt(
    "The store is corrupt: a row of its catalog is invalid. Restore a backup.")
}
