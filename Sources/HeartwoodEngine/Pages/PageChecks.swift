/// A function that describes a fault in a page whose hash is correct, or returns `nil` if there is
/// no fault.
///
/// A higher layer provides the function, because this layer does not interpret the contents of
/// pages.
package typealias StructureCheck = @Sendable (Bytes) -> String?

/// Functions that verify a page when it is first read, and that stamp a page before it is written
/// to the log.
package enum PageChecks {
  package static func hash(_ page: Bytes, seed: UInt64) -> UInt64 {
    XXH64.hash(page.slice(8, page.count - 8), seed: seed)
  }

  /// Checks that the bytes are intact and belong to the page with the given number.
  ///
  /// This method does not check the frame number.
  package static func verify(
    _ bytes: Bytes, page: PageNumber, seed: UInt64, file: String, structure: StructureCheck
  ) throws(StorageError) {
    guard hash(bytes, seed: seed) == bytes.load64(PageLayout.hash.offset) else {
      throw .corrupt(
        "The page is corrupt: its contents do not match its hash. Restore a backup.",
        file: file, page: page)
    }
    let found = bytes.load32(PageLayout.page.offset)
    guard found == page else {
      throw .corrupt(
        "The page is corrupt: its header contains the wrong page number, \(found). Restore a "
          + "backup.",
        file: file, page: page)
    }
    // Do not check the structure of a bitmap page, because every bit pattern is valid.
    if bytes.load8(PageLayout.kind.offset) == PageKind.bitmap.rawValue { return }
    if let finding = structure(bytes) {
      throw .corrupt("The page is corrupt. \(finding) Restore a backup.", file: file, page: page)
    }
  }

  /// Stamps a page with its frame and hash before it is written to the log, and returns the hash.
  package static func stamp(_ page: MutableBytes, frame: FrameNumber, seed: UInt64) -> UInt64 {
    page.store64(frame, PageLayout.frame.offset)
    let hash = hash(page.bytes, seed: seed)
    page.store64(hash, PageLayout.hash.offset)
    return hash
  }
}
