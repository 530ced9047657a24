import Foundation
import HeartwoodTestSupport
import SQLiteWriter
import Testing

/// The program `sqlite3`, with which tests check the files.
enum SQLiteShell {
  static let executable: URL? = {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
    return path.split(separator: ":").map { URL(filePath: "\($0)/sqlite3") }.first {
      FileManager.default.isExecutableFile(atPath: $0.path)
    }
  }()

  static let isInstalled = executable != nil
  static let comment: Comment = "The program sqlite3 is not installed."

  /// Runs statements, and returns the lines of the output, including errors.
  static func lines(_ path: String, _ sql: String, isReadOnly: Bool = true) throws -> [String] {
    let program = try #require(executable)
    let directory = URL(filePath: path).deletingLastPathComponent()
    let input = directory.appending(path: "statements-\(UUID().uuidString)")
    let output = directory.appending(path: "output-\(UUID().uuidString)")
    try Data(sql.utf8).write(to: input)
    try Data().write(to: output)
    defer {
      try? FileManager.default.removeItem(at: input)
      try? FileManager.default.removeItem(at: output)
    }
    let outputFile = try FileHandle(forWritingTo: output)
    let process = Process()
    process.executableURL = program
    process.arguments = ["-batch"] + (isReadOnly ? ["-readonly"] : []) + [path]
    process.standardInput = try FileHandle(forReadingFrom: input)
    process.standardOutput = outputFile
    process.standardError = outputFile
    try process.start()
    process.waitUntilExit()
    let text = try String(contentsOf: output, encoding: .utf8)
    return text.split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
  }

  /// An SQL expression for the exact value of a column as text, in the form of `SQLiteValue.shown`.
  static func shown(_ column: String) -> String {
    let name = column.sqlQuoted
    return """
      CASE typeof(\(name)) WHEN 'null' THEN 'n' WHEN 'integer' THEN 'i' || \(name) \
      WHEN 'real' THEN 'r' || hex(ieee754_to_blob(\(name))) \
      WHEN 'text' THEN 't' || hex(\(name)) ELSE 'b' || hex(\(name)) END
      """
  }
}

extension SQLiteValue {
  /// The exact value as text.
  var shown: String {
    func hex(_ bytes: some Sequence<UInt8>) -> String {
      let digits = Array("0123456789ABCDEF".utf8)
      var result: [UInt8] = []
      for byte in bytes { result += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
      return String(decoding: result, as: UTF8.self)
    }
    switch self {
    case .null: return "n"
    case .integer(let value): return "i\(value)"
    case .real(let value):
      return "r" + hex((0..<8).map { UInt8(truncatingIfNeeded: value.bitPattern >> (56 - 8 * $0)) })
    case .text(let text): return "t" + hex(text.utf8)
    case .blob(let bytes): return "b" + hex(bytes)
    }
  }
}

/// A directory for the files of a test, removed with this object.
final class Scratch {
  let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appending(
      path: "sqlitewriter-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  var path: String { path(of: "file.sqlite") }

  func path(of name: String) -> String { directory.appending(path: name).path }

  /// The names of the files in the directory.
  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
  }

  /// Expects that SQLite finds no error in the file.
  func expectSound(_ location: SourceLocation = #_sourceLocation) throws {
    let lines = try SQLiteShell.lines(path, "PRAGMA integrity_check; PRAGMA foreign_key_check;")
    #expect(lines == ["ok"], sourceLocation: location)
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    let pragmas = try SQLiteShell.lines(path, "PRAGMA page_count; PRAGMA freelist_count;")
    #expect(pragmas == ["\((size ?? 0) / 4096)", "0"], sourceLocation: location)
  }

  func lines(_ sql: String) throws -> [String] { try SQLiteShell.lines(path, sql) }

  /// Expects SQLite to encode the same records in the same number of bytes.
  ///
  /// The function compares indexes with the indexes that SQLite rebuilds, and a table with its
  /// copy.
  func expectSameByteCounts(
    _ indexes: [String], table: String? = nil, copyStatements: String = "",
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let copy = path(of: "changed.sqlite")
    defer { try? FileManager.default.removeItem(atPath: copy) }
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    // The interior pages of a table contain no records.
    func query(_ name: String, _ pages: String = "") -> String {
      "SELECT sum(payload) FROM dbstat WHERE name = '\(name)'\(pages);"
    }
    let ofIndexes = indexes.map { query($0) }.joined()
    let leaves = " AND pagetype <> 'internal'"
    let before = ofIndexes + (table.map { query($0, leaves) } ?? "")
    let after = ofIndexes + (table == nil ? "" : query("copy", leaves))
    let lines = try SQLiteShell.lines(
      copy, "\(before) REINDEX; \(copyStatements) \(after)", isReadOnly: false)
    let count = lines.count / 2
    #expect(count == indexes.count + (table == nil ? 0 : 1), "\(lines)", sourceLocation: location)
    #expect(lines.prefix(count) == lines.suffix(count), sourceLocation: location)
  }
}
