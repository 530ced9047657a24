import HeartwoodEngine
import HeartwoodTestSupport

extension FuzzTarget {
  /// Pages of trees with correct hashes, namely nodes and pages of large values.
  ///
  /// An input starts with a byte count and that number of bytes, which follow the page number. The
  /// remaining bytes of the input are at the end of the page. All other bytes are zero.
  static let page = FuzzTarget("page", maxByteCount: 4096, seeds: pageInputs) { bytes in
    var input = FuzzInput(bytes)
    let edits = input.byte()
    let block = ByteBlock(count: pageByteCount)
    defer { block.keep() }
    let page = block.bytes
    page.copy(input.bytes(min(input.number(), pageByteCount - pageStart)), to: pageStart)
    let end = input.bytes(pageByteCount - pageStart)
    page.copy(end, to: pageByteCount - end.count)
    page.store32(pageNumber, PageLayout.page.offset)
    _ = PageChecks.stamp(page, frame: 9, seed: fuzzedStore.seed)
    try PageChecks.verify(
      page.bytes, page: pageNumber, seed: fuzzedStore.seed, file: "pages",
      structure: NodeChecks.check)
    switch PageKind(rawValue: page.bytes.load8(PageLayout.kind.offset)) {
    case .leaf, .branch:
      return findingInEntries(of: NodeView(page.bytes)) ?? findingAfterEdits(page, edits)
    case .overflow:
      let count = Int(page.bytes.load32(OverflowLayout.payloadCount.offset))
      return page.bytes.slice(OverflowLayout.contentOffset, count).count == 0 ? "No bytes" : nil
    case .overflowIndex:
      let count = Int(page.bytes.load32(OverflowLayout.indexCount.offset))
      for index in 0..<count {
        _ = page.bytes.load32(OverflowLayout.contentOffset + index * 4)
      }
      return nil
    case .bitmap, nil: return nil
    }
  }

  private static let pageByteCount = 4096
  private static let pageNumber: PageNumber = 7
  private static let pageStart = PageLayout.tree.offset
  /// The length of a key and of the zeros after it.
  private static let keyByteCount = Limits.maxKeyByteCount + 16

  /// Reads all entries, and looks each of them up by its key.
  private static func findingInEntries(of node: NodeView) -> String? {
    MutableBytes.withStackBytes(count: keyByteCount) { first in
      MutableBytes.withStackBytes(count: keyByteCount) { second in
        let buffers = [first, second]
        var previous: Bytes?
        for index in (node.isLeaf ? 0 : 1)..<max(node.count, 1) where index < node.count {
          let key = node.copyKey(index, to: buffers[index & 1])
          if let previous, previous.compare(key) >= 0 { return "The keys are not in order." }
          previous = key
          if node.isLeaf {
            guard NodeSearch.leafSlot(node, SearchKey(key)) == (index, true) else {
              return "A search does not find entry \(index) of a leaf."
            }
            let value = node.value(index)
            if node.isOverflow(index), value.count != OverflowLayout.referenceByteCount {
              return "An overflow reference has \(value.count) bytes."
            }
          } else {
            guard NodeSearch.childSlot(node, SearchKey(key)) == index else {
              return "A search does not find child \(index) of a branch."
            }
            _ = node.child(index)
          }
        }
        return nil
      }
    }
  }

  /// Removes an entry and compacts the node.
  ///
  /// The node must then contain all other entries.
  private static func findingAfterEdits(_ page: MutableBytes, _ edits: UInt8) -> String? {
    let copy = ByteBlock(count: pageByteCount)
    defer { copy.keep() }
    copy.bytes.copy(page.bytes, to: 0)
    let editor = NodeEditor(copy.bytes)
    let count = editor.node.count
    let isRemoved = edits & 1 != 0 && count > 1
    if isRemoved { editor.remove(at: 1 + Int(edits >> 1) % (count - 1)) }
    editor.compact()
    if let finding = NodeChecks.check(copy.bytes.bytes) { return "After an edit: \(finding)" }
    return editor.node.count == count - (isRemoved ? 1 : 0) ? nil : "An edit lost entries."
  }

  @Sendable private static func pageInputs() throws -> [[UInt8]] {
    let images = SampleStore.all.map(\.image).filter { $0.pageByteCount == pageByteCount }
    return images.flatMap { image in
      image.names.flatMap { name in
        (image.files[name] ?? []).withBytes { file in
          (0..<file.count / pageByteCount).compactMap { index in
            pageInput(file.slice(index * pageByteCount, pageByteCount))
          }
        }
      }
    }
  }

  /// Returns the input for a page, or `nil` if the bytes are not a page of a tree.
  private static func pageInput(_ page: Bytes) -> [UInt8]? {
    let level = page.load8(PageLayout.level.offset)
    guard let kind = PageKind(rawValue: page.load8(PageLayout.kind.offset)),
      level <= Limits.maxTreeLevel, NodeChecks.check(page) == nil
    else { return nil }
    var start = OverflowLayout.contentOffset
    var end = page.count
    if kind == .leaf || kind == .branch {
      let node = NodeView(page)
      start = node.heads + node.count * node.entryByteCount
      end = node.heapStart
    } else if kind == .overflowIndex {
      start += Int(page.load32(OverflowLayout.indexCount.offset)) * 4
    }
    let count = start - pageStart
    return [0, UInt8(count & 0xFF), UInt8(count >> 8)] + page.slice(pageStart, count).copied()
      + page.slice(end, page.count - end).copied()
  }
}
