/// Describes a fault in the structure of a page whose hash is correct; `nil` if there is none.
///
/// The upper layers supply it: this layer knows which page it requested, the tree knows its
/// contents.
package typealias StructureCheck = @Sendable (Bytes) -> String?

/// The checks of a page, made once when it enters this process and again before it is written.
package enum PageChecks {
  /// Returns the hash that a page with these bytes must carry.
  package static func hash(_ page: Bytes, seed: UInt64) -> UInt64 {
    XXH64.hash(page.slice(8, page.count - 8), seed: seed)
  }

  /// Checks that the bytes were written as this page; the caller checks their age.
  package static func verify(
    _ bytes: Bytes, page: PageNumber, seed: UInt64, file: String, structure: StructureCheck
  ) throws(StorageError) {
    guard hash(bytes, seed: seed) == bytes.load64(PageLayout.hash.offset) else {
      throw .corrupt("The bytes of the page do not match its hash.", file: file, page: page)
    }
    let found = bytes.load32(PageLayout.page.offset)
    guard found == page else {
      throw .corrupt("Page \(found) is in the location of another page.", file: file, page: page)
    }
    // Every bit pattern is a valid bitmap.
    if bytes.load8(PageLayout.kind.offset) == PageKind.bitmap.rawValue { return }
    if let finding = structure(bytes) { throw .corrupt(finding, file: file, page: page) }
  }

  /// Stamps a page that is about to be written to the log with its frame and hash.
  package static func stamp(_ page: MutableBytes, frame: FrameNumber, seed: UInt64) -> UInt64 {
    page.store64(frame, PageLayout.frame.offset)
    let hash = hash(page.bytes, seed: seed)
    page.store64(hash, PageLayout.hash.offset)
    return hash
  }
}
