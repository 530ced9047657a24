/// The pages in which two states of one store differ, excluding bitmap pages.
///
/// Both states must be live: no checkpoint may have advanced beyond the older one. This guarantees
/// that the index of the newer state has an entry for every page that was written between the two
/// states.
package struct PageDifference {
  /// The pages of the newer state that were written between the two states, in page order.
  package private(set) var written: [PageNumber] = []
  /// The pages of the older state that were rewritten or freed between the two states, in page
  /// order.
  package private(set) var replaced: [PageNumber] = []
  private let older: GenerationState
  private let newer: GenerationState

  /// Compares two states, and collects the pages in which they differ.
  ///
  /// The first state must not be newer than the second.
  ///
  /// - Throws: `corrupt` or `io` if a bitmap is corrupt or cannot be read.
  /// - Complexity: Reads the bitmap pages that cover written pages, in both states.
  package init(from older: GenerationState, to newer: GenerationState) throws(StorageError) {
    self.older = older
    self.newer = newer
    let geometry = older.files.geometry
    let perBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: geometry.pageByteCount)
    var changed: [PageNumber] = []
    newer.index.forEach(newerThan: older.generation) { page, _ in changed.append(page) }
    let usedBefore = UsedPages(view: older.view, geometry: geometry)
    let usedAfter = UsedPages(view: newer.view, geometry: geometry)
    let (countBefore, countAfter) = (older.point.pageCount, newer.point.pageCount)
    for page in changed {
      if Int(page) % perBitmap == 0 {
        if page < min(countBefore, countAfter) { try addFreedPages(by: page) }
        continue
      }
      if page < countBefore, try usedBefore.contains(page) { replaced.append(page) }
      if page < countAfter, try usedAfter.contains(page) { written.append(page) }
    }
    // Treat a page as freed if its bitmap lies beyond the end of the newer state.
    let kept = (Int(countAfter) + perBitmap - 1) / perBitmap
    for bitmap in stride(from: kept * perBitmap, to: Int(countBefore), by: perBitmap) {
      try addFreedPages(by: PageNumber(bitmap))
    }
    replaced.sort()
  }

  /// Adds the pages covered by `bitmap` that were freed but not written.
  private mutating func addFreedPages(by bitmap: PageNumber) throws(StorageError) {
    let before = try older.view.bitmap(bitmap)
    defer { older.view.release(before) }
    let exists = bitmap < newer.point.pageCount
    let after = exists ? try newer.view.bitmap(bitmap) : nil
    defer { if let after { newer.view.release(after) } }
    for offset in stride(from: BitmapLayout.bits, to: before.bytes.count, by: 8) {
      var freed = before.bytes.load64(offset) & ~(after?.bytes.load64(offset) ?? 0)
      while freed != 0 {
        let bit = (offset - BitmapLayout.bits) * 8 + freed.trailingZeroBitCount
        freed &= freed &- 1
        guard bit > 0, Int(bitmap) + bit < Int(older.point.pageCount) else { continue }
        let page = bitmap + PageNumber(bit)
        if newer.index.frame(of: page) <= older.generation { replaced.append(page) }
      }
    }
  }
}
