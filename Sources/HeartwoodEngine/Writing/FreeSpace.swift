/// An allocator for the pages of a transaction.
///
/// The allocator uses the lowest free page first, so that pages at the end of the page file become
/// free.
struct FreeSpace {
  private let pageByteCount: Int
  private let pagesPerBitmap: Int
  /// The page number at which the search for a free page starts.
  ///
  /// No page with a lower number is free.
  private(set) var lowestFree: PageNumber
  /// A Boolean value that indicates whether the transaction has freed any pages.
  ///
  /// If so, the last page may now be free.
  private var hasFreed = false
  /// The number of pages allocated minus the number of pages freed.
  private(set) var growth = 0

  init(pageByteCount: Int, lowestFree: PageNumber) {
    self.pageByteCount = pageByteCount
    self.lowestFree = lowestFree
    pagesPerBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: pageByteCount)
  }

  /// Allocates the lowest free page, or extends the page file if no page is free.
  mutating func allocate(_ pages: WorkingPages) throws(StorageError) -> PageNumber {
    while true {
      let bitmap = Int(lowestFree) / pagesPerBitmap
      let bitmapPage = bitmap * pagesPerBitmap
      guard UInt64(bitmapPage) + UInt64(pagesPerBitmap) < Limits.maxPageCount else {
        throw StorageError(
          .diskFull,
          "The store has reached the maximum number of pages. Delete data to free pages.")
      }
      if bitmapPage >= Int(pages.pageCount) { try makeBitmap(PageNumber(bitmapPage), pages) }
      let reference = try pages.view.bitmap(PageNumber(bitmapPage))
      let first = Int(lowestFree) - bitmapPage
      let found = Bitmap.first(false, in: reference.bytes, from: first, count: pagesPerBitmap)
      pages.view.release(reference)
      guard let found else {
        lowestFree = PageNumber(bitmapPage + pagesPerBitmap)
        continue
      }
      let number = PageNumber(bitmapPage + found)
      try setBit(found, of: PageNumber(bitmapPage), to: true, pages)
      lowestFree = number + 1
      growth += 1
      return number
    }
  }

  mutating func free(_ number: PageNumber, _ pages: WorkingPages) throws(StorageError) {
    let bitmapPage = Int(number) / pagesPerBitmap * pagesPerBitmap
    guard number < pages.pageCount, Int(number) != bitmapPage else {
      throw .corrupt(
        "The store is corrupt: it refers to a page that cannot be freed. Restore a backup.",
        page: number)
    }
    let reference = try pages.view.bitmap(PageNumber(bitmapPage))
    let isUsed = Bitmap.bit(Int(number) - bitmapPage, in: reference.bytes)
    pages.view.release(reference)
    guard isUsed else {
      throw .corrupt(
        "The store is corrupt: a page to be freed is already free. Restore a backup.",
        page: number)
    }
    try setBit(Int(number) - bitmapPage, of: PageNumber(bitmapPage), to: false, pages)
    lowestFree = min(lowestFree, number)
    hasFreed = true
    growth -= 1
  }

  /// Removes the free pages at the end of the page file.
  ///
  /// The method also removes a bitmap at the end of the file if the bitmap covers no other page in
  /// use.
  ///
  /// - Parameter always: Whether to check for free pages even if this transaction has freed
  ///   nothing.
  /// - Complexity: Reads one page, and one more for each bitmap whose pages are removed. Reads no
  ///   pages if there is nothing to check.
  mutating func cutTail(_ pages: WorkingPages, always: Bool) throws(StorageError) {
    guard hasFreed || always, pages.pageCount > 0 else { return }
    var pageCount = Int(pages.pageCount)
    while true {
      let bitmapPage = (pageCount - 1) / pagesPerBitmap * pagesPerBitmap
      let reference = try pages.view.bitmap(PageNumber(bitmapPage))
      // If the result is 0, no page except the bitmap itself is in use.
      let last = Bitmap.lastOne(in: reference.bytes, below: pageCount - bitmapPage) ?? 0
      pages.view.release(reference)
      pageCount = bitmapPage + last + 1
      guard last == 0, bitmapPage > 0 else { break }
      pages.forget(PageNumber(bitmapPage))
      pageCount = bitmapPage
    }
    pages.cut(to: PageNumber(pageCount))
    lowestFree = min(lowestFree, PageNumber(pageCount))
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
}
