import Foundation
import HeartwoodEngine

/// An SVG chart of the page usage of a store.
///
/// A map shows the pages as squares, and a bar shows the share of each kind of page. A legend
/// contains the numbers, and a histogram shows the fill levels of leaf pages.
///
/// CSS classes set the colours, so that the chart is readable in light and dark mode. To keep the
/// file small, all squares of one kind are drawn with only two paths: the first draws the squares
/// in a pale colour, and the second draws the used part of each square on top.
struct SVGPageChart {
  /// The maximum number of squares in the map.
  static let cellCount = columnCount * 36

  private static let width = 760
  private static let margin = 32
  private static let columnCount = 58
  /// The side length of a square plus the gap between adjacent squares.
  private static let pitch = 12
  private static let side = 10
  private static let mapTop = 130
  private static let contentWidth = width - 2 * margin

  private let name: String
  private let sum: PageSum
  private let map: PageMap

  /// Creates a chart of a store's pages.
  ///
  /// - Parameter name: The name of the store.
  init(_ name: String, _ sum: PageSum, _ map: PageMap) {
    self.name = name
    self.sum = sum
    self.map = map
  }

  /// The complete SVG document.
  var svg: String {
    let rowCount = (map.cells.count + Self.columnCount - 1) / Self.columnCount
    let mapBottom = Self.mapTop + rowCount * Self.pitch
    let height = mapBottom + 250
    let title = HTMLText.visible(name)
    let parts = [
      """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(height)" \
      width="\(Self.width)" height="\(height)" role="img" aria-labelledby="title summary">
      <title id="title">Page usage of \(title)</title>
      <desc id="summary">\(HTMLText.escaped(sum.headline))</desc>
      \(Self.style)
      <rect class="paper" width="\(Self.width)" height="\(height)" rx="12"/>
      """,
      Self.text(title, Self.margin, 52, "title"),
      Self.text(HTMLText.escaped(sum.headline), Self.margin, 76, "faint"),
      bar, squares,
      Self.text(scale, Self.margin, mapBottom + 20, "faint"),
      legend(top: mapBottom + 60), leaves(top: mapBottom + 60), "</svg>", "",
    ]
    return parts.joined(separator: "\n")
  }

  private var scale: String {
    map.pagesPerCell == 1
      ? "Each square is a page. The filled part is in use."
      : "Each square stands for \(HumanText.count(map.pagesPerCell)) adjacent pages and shows the "
        + "most frequent kind. The filled part is in use."
  }

  // MARK: The map

  private var squares: String {
    var used: [PageUsage.Kind: String] = [:]
    var outlines: [PageUsage.Kind: String] = [:]
    for (index, cell) in map.cells.enumerated() {
      let left = Self.margin + index % Self.columnCount * Self.pitch
      let top = Self.mapTop + index / Self.columnCount * Self.pitch
      outlines[cell.kind, default: ""] += "M\(left) \(top)h\(Self.side)v\(Self.side)h-\(Self.side)z"
      // Round the height of the filled part to a multiple of half a unit, but draw at least half a
      // unit if the cell contains any data.
      let filled = (cell.fill * Double(2 * Self.side)).rounded()
      guard cell.fill > 0 else { continue }
      let height = max(filled, 1) / 2
      let start = Double(top + Self.side) - height
      used[cell.kind, default: ""] +=
        "M\(left) \(Self.number(start))h\(Self.side)v\(Self.number(height))h-\(Self.side)z"
    }
    return PageUsage.Kind.drawn.flatMap { kind in
      [
        outlines[kind].map { "<path class=\"\(kind.word) pale\" d=\"\($0)\"/>" },
        used[kind].map { "<path class=\"\(kind.word)\" d=\"\($0)\"/>" },
      ].compactMap { $0 }
    }.joined(separator: "\n")
  }

  /// A bar that is divided in proportion to the number of pages of each kind.
  private var bar: String {
    var start = 0
    let rects = PageUsage.Kind.drawn.compactMap { kind -> String? in
      let count = sum[kind].pageCount
      guard count > 0 else { return nil }
      let left = position(of: start)
      start += count
      let width = position(of: start) - left
      return """
        <rect class="\(kind.word)\(kind == .free ? " pale" : "")" x="\(Self.number(left))" y="92" \
        width="\(Self.number(width))" height="16"><title>\(kind.title): \
        \(HumanText.share(count, of: sum.pageCount))</title></rect>
        """
    }
    return """
      <clipPath id="bar"><rect x="\(Self.margin)" y="92" width="\(Self.contentWidth)" \
      height="16" rx="5"/></clipPath>
      <g clip-path="url(#bar)">
      \(rects.joined(separator: "\n"))
      </g>
      """
  }

  private func position(of page: Int) -> Double {
    Double(Self.margin) + Double(Self.contentWidth) * Double(page) / Double(max(sum.pageCount, 1))
  }

  // MARK: The numbers

  private func legend(top: Int) -> String {
    var lines = [
      Self.text("kind", Self.margin + 20, top, "head"),
      Self.text("pages", Self.margin + 210, top, "head end"),
      Self.text("share", Self.margin + 280, top, "head end"),
      Self.text("fill", Self.margin + 350, top, "head end"),
    ]
    var line = top + 24
    for kind in PageUsage.Kind.drawn where kind != .damaged || sum[kind].pageCount > 0 {
      let pale = kind == .free ? " pale" : ""
      lines += [
        "<rect class=\"\(kind.word)\(pale)\" x=\"\(Self.margin)\" y=\"\(line - 10)\" width=\"11\" "
          + "height=\"11\" rx=\"2\"/>",
        Self.text(kind.title, Self.margin + 20, line),
        Self.text(HumanText.count(sum[kind].pageCount), Self.margin + 210, line, "end"),
        Self.text(
          HumanText.share(sum[kind].pageCount, of: sum.pageCount), Self.margin + 280, line, "end"),
        Self.text(sum.fill(kind), Self.margin + 350, line, "end"),
      ]
      line += 22
    }
    return lines.joined(separator: "\n")
  }

  /// Returns a histogram of the fill levels of leaf pages, in steps of ten percent.
  private func leaves(top: Int) -> String {
    let left = Self.margin + 420
    let base = top + 128
    let most = max(sum.leafCounts.max() ?? 0, 1)
    let step = (Self.width - Self.margin - left) / 10
    var lines = [Self.text("fill of the leaves", left, top, "head")]
    for (index, count) in sum.leafCounts.enumerated() {
      let height = count == 0 ? 0 : max(Double(count) / Double(most) * 96, 1)
      lines.append(
        """
        <rect class="leaf" x="\(left + index * step)" y="\(Self.number(Double(base) - height))" \
        width="\(step - 3)" height="\(Self.number(height))"><title>\(index * 10) to \
        \(index * 10 + 10) %: \(HumanText.count(count, "page"))</title></rect>
        """)
    }
    let right = left + 10 * step - 3
    lines += [
      "<path class=\"rule\" d=\"M\(left) \(base)H\(right)\"/>",
      Self.text("0 %", left, base + 18, "faint"),
      Self.text("50 %", (left + right) / 2, base + 18, "faint middle"),
      Self.text("100 %", right, base + 18, "faint end"),
    ]
    return lines.joined(separator: "\n")
  }

  // MARK: Writing

  private static func text(
    _ content: String, _ left: Int, _ base: Int, _ style: String = ""
  ) -> String {
    let style = style.isEmpty ? "" : " class=\"\(style)\""
    return "<text x=\"\(left)\" y=\"\(base)\"\(style)>\(content)</text>"
  }

  /// Returns a number as text, with one decimal place unless it is an integer.
  private static func number(_ value: Double) -> String {
    value == value.rounded() ? "\(Int(value))" : String(format: "%.1f", value)
  }

  private static let style = """
    <style>
    .paper{fill:#fff} text{fill:#20262e;font:13px system-ui,-apple-system,"Segoe UI",sans-serif;\
    font-variant-numeric:tabular-nums}
    .title{font-size:22px;font-weight:600} .head{font-weight:600} .faint{fill:#667080}
    .end{text-anchor:end} .middle{text-anchor:middle} .rule{stroke:#c8ced6} .pale{opacity:.24}
    .leaf{fill:#2e9e5b} .branch{fill:#d08a00} .overflow{fill:#2f6fde} .overflowIndex{fill:#17909c}
    .bitmap{fill:#8a56d6} .free{fill:#8d97a5} .damaged{fill:#d6293e}
    @media (prefers-color-scheme:dark){
    .paper{fill:#12161c} text{fill:#e4e8ee} .faint{fill:#97a1b0} .rule{stroke:#3a424e}
    .leaf{fill:#46c07a} .branch{fill:#e8ac3a} .overflow{fill:#6a9cf5} .overflowIndex{fill:#43bcc8}
    .bitmap{fill:#b08cf0} .free{fill:#7c8695} .damaged{fill:#ff5a6c}}
    </style>
    """
}
