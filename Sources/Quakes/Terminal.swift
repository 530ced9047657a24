import Foundation

/// The terminal the output goes to, if it is one.
enum Terminal {
  /// Whether colours are wanted: on a terminal, unless the environment says no.
  static let hasColors =
    isatty(1) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

  /// The columns of a line; 80 where there is no terminal.
  static var width: Int {
    var size = winsize()
    guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }
}

/// A colour, by its number in the escape sequences of terminals.
enum Color: Int {
  case red = 31
  case yellow = 33
  case cyan = 36

  /// The text in this colour, where colours are wanted.
  func applied(to text: String) -> String {
    Terminal.hasColors ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
  }
}

/// The line that says how far a long command is; only where the standard error is a terminal.
struct ProgressLine: Sendable {
  private let isOnTerminal = isatty(2) == 1

  /// Replaces the line.
  func show(_ text: @autoclosure () -> String) {
    if isOnTerminal { write("\r\u{1B}[K" + text()) }
  }

  /// Removes the line before other output.
  func clear() {
    if isOnTerminal { write("\r\u{1B}[K") }
  }

  private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}

/// Rows of text in aligned columns below their titles.
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

/// A bar as long as a share of the greatest one, in eighths of a column.
func bar(_ count: Int, of greatest: Int, width: Int) -> String {
  guard count > 0, greatest > 0 else { return "" }
  // Whatever is there at all can be seen.
  let eighths = max(1, count * width * 8 / greatest)
  let end = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
  return String(repeating: "█", count: eighths / 8) + end
}

extension String {
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }

  func leftPadded(to width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }

  /// The text without characters that could disturb a terminal: feeds come from others.
  var visible: String {
    String(unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
  }
}

extension Int {
  /// The number with a comma between each three digits.
  var grouped: String { formatted(.number.locale(Locale(identifier: "en_US"))) }
}

extension Double {
  /// The number with one digit behind the point.
  var short: String {
    // Without a sign where it comes to zero.
    String(format: "%.1f", (self * 10).rounded() / 10 + 0)
  }
}

extension Date {
  /// The time in UTC, as in "2019-02-16 23:46:15".
  var shown: String {
    formatted(
      .iso8601.year().month().day().dateTimeSeparator(.space).time(
        includingFractionalSeconds: false))
  }

  /// The day in UTC, as in "2019-02-16".
  var day: String { formatted(.iso8601.year().month().day()) }
}

/// Prints a value as JSON, times as text in UTC.
func printJSON(_ value: some Encodable) throws {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
  encoder.dateEncodingStrategy = .custom { date, encoder in
    var container = encoder.singleValueContainer()
    // The style cuts what is behind the milliseconds, and a date may be a little below its own.
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    try container.encode((date + 0.0001).formatted(style))
  }
  print(String(decoding: try encoder.encode(value), as: UTF8.self))
}
