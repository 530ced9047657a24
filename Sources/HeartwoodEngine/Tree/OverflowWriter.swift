/// A writer that stores one large value of a known length in chunks.
///
/// The writer keeps only page numbers, and looks up each page before writing to it. The transaction
/// can therefore spill pages between writes, so even a very long value needs little memory.
package struct OverflowWriter {
  private let pages: WorkingPages
  private let tree: TreeID
  private let length: Int
  private let depth: Int
  private var hash = XXH64(seed: 0)
  private var written = 0
  private var root: PageNumber = 0
  /// The most recently allocated page.
  ///
  /// The next bytes are written to this page unless it is full.
  private var page: PageNumber = 0
  /// The index page to which the next page number is added, or 0 if there is no index page yet.
  private var index: PageNumber = 0

  /// The number of bytes after which the transaction may spill its pages.
  ///
  /// The bytes passed to ``append(_:)`` may themselves be in a page of the transaction. This number
  /// is at least the size of a page, so those bytes are read completely before their page can be
  /// spilled.
  private static let stepByteCount = Limits.maxPageByteCount

  /// Creates a writer.
  ///
  /// The writer allocates no page until the first bytes are appended.
  package init(pages: WorkingPages, tree: TreeID, length: Int) throws(StorageError) {
    try Limits.requireValue(byteCount: length)
    guard length > 0 else {
      throw StorageError(
        .invalidArgument,
        "An empty value cannot be stored in overflow pages. Store the value in its leaf.")
    }
    self.pages = pages
    self.tree = tree
    self.length = length
    let pageByteCount = pages.view.pageByteCount
    depth = OverflowLayout.depth(
      pageCount: OverflowLayout.pageCount(length: length, pageByteCount: pageByteCount),
      pageByteCount: pageByteCount)
  }

  /// Appends the next bytes of the value.
  ///
  /// This method may spill pages of the transaction to the log.
  package mutating func append(_ chunk: Bytes) throws(StorageError) {
    guard chunk.count <= length - written else {
      throw StorageError(
        .invalidArgument,
        "The value is longer than declared: a chunk of \(chunk.count) bytes does not fit in the "
          + "remaining \(length - written) of \(length) bytes. Append no more bytes than declared.")
    }
    hash.update(chunk)
    var offset = 0
    while offset < chunk.count {
      let count = min(Self.stepByteCount, chunk.count - offset)
      try store(chunk.slice(offset, count))
      try pages.makeRoom()
      offset += count
    }
  }

  /// Completes the value, and returns the reference to store in a leaf.
  package func finish() throws(StorageError) -> OverflowReference {
    guard written == length else {
      throw StorageError(
        .invalidArgument,
        "The value ended after \(written) of the declared \(length) bytes. Append all declared "
          + "bytes before finishing the value.")
    }
    return reference
  }

  /// Frees the pages written so far.
  package func discard() throws(StorageError) {
    guard written > 0 else { return }
    let pages = pages
    try Overflow(view: pages.view, tree: tree).forEachPage(reference) {
      number throws(StorageError) in
      try pages.free(number)
    }
  }

  /// The reference to the bytes written so far, with the depth of the complete value.
  private var reference: OverflowReference {
    OverflowReference(
      length: written, hash: hash.finish(), base: pages.base, root: root, depth: depth)
  }

  private mutating func store(_ chunk: Bytes) throws(StorageError) {
    let capacity = OverflowLayout.payloadCapacity(pageByteCount: pages.view.pageByteCount)
    var offset = 0
    while offset < chunk.count {
      let start = written % capacity
      if start == 0 { try beginPage() }
      let target = try pages.writable(page)
      let count = min(capacity - start, chunk.count - offset)
      target.copy(chunk.slice(offset, count), to: OverflowLayout.contentOffset + start)
      target.store32(UInt32(start + count), OverflowLayout.payloadCount.offset)
      offset += count
      written += count
    }
  }

  private mutating func beginPage() throws(StorageError) {
    if written == 0, depth > 0 {
      // Do not allocate the index earlier, because an index without entries could be spilled to the
      // log, where it would be treated as corrupt.
      root = try pages.allocate(.overflowIndex, tree: tree, level: UInt8(depth))
      if depth == 1 { index = root }
    }
    page = try pages.allocate(.overflow, tree: tree, level: 0)
    if depth == 0 { root = page } else { try enter(page) }
  }

  /// Adds a page number to the index, starting a new index page if the current one is full.
  private mutating func enter(_ number: PageNumber) throws(StorageError) {
    let fanout = OverflowLayout.indexCapacity(pageByteCount: pages.view.pageByteCount)
    let capacity = OverflowLayout.payloadCapacity(pageByteCount: pages.view.pageByteCount)
    if depth == 2, written / capacity % fanout == 0 {
      index = try pages.allocate(.overflowIndex, tree: tree, level: 1)
      Self.append(index, to: try pages.writable(root))
    }
    Self.append(number, to: try pages.writable(index))
  }

  private static func append(_ number: PageNumber, to index: MutableBytes) {
    let count = Int(index.bytes.load32(OverflowLayout.indexCount.offset))
    index.store32(number, OverflowLayout.contentOffset + count * 4)
    index.store32(UInt32(count + 1), OverflowLayout.indexCount.offset)
  }
}
