import Foundation
import Heartwood
import SQLiteWriter

/// The `export` command, which writes the objects of an entity.
enum ExportCommand {
  private static let sqliteFormat = "sqlite"

  static func run(_ invocation: Invocation, _ output: Output) throws {
    if invocation[.format] == sqliteFormat { return try writeSQLite(invocation, output) }
    guard invocation[.entity] != nil else {
      throw ToolFailure.usage(
        "Missing argument ENTITY. Only --format sqlite exports all entities at once. "
          + HelpText.usageSentence(invocation.command))
    }
    let format: ExportFormat =
      try TextFormat(invocation) == .csv ? .csv : .jsonLines
    try ObjectAccess.withObjects(invocation) { objects, _ in
      let entity = try ObjectAccess.entity(invocation.required(.entity), of: objects, invocation)
      var query = ObjectQuery(entity: entity.name, condition: invocation[.condition])
      query.includesSubentities = false
      guard let path = invocation[.output] else {
        _ = try objects.export(query, as: format) { try output.write($0) }
        return try output.flush()
      }
      var count = 0
      _ = try ReplacementFile.write(to: path, outside: invocation.path) { file in
        count = try objects.export(query, as: format) { try file.write($0) }
      }
      try output.line(
        "Wrote \(HumanText.count(count, "object")) to \(QuotedText.escaped(path)).")
    }
  }
}

extension ExportCommand {
  /// Writes all objects to a SQLite file.
  private static func writeSQLite(_ invocation: Invocation, _ output: Output) throws {
    guard invocation[.entity] == nil, let path = invocation[.output] else {
      throw ToolFailure.usage(
        "--format sqlite writes all entities to a file. Use --output FILE, and omit ENTITY.")
    }
    let progress = TerminalProgress()
    let count = try ObjectAccess.withObjects(invocation) { objects, _ in
      do {
        return try ReplacementFile.replace(path, outside: invocation.path) { temporary in
          try SQLiteExport(objects) { progress.show("exporting", elementCount: $0) }
            .write(to: temporary)
        }
      } catch let error as SQLiteWriterError {
        throw ToolFailure.refused(error.message)
      }
    }
    progress.clear()
    try output.line("Wrote \(HumanText.count(count, "object")) to \(QuotedText.escaped(path)).")
  }
}

/// A text format for both export and import.
enum TextFormat: String {
  case jsonLines = "jsonl"
  case csv

  /// Creates the format selected on the command line.
  ///
  /// The default is JSON lines.
  init(_ invocation: Invocation) throws(ToolFailure) {
    let word = invocation[.format] ?? Self.jsonLines.rawValue
    guard let format = TextFormat(rawValue: word) else {
      throw .usage("There is no format named \(word). Use --format jsonl or --format csv.")
    }
    self = format
  }
}
