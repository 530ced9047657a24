/// The layout of a bitmap page.
///
/// The common header is followed by one bit for each page. Bitmap *k* is in page *k* ×
/// `pagesPerBitmap`, and covers `pagesPerBitmap` pages, starting with itself. The bits for pages
/// that do not exist are zero.
package enum BitmapLayout {
  package static let reserved = Field("reserved", at: 26, 6)
  package static let bits = 32
  package static let fields = [reserved]

  package static func pagesPerBitmap(pageByteCount: Int) -> Int { (pageByteCount - bits) * 8 }

  /// Returns the page numbers of the bitmaps to create when the page count grows, excluding page 0.
  package static func newBitmaps(
    from before: PageNumber, to after: PageNumber, pageByteCount: Int
  ) -> StrideTo<Int> {
    let perBitmap = pagesPerBitmap(pageByteCount: pageByteCount)
    let first = max((Int(before) + perBitmap - 1) / perBitmap, 1) * perBitmap
    return stride(from: first, to: Int(after), by: perBitmap)
  }
}
