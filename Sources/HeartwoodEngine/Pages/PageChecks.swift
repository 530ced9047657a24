/// Finds what is wrong with the structure of a page whose hash is right; `nil` if nothing is.
///
/// Supplied from above: this layer knows which page it asked for, the tree knows what it may hold.
package typealias StructureCheck = @Sendable (Bytes) -> String?

/// What is verified once, when a page enters this process, and again before it leaves.
package enum PageChecks {
  /// The hash a page with these bytes must carry.
  package static func hash(_ page: Bytes, seed: UInt64) -> UInt64 {
    XXH64.hash(page.slice(8, page.count - 8), seed: seed)
  }

  /// Whether the bytes are what was written as this page; the age is checked by the caller.
  package static func verify(
    _ bytes: Bytes, page: PageNumber, seed: UInt64, file: String, structure: StructureCheck
  ) throws(StorageError) {
    guard hash(bytes, seed: seed) == bytes.load64(PageLayout.hash.offset) else {
      throw .corrupt("The bytes of the page do not match its hash.", file: file, page: page)
    }
    let found = bytes.load32(PageLayout.page.offset)
    guard found == page else {
      throw .corrupt("Page \(found) lies where another should be.", file: file, page: page)
    }
    // Every bit pattern is a possible bitmap.
    if bytes.load8(PageLayout.kind.offset) == PageKind.bitmap.rawValue { return }
    if let finding = structure(bytes) { throw .corrupt(finding, file: file, page: page) }
  }

  /// Fills in frame and hash of a page that is about to be written to the log.
  package static func seal(_ page: MutableBytes, frame: FrameNumber, seed: UInt64) -> UInt64 {
    page.store64(frame, PageLayout.frame.offset)
    let hash = hash(page.bytes, seed: seed)
    page.store64(hash, PageLayout.hash.offset)
    return hash
  }
}
