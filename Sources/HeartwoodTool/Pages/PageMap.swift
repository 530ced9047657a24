import HeartwoodEngine

/// The pages of a store in page order, grouped into cells of adjacent pages.
struct PageMap {
  /// A cell of the map, which represents one or more adjacent pages.
  struct Cell {
    /// The most frequent kind of page in the cell, or `damaged` if any page in it is damaged.
    let kind: PageUsage.Kind
    /// The average fill level of the pages of this kind in the cell, from 0 (empty) to 1 (full).
    ///
    /// The level is 1 if `kind` is `damaged`.
    let fill: Double
  }

  /// The number of pages in each cell, always a power of two.
  ///
  /// The last cell may have fewer pages.
  let pagesPerCell: Int
  let cells: [Cell]

  init(_ pages: [PageUsage], _ sum: PageSum, maxCellCount: Int) {
    var pagesPerCell = 1
    while pagesPerCell * maxCellCount < pages.count { pagesPerCell *= 2 }
    self.pagesPerCell = pagesPerCell
    cells = stride(from: 0, to: pages.count, by: pagesPerCell).map { start in
      Self.cell(
        pages[start..<min(start + pagesPerCell, pages.count)], pageByteCount: sum.pageByteCount)
    }
  }

  private static func cell(_ pages: ArraySlice<PageUsage>, pageByteCount: Int) -> Cell {
    var counts = Array(repeating: 0, count: PageUsage.Kind.allCases.count)
    var byteCounts = counts
    for page in pages {
      counts[Int(page.kind.rawValue)] += 1
      byteCounts[Int(page.kind.rawValue)] += Int(page.usedByteCount)
    }
    func count(_ kind: PageUsage.Kind) -> Int { counts[Int(kind.rawValue)] }
    guard count(.damaged) == 0 else { return Cell(kind: .damaged, fill: 1) }
    let kind = PageUsage.Kind.drawn.max { count($0) < count($1) } ?? .free
    return Cell(
      kind: kind,
      fill: Double(byteCounts[Int(kind.rawValue)]) / Double(max(count(kind), 1) * pageByteCount))
  }
}
