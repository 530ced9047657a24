/// A reader for the large values of one tree, in one state of the store.
package struct Overflow {
  package let view: PageView
  package let tree: TreeID

  package init(view: PageView, tree: TreeID) {
    self.view = view
    self.tree = tree
  }

  /// Returns a value that fits in one page, without copying it, or `nil` if the value spans several
  /// pages.
  ///
  /// The caller must release the page.
  package func inPlace(_ reference: OverflowReference) throws(StorageError) -> FoundValue? {
    guard reference.depth == 0 else { return nil }
    let page = try content(reference, 0, count: 1)
    return FoundValue(
      value: page.bytes.slice(OverflowLayout.contentOffset, reference.length), isOverflow: false,
      reference: page)
  }

  /// Calls `body` with the bytes of a range of the value, in consecutive chunks.
  ///
  /// - Throws: `invalidArgument` if the range extends past the end of the value.
  package func read(
    _ reference: OverflowReference, from offset: Int, count: Int,
    _ body: (Bytes) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard offset >= 0, count >= 0, offset <= reference.length, count <= reference.length - offset
    else {
      throw StorageError(
        .invalidArgument,
        "The range of \(count) bytes at offset \(offset) extends past the end of the value, which "
          + "is \(reference.length) bytes long. Use a range within the value.")
    }
    guard count > 0 else { return }
    let capacity = OverflowLayout.payloadCapacity(pageByteCount: view.pageByteCount)
    let pageCount = pageCount(of: reference)
    for index in offset / capacity...(offset + count - 1) / capacity {
      let start = max(offset, index * capacity)
      let end = min(offset + count, (index + 1) * capacity)
      let page = try content(reference, index, count: pageCount)
      let chunk = page.bytes.slice(
        OverflowLayout.contentOffset + start - index * capacity, end - start)
      do throws(StorageError) {
        try body(chunk)
      } catch {
        view.release(page)
        throw error
      }
      view.release(page)
    }
  }

  /// Calls `body` with all bytes of the value, in consecutive chunks, and then checks the value's
  /// hash.
  package func forEachChunk(
    _ reference: OverflowReference, _ body: (Bytes) throws(StorageError) -> Void
  ) throws(StorageError) {
    var hash = XXH64(seed: 0)
    try read(reference, from: 0, count: reference.length) { chunk throws(StorageError) in
      hash.update(chunk)
      try body(chunk)
    }
    guard hash.finish() == reference.hash else {
      throw .corrupt(
        "The store is corrupt: the contents of a large value do not match its hash. Restore a "
          + "backup.", page: reference.root)
    }
  }

  /// Returns a copy of the complete value, after checking its hash.
  package func copy(_ reference: OverflowReference) throws(StorageError) -> ByteBlock {
    let block = ByteBlock(count: reference.length, alignment: 16)
    var end = 0
    try forEachChunk(reference) { chunk throws(StorageError) in
      block.bytes.copy(chunk, to: end)
      end += chunk.count
    }
    return block
  }

  /// Checks every page and the hash of a value, without copying the value.
  package func verify(_ reference: OverflowReference) throws(StorageError) {
    try forEachChunk(reference) { _ throws(StorageError) in }
  }

  /// Calls `body` with the number of each page of the value.
  ///
  /// The method passes an index page to `body` only after all pages that the index page lists, so
  /// `body` may free each page immediately.
  package func forEachPage(
    _ reference: OverflowReference, _ body: (PageNumber) throws(StorageError) -> Void
  ) throws(StorageError) {
    let pageCount = pageCount(of: reference)
    let fanout = OverflowLayout.indexCapacity(pageByteCount: view.pageByteCount)
    for index in 0..<pageCount {
      try body(number(reference, index, count: pageCount))
      guard reference.depth == 2, (index + 1) % fanout == 0 || index + 1 == pageCount else {
        continue
      }
      try body(
        entry(
          index / fanout, of: reference.root, level: 2,
          count: (pageCount + fanout - 1) / fanout))
    }
    if reference.depth > 0 { try body(reference.root) }
  }

  // MARK: Pages

  private func pageCount(of reference: OverflowReference) -> Int {
    OverflowLayout.pageCount(length: reference.length, pageByteCount: view.pageByteCount)
  }

  /// Returns the page at `index` in the value.
  ///
  /// The caller must release the page.
  private func content(
    _ reference: OverflowReference, _ index: Int, count: Int
  ) throws(StorageError) -> PageReference {
    let number = try number(reference, index, count: count)
    let page = try view.page(number, .overflow, tree: tree, level: 0)
    let capacity = OverflowLayout.payloadCapacity(pageByteCount: view.pageByteCount)
    let expected = index + 1 == count ? reference.length - index * capacity : capacity
    guard Int(page.bytes.load32(OverflowLayout.payloadCount.offset)) == expected else {
      view.release(page)
      throw .corrupt(
        "The store is corrupt: a page of a large value contains the wrong number of bytes. Restore "
          + "a backup.",
        page: number)
    }
    return page
  }

  private func number(
    _ reference: OverflowReference, _ index: Int, count: Int
  ) throws(StorageError) -> PageNumber {
    if reference.depth == 0 { return reference.root }
    if reference.depth == 1 { return try entry(index, of: reference.root, level: 1, count: count) }
    let fanout = OverflowLayout.indexCapacity(pageByteCount: view.pageByteCount)
    let part = index / fanout
    let inner = try entry(part, of: reference.root, level: 2, count: (count + fanout - 1) / fanout)
    return try entry(index % fanout, of: inner, level: 1, count: min(fanout, count - part * fanout))
  }

  /// Returns the page number at `index` in an index page that must contain `count` page numbers.
  private func entry(
    _ index: Int, of number: PageNumber, level: Int, count: Int
  ) throws(StorageError) -> PageNumber {
    let page = try view.page(number, .overflowIndex, tree: tree, level: level)
    defer { view.release(page) }
    guard Int(page.bytes.load32(OverflowLayout.indexCount.offset)) == count else {
      throw .corrupt(
        "The store is corrupt: an index page of a large value lists the wrong number of pages. "
          + "Restore a backup.",
        page: number)
    }
    return page.bytes.load32(OverflowLayout.contentOffset + index * 4)
  }
}
