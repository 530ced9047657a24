/// The page file: two header slots, then pages.
///
/// Mapped in windows that are made when first needed and never move, so that a pointer into one
/// stays right while the store is open. Thread-safe; `lock` guards the making of windows.
package final class PageFile: @unchecked Sendable {
  // @unchecked because `windows` is filled under `lock` and read through `window(_:)` only.
  package let file: any File
  package let geometry: Geometry
  private let isMapped: Bool
  private let lock = Lock()
  private var windows: [Window] = []

  /// One mapped stretch of the page file.
  package struct Window {
    let mapping: Mapping
    let bits: VerifiedBits
    var region: PageRegion {
      PageRegion(pages: mapping.bytes.bytes.base, verified: bits.words)
    }
  }

  /// Bytes in a window: large enough that few are needed, small enough for any address space.
  package static let windowByteCount = 1 << 30

  package init(file: any File, geometry: Geometry, isMapped: Bool) {
    self.file = file
    self.geometry = geometry
    self.isMapped = isMapped
  }

  /// The binary logarithm of the number of pages in a window.
  package var windowShift: Int { Self.windowByteCount.trailingZeroBitCount - geometry.pageShift }

  /// The windows that cover `pageCount` pages, made if they are missing.
  package func regions(covering pageCount: PageNumber) throws(StorageError) -> [PageRegion] {
    guard isMapped else { return [] }
    let needed = (Int(pageCount) + (1 << windowShift) - 1) >> windowShift
    return try lock.withLock { () throws(StorageError) in
      while windows.count < needed {
        let offset = Geometry.firstPageOffset + UInt64(windows.count * Self.windowByteCount)
        guard let mapping = try file.map(offset, byteCount: Self.windowByteCount) else { break }
        windows.append(
          Window(mapping: mapping, bits: VerifiedBits(pageCount: 1 << windowShift)))
      }
      return windows.map(\.region)
    }
  }

  /// Forgets that a page was verified: its bytes are about to change.
  package func clearVerified(_ page: PageNumber) {
    lock.withLock {
      let window = Int(page) >> windowShift
      guard window < windows.count else { return }
      windows[window].region.clearVerified(Int(page) & ((1 << windowShift) - 1))
    }
  }

  /// Reads a page's bytes; pages past the end of the file read short.
  package func read(_ page: PageNumber, into target: MutableBytes) throws(StorageError) -> Int {
    try file.read(into: target, at: geometry.offset(ofPage: page))
  }
}
