import Foundation

/// Access to the files of the package, whose directory is derived from the path of this file.
enum Package {
  static let path = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// Returns the text of the file at the given path within the package.
  static func text(of path: String) throws -> String {
    try String(contentsOfFile: Self.path + "/" + path, encoding: .utf8)
  }
}

/// A table in a document, captioned by an HTML comment above it.
///
/// The comment consists of a category and a name, for example `<!-- layout: PageLayout -->`.
struct DocumentTable {
  let category: String
  let name: String
  let columns: [String]
  let rows: [[String]]

  /// Returns all captioned tables of a document.
  static func all(in text: String) -> [DocumentTable] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    return lines.indices.compactMap { position in
      guard let caption = caption(lines[position]) else { return nil }
      let table = lines[(position + 1)...].prefix { $0.hasPrefix("|") }.map(cells)
      guard table.count >= 2 else { return nil }
      return DocumentTable(
        category: caption.category, name: caption.name, columns: table[0],
        rows: Array(table.dropFirst(2)))
    }
  }

  private static func caption(_ line: String) -> (category: String, name: String)? {
    guard line.hasPrefix("<!-- "), line.hasSuffix(" -->") else { return nil }
    let parts = line.dropFirst(5).dropLast(4).components(separatedBy: ": ")
    return parts.count == 2 ? (parts[0], parts[1]) : nil
  }

  private static func cells(_ line: String) -> [String] {
    line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
      .map { $0.trimmingCharacters(in: .whitespaces) }
  }
}
