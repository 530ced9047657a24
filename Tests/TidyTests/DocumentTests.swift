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

  @Test func `name tests that exist`() throws {
    let files = try Package.files(under: ["Tests"], ending: "Tests.swift")
    let named = try Package.text(of: "Docs/Trust.md").matches(of: /`(\w+Tests)`: `([^`]+)`/)
    #expect(named.count > 50)
    for test in named {
      let (file, name) = (String(test.output.1), String(test.output.2))
      let texts = try files.filter { $0.hasSuffix("/\(file).swift") }.map(Package.text(of:))
      #expect(texts.contains { $0.contains("func `\(name)`") }, "\(file): \(name)")
    }
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
