/// The bytes of a bitmap page behind the common header: one bit for each page, set when in use.
///
/// Bitmap page *k* is page *k* × `pagesPerBitmap` and covers that many pages from itself on. Bits
/// of pages that do not exist are zero.
package enum BitmapLayout {
  package static let reserved = Field("reserved", at: 26, 6)
  package static let bits = 32
  package static let fields = [reserved]

  package static func pagesPerBitmap(pageByteCount: Int) -> Int { (pageByteCount - bits) * 8 }
}

/// Which pages a transaction can take: the lowest free one first, so that the tail becomes free.
struct FreeSpace {
  private let pageByteCount: Int
  private let pagesPerBitmap: Int
  /// No page below it is free; pages above may be either.
  private(set) var lowestFree: PageNumber

  init(pageByteCount: Int, lowestFree: PageNumber) {
    self.pageByteCount = pageByteCount
    self.lowestFree = lowestFree
    pagesPerBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: pageByteCount)
  }

  /// Marks the lowest free page as used and returns its number; the page file grows if none is
  /// free.
  mutating func take(_ pages: WorkingPages) throws(StorageError) -> PageNumber {
    while true {
      let bitmap = Int(lowestFree) / pagesPerBitmap
      let bitmapPage = bitmap * pagesPerBitmap
      guard UInt64(bitmapPage) + UInt64(pagesPerBitmap) < Limits.maxPageCount else {
        throw StorageError(.full, "The store has as many pages as page numbers can name.")
      }
      if bitmapPage >= Int(pages.pageCount) { try makeBitmap(PageNumber(bitmapPage), pages) }
      let reference = try pages.view.page(PageNumber(bitmapPage))
      let first = Int(lowestFree) - bitmapPage
      let found = Self.firstZero(in: reference.bytes, from: first, count: pagesPerBitmap)
      let isBitmap = reference.bytes.load8(PageLayout.kind.offset) == PageKind.bitmap.rawValue
      pages.view.release(reference)
      guard isBitmap else {
        throw .corrupt("A bitmap page is missing.", page: PageNumber(bitmapPage))
      }
      guard let found else {
        lowestFree = PageNumber(bitmapPage + pagesPerBitmap)
        continue
      }
      let number = PageNumber(bitmapPage + found)
      try setBit(found, of: PageNumber(bitmapPage), to: true, pages)
      lowestFree = number + 1
      return number
    }
  }

  /// Marks a page as free.
  mutating func giveBack(_ number: PageNumber, _ pages: WorkingPages) throws(StorageError) {
    let bitmapPage = Int(number) / pagesPerBitmap * pagesPerBitmap
    guard number < pages.pageCount, Int(number) != bitmapPage else {
      throw .corrupt("A page that cannot be freed is referred to.", page: number)
    }
    let reference = try pages.view.page(PageNumber(bitmapPage))
    let isUsed = Self.bit(Int(number) - bitmapPage, in: reference.bytes)
    pages.view.release(reference)
    guard isUsed else { throw .corrupt("A page is freed that is free already.", page: number) }
    try setBit(Int(number) - bitmapPage, of: PageNumber(bitmapPage), to: false, pages)
    lowestFree = min(lowestFree, number)
  }

  private func makeBitmap(_ number: PageNumber, _ pages: WorkingPages) throws(StorageError) {
    pages.makePage(number, .bitmap, tree: 0, level: 0)
    try setBit(0, of: number, to: true, pages)
  }

  private func setBit(
    _ bit: Int, of bitmapPage: PageNumber, to isUsed: Bool, _ pages: WorkingPages
  ) throws(StorageError) {
    let bytes = try pages.writable(bitmapPage)
    let offset = BitmapLayout.bits + bit / 8
    let mask = UInt8(1) << UInt8(bit % 8)
    let old = bytes.bytes.load8(offset)
    bytes.store8(isUsed ? old | mask : old & ~mask, offset)
  }

  /// Whether bit number `bit` of a bitmap page is set.
  static func bit(_ bit: Int, in bitmap: Bytes) -> Bool {
    bitmap.load8(BitmapLayout.bits + bit / 8) & (1 << UInt8(bit % 8)) != 0
  }

  private static func firstZero(in bitmap: Bytes, from first: Int, count: Int) -> Int? {
    var position = first
    while position < count {
      if position % 64 == 0, position + 64 <= count,
        bitmap.load64(BitmapLayout.bits + position / 8) == .max
      {
        position += 64
      } else if bit(position, in: bitmap) {
        position += 1
      } else {
        return position
      }
    }
    return nil
  }
}

/// Which pages a state uses, read from its bitmaps one after the other; the state outlives it.
package final class UsedPages {
  private let view: PageView
  private let pagesPerBitmap: Int
  private var current: (bitmap: Int, reference: PageReference)?

  package init(view: PageView, geometry: Geometry) {
    self.view = view
    pagesPerBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: geometry.pageByteCount)
  }

  deinit {
    if let current { view.release(current.reference) }
  }

  /// Whether the page is in use; cheap when asked in page order.
  package func contains(_ page: PageNumber) throws(StorageError) -> Bool {
    let bitmap = Int(page) / pagesPerBitmap
    if current?.bitmap != bitmap {
      if let current { view.release(current.reference) }
      current = nil
      let number = PageNumber(bitmap * pagesPerBitmap)
      let reference = try view.page(number)
      current = (bitmap, reference)
      guard reference.bytes.load8(PageLayout.kind.offset) == PageKind.bitmap.rawValue else {
        throw .corrupt("A bitmap page is missing.", page: number)
      }
    }
    guard let current else { return false }
    return FreeSpace.bit(Int(page) - bitmap * pagesPerBitmap, in: current.reference.bytes)
  }
}
