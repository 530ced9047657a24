/// The set of pages that are in use in a state.
///
/// The state must outlive this object.
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

  /// Returns whether a page is in use.
  ///
  /// If pages are queried in ascending order, each bitmap is read only once.
  package func contains(_ page: PageNumber) throws(StorageError) -> Bool {
    Bitmap.bit(Int(page) % pagesPerBitmap, in: try bitmap(of: page))
  }

  /// Returns the first page in use at or after `first`, or `nil` if there is none.
  ///
  /// - Complexity: Reads each bitmap page at most once.
  package func next(from first: PageNumber) throws(StorageError) -> PageNumber? {
    var page = Int(first)
    while page < Int(view.pageCount) {
      let start = page / pagesPerBitmap * pagesPerBitmap
      let end = min(pagesPerBitmap, Int(view.pageCount) - start)
      let found = Bitmap.first(
        true, in: try bitmap(of: PageNumber(page)), from: page - start, count: end)
      if let found { return PageNumber(start + found) }
      page = start + pagesPerBitmap
    }
    return nil
  }

  /// Returns the number of pages in use at or after `first`.
  ///
  /// - Complexity: Reads each bitmap page at most once.
  package func count(from first: PageNumber = 0) throws(StorageError) -> Int {
    var count = 0
    var page = Int(first)
    while page < Int(view.pageCount) {
      let start = page / pagesPerBitmap * pagesPerBitmap
      let end = min(pagesPerBitmap, Int(view.pageCount) - start)
      count += Bitmap.ones(in: try bitmap(of: PageNumber(page)), page - start..<end)
      page = start + pagesPerBitmap
    }
    return count
  }

  /// Returns the smallest page count that would let the page file hold all pages in use.
  ///
  /// - Complexity: Reads each bitmap page at most once.
  package func leastPageCount() throws(StorageError) -> PageNumber {
    let bitmapCount = (Int(view.pageCount) + pagesPerBitmap - 1) / pagesPerBitmap
    let content = try count() - bitmapCount
    // Account for the bitmaps, each of which occupies one of the pages that it covers.
    let needed = (content + pagesPerBitmap - 2) / (pagesPerBitmap - 1)
    return PageNumber(clamping: content + max(needed, 1))
  }

  private func bitmap(of page: PageNumber) throws(StorageError) -> Bytes {
    let bitmap = Int(page) / pagesPerBitmap
    if let current, current.bitmap == bitmap { return current.reference.bytes }
    if let current { view.release(current.reference) }
    current = nil
    let reference = try view.bitmap(PageNumber(bitmap * pagesPerBitmap))
    current = (bitmap, reference)
    return reference.bytes
  }
}

extension PageView {
  /// Returns the page with the given number, which must be a bitmap page.
  ///
  /// The caller must release the page.
  package func bitmap(_ number: PageNumber) throws(StorageError) -> PageReference {
    let reference = try page(number)
    guard reference.bytes.load8(PageLayout.kind.offset) == PageKind.bitmap.rawValue else {
      release(reference)
      throw .corrupt(
        "The store is corrupt: a bitmap page is missing. Restore a backup.", page: number)
    }
    return reference
  }
}
