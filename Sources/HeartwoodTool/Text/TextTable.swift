/// Rows of text in aligned columns.
struct TextTable {
  /// The alignment of a column.
  enum Alignment {
    case left
    case right
  }

  private let titles: [String]
  private let alignments: [Alignment]
  private var rows: [[String]] = []

  /// Creates a table with column titles and a line below them.
  init(_ columns: KeyValuePairs<String, Alignment>) {
    titles = columns.map(\.key)
    alignments = columns.map(\.value)
  }

  /// Creates a table without column titles.
  init(untitled alignments: [Alignment]) {
    titles = []
    self.alignments = alignments
  }

  mutating func append(_ row: [String]) { rows.append(row) }

  /// Returns the formatted table, with each line indented by `indent` spaces.
  func text(indent: Int = 0) -> String {
    let all = (titles.isEmpty ? [] : [titles]) + rows
    let widths = alignments.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    var lines = all.map { row in
      let cells = row.indices.map { column in
        alignments[column] == .left
          ? row[column].padded(to: widths[column]) : row[column].leftPadded(to: widths[column])
      }
      let line = cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
    if !titles.isEmpty {
      let ruleWidth = widths.reduce(0, +) + 2 * (widths.count - 1)
      lines.insert(String(repeating: "-", count: ruleWidth), at: 1)
    }
    let margin = String(repeating: " ", count: indent)
    return lines.map { $0.isEmpty ? $0 : margin + $0 }.joined(separator: "\n")
  }
}
