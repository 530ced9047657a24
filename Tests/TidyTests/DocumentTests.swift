import Testing

/// Checks that the links in the documents are valid, and that the documents mention nothing outside
/// the project.
@Suite("The documents")
struct DocumentTests {
  private static func paths() throws -> [String] {
    ["README.md"] + (try Package.files(under: ["Docs", ".github", "Tests"], ending: ".md"))
  }

  @Test func `link only to existing files and headings`() throws {
    for path in try Self.paths() {
      let directory = path.split(separator: "/").dropLast().joined(separator: "/")
      for link in try Package.text(of: path).matches(of: /\]\(([^)\s]+)\)/) {
        let target = String(link.output.1)
        if target.contains("://") || target.hasPrefix("mailto:") { continue }
        let parts = target.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
        let file = parts[0].isEmpty ? path : Self.normalized(directory + "/" + parts[0])
        #expect(Package.contains(file), "\(path) links to \(target)")
        if parts.count > 1, file.hasSuffix(".md"), Package.contains(file) {
          #expect(
            try Self.anchors(of: file).contains(parts[1]), "\(path) links to \(target)")
        }
      }
    }
  }

  /// Returns the path after resolving all `.` and `..` components.
  private static func normalized(_ path: String) -> String {
    var parts: [Substring] = []
    for part in path.split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return parts.joined(separator: "/")
  }

  /// Returns the anchors of all headings.
  ///
  /// An anchor consists of the words of its heading in lower case, joined by hyphens.
  private static func anchors(of path: String) throws -> Set<String> {
    let headings = try Package.text(of: path).split(separator: "\n").filter { $0.hasPrefix("#") }
    return Set(
      headings.map { heading in
        heading.drop { $0 == "#" || $0 == " " }.lowercased()
          .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
          .map { $0 == " " ? "-" : String($0) }.joined()
      })
  }

  @Test func `are all listed in the reading order`() throws {
    let order = try Package.text(of: "Docs/README.md")
    for path in try Package.files(under: ["Docs"], ending: ".md") where path != "Docs/README.md" {
      #expect(order.contains("(\(path.dropFirst(5)))"), "\(path)")
    }
  }

  @Test func `list every kind of error with its remedy`() throws {
    let guide = try Package.text(of: "Docs/Guides/Errors.md")
    for path in [
      "Sources/HeartwoodEngine/Foundations/StorageError.swift",
      "Sources/Heartwood/Model/ObjectGraphError.swift",
    ] {
      for kind in try Package.text(of: path).matches(of: /static let (\w+) = Kind\(/) {
        #expect(guide.contains("`\(kind.output.1)`"), "\(kind.output.1)")
      }
    }
  }

  /// Returns the names of all suites in the last columns of a document's tables.
  private static func suitesInTables(of path: String) throws -> [String] {
    try Package.text(of: path).matches(of: /\| ([^|\n]+) \|\n/).flatMap { row in
      row.output.1.matches(of: /`(\w+Tests)`/).map { String($0.output.1) }
    }
  }

  @Test func `name suites that exist`() throws {
    let suites = Set(
      try SwiftSource.all(under: "Tests/").flatMap(\.declarations)
        .filter { $0.kind == .type }.map(\.name))
    let named = try Self.suitesInTables(of: "Docs/Trust.md")
    #expect(named.count > 100)
    for suite in named { #expect(suites.contains(suite), "\(suite)") }
  }

  @Test func `mention only the project`() throws {
    // The words are split so that a search for them does not find this file.
    let banned = ["/" + "work", "shared" + "/"]
    for path in try Self.paths() {
      let text = try Package.text(of: path)
      for word in banned { #expect(!text.contains(word), "\(path) says \(word)") }
    }
  }
}
