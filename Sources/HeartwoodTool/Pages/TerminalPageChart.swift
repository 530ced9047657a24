import HeartwoodEngine

/// A chart of a store's page usage, for the terminal.
///
/// The chart consists of a map, in which each mark represents one or more pages, and a table that
/// explains the marks.
struct TerminalPageChart {
  static let maxWidth = 96
  static let maxRowCount = 16
  private let sum: PageSum
  private let map: PageMap
  private let width: Int
  private let hasColors: Bool

  init(_ sum: PageSum, _ map: PageMap, width: Int, hasColors: Bool) {
    self.sum = sum
    self.map = map
    self.width = width
    self.hasColors = hasColors
  }

  var text: String {
    guard sum.pageCount > 0 else { return "\(sum.generation): no pages" }
    let scale =
      map.pagesPerCell == 1
      ? "each mark is a page"
      : "each mark stands for \(HumanText.count(map.pagesPerCell)) pages and shows the most "
        + "frequent kind"
    return [sum.headline, "", rows, "", scale, "", table].joined(separator: "\n")
  }

  /// The lines of the map.
  ///
  /// Each line sets the colour at its start, and again wherever the kind of page changes.
  private var rows: String {
    stride(from: 0, to: map.cells.count, by: width).map { start in
      var line = ""
      var last: PageUsage.Kind?
      for cell in map.cells[start..<min(start + width, map.cells.count)] {
        if hasColors, cell.kind != last { line += color(cell.kind) }
        line += mark(cell.kind, cell.fill)
        last = cell.kind
      }
      return hasColors ? line + Self.plain : line
    }.joined(separator: "\n")
  }

  private var table: String {
    var table = TextTable([
      "": .left, "kind": .left, "pages": .right, "share": .right, "fill": .right,
    ])
    for kind in PageUsage.Kind.drawn where kind != .damaged || sum[kind].pageCount > 0 {
      table.append([
        legend(kind), kind.title, HumanText.count(sum[kind].pageCount),
        HumanText.share(sum[kind].pageCount, of: sum.pageCount), sum.fill(kind),
      ])
    }
    guard hasColors else { return table.text() }
    // Add the colours after aligning the columns, because escape sequences take up no columns.
    var lines = table.text().split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
    for (index, kind) in PageUsage.Kind.drawn.enumerated() where index + 2 < lines.count {
      let legend = legend(kind)
      lines[index + 2] =
        color(kind) + legend + Self.plain + lines[index + 2].dropFirst(legend.count)
    }
    return lines.joined(separator: "\n")
  }

  /// Returns the marks for a kind of page as one string.
  private func legend(_ kind: PageUsage.Kind) -> String { marks(kind).joined() }

  private func mark(_ kind: PageUsage.Kind, _ fill: Double) -> String {
    let marks = marks(kind)
    return marks[min(Int(fill * Double(marks.count)), marks.count - 1)]
  }

  /// Returns the marks for pages of the given kind, ordered from nearly empty to full.
  ///
  /// Each kind has its own marks, so that the kinds can be told apart even without colours.
  private func marks(_ kind: PageUsage.Kind) -> [String] {
    switch kind {
    case .leaf: ["░", "▒", "▓", "█"]
    case .branch: ["◆"]
    case .overflow: ["▁", "▃", "▅", "▇"]
    case .overflowIndex: ["◇"]
    case .bitmap: ["▣"]
    case .free: ["·"]
    case .damaged: ["✕"]
    }
  }

  private func color(_ kind: PageUsage.Kind) -> String {
    let code =
      switch kind {
      case .leaf: "32"
      case .branch: "33"
      case .overflow: "34"
      case .overflowIndex: "36"
      case .bitmap: "35"
      case .free: "90"
      case .damaged: "1;31"
      }
    // Reset all attributes first. Otherwise, text after a bold colour would remain bold.
    return "\u{1B}[0;\(code)m"
  }

  private static let plain = "\u{1B}[0m"
}
