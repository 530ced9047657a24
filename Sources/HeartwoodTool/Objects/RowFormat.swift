import Foundation
import Heartwood

/// A format for rows of values.
enum RowFormat {
  case table
  case json
  case jsonLines
  case csv
  case markdown

  /// Creates the format selected on the command line.
  ///
  /// The default is a table.
  init(_ invocation: Invocation) {
    self =
      invocation.has(.json)
      ? .json
      : invocation.has(.jsonLines)
        ? .jsonLines : invocation.has(.csv) ? .csv : invocation.has(.markdown) ? .markdown : .table
  }
}

/// An object that writes rows of values one by one.
final class RowOutput {
  private(set) var count = 0
  private let format: RowFormat
  private let columns: [String]
  private let output: Output
  private let encoder = ObjectValue.encoder()
  /// The first rows of a table, which determine the widths of its columns.
  private var firstRows: [[ObjectValue]] = []
  private var table: AlignedRows?

  /// The number of rows whose cells determine the widths of a table's columns.
  ///
  /// Aligning all rows would require keeping all of them in memory.
  private static let measuredCount = 500

  init(_ format: RowFormat, _ columns: [String], _ output: Output) throws {
    self.format = format
    self.columns = columns
    self.output = output
    switch format {
    case .table, .jsonLines: break
    case .json: try output.write("[")
    case .csv: try output.write(columns.map(CSVField.text).joined(separator: ",") + "\r\n")
    case .markdown:
      try output.line("| " + columns.map(MarkdownText.cell).joined(separator: " | ") + " |")
      try output.line("|" + String(repeating: " --- |", count: columns.count))
    }
  }

  func add(_ row: [ObjectValue]) throws {
    switch format {
    case .table: try addToTable(row)
    case .json:
      try output.write(count == 0 ? "\n" : ",\n")
      try output.write(try json(row))
    case .jsonLines: try output.line(try json(row))
    case .csv:
      let fields = row.map { CSVField.text($0.text) }
      try output.write(fields.joined(separator: ",") + "\r\n")
    case .markdown:
      let cells = row.map { MarkdownText.cell($0.text ?? "") }
      try output.line("| " + cells.joined(separator: " | ") + " |")
    }
    count += 1
  }

  func end() throws {
    switch format {
    case .table:
      try startTable()
      let rows = HumanText.count(count, "object")
      try output.line(count == 0 ? "no objects" : "\n\(rows)")
    case .json: try output.line(count == 0 ? "]" : "\n]")
    case .jsonLines, .csv, .markdown: break
    }
  }

  private func json(_ row: [ObjectValue]) throws -> String {
    let object = Dictionary(zip(columns, row), uniquingKeysWith: { first, _ in first })
    return String(decoding: try encoder.encode(object), as: UTF8.self)
  }

  private func addToTable(_ row: [ObjectValue]) throws {
    if let table { return try output.line(table.line(row.map(CellText.init))) }
    firstRows.append(row)
    if firstRows.count == Self.measuredCount { try startTable() }
  }

  /// Writes the titles and the first rows of a table, unless they have already been written or the
  /// table has no rows.
  private func startTable() throws {
    guard table == nil, !firstRows.isEmpty else { return }
    let rows = firstRows.map { $0.map(CellText.init) }
    let table = AlignedRows(columns, rows, output)
    try output.line(table.titles)
    for row in rows { try output.line(table.line(row)) }
    firstRows = []
    self.table = table
  }
}
