/// Which pages a transaction can take: the lowest free one first, so that the tail becomes free.
struct FreeSpace {
  private let pageByteCount: Int
  private let pagesPerBitmap: Int
  /// No page below it is free; pages above may be either.
  private(set) var lowestFree: PageNumber
  /// Whether pages were given back, so that the last one may be among them.
  private var hasFreed = false
  /// Pages taken minus pages given back.
  private(set) var growth = 0

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
      let reference = try Self.bitmap(PageNumber(bitmapPage), pages.view)
      let first = Int(lowestFree) - bitmapPage
      let found = Self.firstZero(in: reference.bytes, from: first, count: pagesPerBitmap)
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
    hasFreed = true
    growth -= 1
  }

  /// Ends the existence of the free pages behind the last one in use; bitmaps that tell of nothing
  /// but themselves go with them.
  ///
  /// - Parameter always: Looks even if this transaction has given back nothing.
  /// - Complexity: One page read if a page was given back, none if not; one more for each bitmap
  ///   whose pages go.
  mutating func cutTail(_ pages: WorkingPages, always: Bool) throws(StorageError) {
    guard hasFreed || always, pages.pageCount > 0 else { return }
    var pageCount = Int(pages.pageCount)
    while true {
      let bitmapPage = (pageCount - 1) / pagesPerBitmap * pagesPerBitmap
      let reference = try Self.bitmap(PageNumber(bitmapPage), pages.view)
      // The bitmap itself is in use, but not by anybody else.
      let last = Self.lastOne(in: reference.bytes, below: pageCount - bitmapPage) ?? 0
      pages.view.release(reference)
      pageCount = bitmapPage + last + 1
      guard last == 0, bitmapPage > 0 else { break }
      pages.forget(PageNumber(bitmapPage))
      pageCount = bitmapPage
    }
    pages.cut(to: PageNumber(pageCount))
    lowestFree = min(lowestFree, PageNumber(pageCount))
  }

  /// A bitmap page; the caller releases it.
  fileprivate static func bitmap(
    _ number: PageNumber, _ view: PageView
  ) throws(StorageError) -> PageReference {
    let reference = try view.page(number)
    guard reference.bytes.load8(PageLayout.kind.offset) == PageKind.bitmap.rawValue else {
      view.release(reference)
      throw .corrupt("A bitmap page is missing.", page: number)
    }
    return reference
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

  fileprivate static func firstOne(in bitmap: Bytes, from first: Int, count: Int) -> Int? {
    var position = first
    while position < count {
      if position % 64 == 0, position + 64 <= count,
        bitmap.load64(BitmapLayout.bits + position / 8) == 0
      {
        position += 64
      } else if bit(position, in: bitmap) {
        return position
      } else {
        position += 1
      }
    }
    return nil
  }

  fileprivate static func ones(in bitmap: Bytes, _ range: Range<Int>) -> Int {
    var count = 0
    var position = range.lowerBound
    while position < range.upperBound {
      if position % 64 == 0, position + 64 <= range.upperBound {
        count += bitmap.load64(BitmapLayout.bits + position / 8).nonzeroBitCount
        position += 64
      } else {
        if bit(position, in: bitmap) { count += 1 }
        position += 1
      }
    }
    return count
  }

  private static func lastOne(in bitmap: Bytes, below end: Int) -> Int? {
    var position = end
    while position > 0 {
      if position % 64 == 0, bitmap.load64(BitmapLayout.bits + position / 8 - 8) == 0 {
        position -= 64
      } else if bit(position - 1, in: bitmap) {
        return position - 1
      } else {
        position -= 1
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
    FreeSpace.bit(Int(page) % pagesPerBitmap, in: try bitmap(of: page))
  }

  /// The first page in use from `first` on.
  ///
  /// - Complexity: One page read for each bitmap.
  package func next(from first: PageNumber) throws(StorageError) -> PageNumber? {
    var page = Int(first)
    while page < Int(view.pageCount) {
      let start = page / pagesPerBitmap * pagesPerBitmap
      let end = min(pagesPerBitmap, Int(view.pageCount) - start)
      let found = FreeSpace.firstOne(
        in: try bitmap(of: PageNumber(page)), from: page - start, count: end)
      if let found { return PageNumber(start + found) }
      page = start + pagesPerBitmap
    }
    return nil
  }

  /// How many pages from `first` on are in use.
  ///
  /// - Complexity: One page read for each bitmap.
  package func count(from first: PageNumber = 0) throws(StorageError) -> Int {
    var count = 0
    var page = Int(first)
    while page < Int(view.pageCount) {
      let start = page / pagesPerBitmap * pagesPerBitmap
      let end = min(pagesPerBitmap, Int(view.pageCount) - start)
      count += FreeSpace.ones(in: try bitmap(of: PageNumber(page)), page - start..<end)
      page = start + pagesPerBitmap
    }
    return count
  }

  /// The least page count that has room for all pages in use, if they are moved together.
  ///
  /// - Complexity: One page read for each bitmap.
  package func leastPageCount() throws(StorageError) -> PageNumber {
    let bitmapCount = (Int(view.pageCount) + pagesPerBitmap - 1) / pagesPerBitmap
    let content = try count() - bitmapCount
    // Every bitmap takes one of the pages it tells of.
    let needed = (content + pagesPerBitmap - 2) / (pagesPerBitmap - 1)
    return PageNumber(clamping: content + max(needed, 1))
  }

  private func bitmap(of page: PageNumber) throws(StorageError) -> Bytes {
    let bitmap = Int(page) / pagesPerBitmap
    if let current, current.bitmap == bitmap { return current.reference.bytes }
    if let current { view.release(current.reference) }
    current = nil
    let reference = try FreeSpace.bitmap(PageNumber(bitmap * pagesPerBitmap), view)
    current = (bitmap, reference)
    return reference.bytes
  }
}
