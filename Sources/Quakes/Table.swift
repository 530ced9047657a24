/// Rows of text in aligned columns with titles.
struct Table {
  enum Side {
    case left
    case right
  }

  private let columns: KeyValuePairs<String, Side>
  private var rows: [(cells: [String], color: Color?)] = []

  init(_ columns: KeyValuePairs<String, Side>) { self.columns = columns }

  /// Adds a row with a cell for each column.
  mutating func append(_ cells: [String], color: Color? = nil) { rows.append((cells, color)) }

  /// The formatted table.
  var text: String {
    let titles = columns.map(\.key)
    let widths = titles.indices.map { column in
      rows.reduce(titles[column].count) { max($0, $1.cells[column].count) }
    }
    let lines = ([(titles, nil)] + rows).map { cells, color in
      let padded = cells.indices.map { column in
        columns[column].value == .left
          ? cells[column].padded(to: widths[column]) : cells[column].leftPadded(to: widths[column])
      }
      let line = padded.joined(separator: "  ").replacing(/\ +$/, with: "")
      return color?.applied(to: line) ?? line
    }
    return lines.joined(separator: "\n")
  }
}

/// Returns a bar of block characters for a bar chart.
///
/// The length is proportional to `count`, in steps of an eighth of a column. If `count` equals
/// `greatest`, the bar is `width` columns long.
func bar(_ count: Int, of greatest: Int, width: Int) -> String {
  guard count > 0, greatest > 0 else { return "" }
  // Show at least an eighth of a column for every count above 0, so that the bar is visible.
  let eighths = max(1, count * width * 8 / greatest)
  let end = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
  return String(repeating: "█", count: eighths / 8) + end
}
