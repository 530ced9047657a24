/// Writes one large value, whose length is known from the start, piece by piece.
package struct OverflowWriter {
  private let pages: WorkingPages
  private let tree: TreeID
  private let length: Int
  private let depth: Int
  private var hash = XXH64(seed: 0)
  private var written = 0
  private var root: PageNumber = 0
  private var page: MutableBytes?
  /// The index that takes the next page number, and the one above it.
  private var index: MutableBytes?
  private var upperIndex: MutableBytes?

  /// Begins a value of `length` bytes.
  package init(pages: WorkingPages, tree: TreeID, length: Int) throws(StorageError) {
    guard length <= Limits.maxValueByteCount else {
      throw StorageError(
        .tooLarge,
        "The value has \(length) bytes; the limit is \(Limits.maxValueByteCount).")
    }
    guard length > 0 else {
      throw StorageError(.invalidArgument, "An empty value needs no overflow pages.")
    }
    self.pages = pages
    self.tree = tree
    self.length = length
    let pageSize = pages.view.pageSize
    depth = OverflowLayout.depth(
      pageCount: OverflowLayout.pageCount(length: length, pageSize: pageSize), pageSize: pageSize)
    if depth > 0 {
      root = try pages.allocate(.overflowIndex, tree: tree, level: UInt8(depth))
      let top = try pages.writable(root)
      if depth == 2 { upperIndex = top } else { index = top }
    }
  }

  /// Appends the next bytes of the value.
  package mutating func append(_ piece: Bytes) throws(StorageError) {
    guard piece.count <= length - written else {
      throw StorageError(.invalidArgument, "More bytes were given than the \(length) announced.")
    }
    hash.update(piece)
    let capacity = OverflowLayout.payloadCapacity(pageSize: pages.view.pageSize)
    var offset = 0
    while offset < piece.count {
      let place = written % capacity
      let target: MutableBytes
      if place > 0, let page { target = page } else { target = try nextPage() }
      let step = min(capacity - place, piece.count - offset)
      target.copy(piece.slice(offset, step), to: OverflowLayout.contentOffset + place)
      target.store32(UInt32(place + step), OverflowLayout.payloadCount.offset)
      offset += step
      written += step
    }
  }

  /// Ends the value; the result belongs into a leaf.
  package mutating func finish() throws(StorageError) -> OverflowReference {
    guard written == length else {
      throw StorageError(
        .invalidArgument, "Only \(written) of the \(length) bytes announced were given.")
    }
    return OverflowReference(
      length: length, hash: hash.finish(), base: pages.base, root: root, depth: depth)
  }

  private mutating func nextPage() throws(StorageError) -> MutableBytes {
    let number = try pages.allocate(.overflow, tree: tree, level: 0)
    let next = try pages.writable(number)
    page = next
    if depth == 0 { root = number } else { try enter(number) }
    return next
  }

  /// Adds a page number to the index, which gets a successor when it is full.
  private mutating func enter(_ number: PageNumber) throws(StorageError) {
    let capacity = OverflowLayout.indexCapacity(pageSize: pages.view.pageSize)
    if let index, Self.count(of: index) < capacity {
      Self.append(number, to: index)
      return
    }
    let innerNumber = try pages.allocate(.overflowIndex, tree: tree, level: 1)
    let inner = try pages.writable(innerNumber)
    if let upperIndex { Self.append(innerNumber, to: upperIndex) }
    Self.append(number, to: inner)
    index = inner
  }

  private static func count(of index: MutableBytes) -> Int {
    Int(index.bytes.load32(OverflowLayout.indexCount.offset))
  }

  private static func append(_ number: PageNumber, to index: MutableBytes) {
    let count = count(of: index)
    index.store32(number, OverflowLayout.contentOffset + count * 4)
    index.store32(UInt32(count + 1), OverflowLayout.indexCount.offset)
  }
}
