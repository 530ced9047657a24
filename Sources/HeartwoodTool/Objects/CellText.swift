import Heartwood
import HeartwoodEngine

/// A value as one line of text that is safe to print on a terminal.
struct CellText {
  let text: String
  /// A Boolean value that indicates whether the value is a number.
  ///
  /// Numbers are right-aligned.
  let isNumber: Bool
  let isNull: Bool

  /// The length, in bytes, above which a value is truncated.
  private static let byteLimit = 4096

  init(_ value: ObjectValue) {
    switch value {
    case .null: (text, isNumber, isNull) = ("-", false, true)
    case .value(.bytes(let bytes), .bytes):
      let shown = KeyNotation.hexadecimal(Array(bytes.prefix(Self.byteLimit)))
      (text, isNumber, isNull) = (shown, false, false)
    case .value(let stored, _):
      let isNumber =
        switch stored {
        case .integer, .largeInteger, .double: true
        default: false
        }
      // Truncate a long string before escaping it, because escaping all of it would be slow.
      let all = value.shownText ?? ""
      let shown = all.utf8.count > Self.byteLimit ? String(all.prefix(Self.byteLimit)) : all
      (text, self.isNumber, isNull) = (QuotedText.escaped(shown), isNumber, false)
    case .objects([]): (text, isNumber, isNull) = ("none", false, true)
    case .object, .objects:
      (text, isNumber, isNull) = (QuotedText.escaped(value.text ?? ""), false, false)
    }
  }

  /// Returns the text, truncated with an ellipsis if it is wider than the given number of columns.
  func fitted(to width: Int) -> String { DisplayWidth.fitted(text, to: width) }
}

/// Table columns whose widths are determined before all rows are known.
struct AlignedRows {
  private let names: [String]
  private let widths: [Int]
  private let isRight: [Bool]
  private let output: Output

  /// The maximum width of a column.
  private static let maxWidth = 60

  /// Creates columns whose widths are determined by the first rows of the table.
  init(_ names: [String], _ rows: [[CellText]], _ output: Output) {
    self.names = names.map(QuotedText.escaped)
    self.output = output
    let widths = self.names.enumerated().map { column, name in
      let cells = rows.map { DisplayWidth.of($0[column].text) }.max() ?? 0
      return min(max(DisplayWidth.of(name), cells), Self.maxWidth)
    }
    self.widths = output.isTerminal ? Self.narrowed(widths, to: output.width) : widths
    isRight = names.indices.map { column in
      rows.contains { $0[column].isNumber }
        && rows.allSatisfy {
          $0[column].isNumber || $0[column].isNull
        }
    }
  }

  /// Narrows the widest columns so that all columns fit in a line, and returns the new widths.
  private static func narrowed(_ widths: [Int], to limit: Int) -> [Int] {
    let limit = limit - 2 * (widths.count - 1)
    var cap = widths.max() ?? 0
    while cap > 8, widths.reduce(0, { $0 + min($1, cap) }) > limit { cap -= 1 }
    return widths.map { min($0, cap) }
  }

  /// The column names, and a line below them.
  var titles: String {
    let rule = String(repeating: "-", count: widths.reduce(0, +) + 2 * (widths.count - 1))
    let line = Self.trimmed(cells(names))
    return output.hasColors ? "\u{1B}[1m\(line)\u{1B}[0m\n\(rule)" : "\(line)\n\(rule)"
  }

  /// Returns a row as a line of text.
  func line(_ row: [CellText]) -> String { Self.trimmed(cells(row.map(\.text))) }

  private func cells(_ texts: [String]) -> String {
    var cells: [String] = []
    for (column, text) in texts.enumerated() {
      let fitted = DisplayWidth.fitted(text, to: widths[column])
      let space = String(repeating: " ", count: max(0, widths[column] - DisplayWidth.of(fitted)))
      cells.append(isRight[column] ? space + fitted : fitted + space)
    }
    return cells.joined(separator: "  ")
  }

  private static func trimmed(_ line: String) -> String {
    String(line.reversed().drop { $0 == " " }.reversed())
  }
}
