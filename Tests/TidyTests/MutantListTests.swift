import Foundation
import Testing

/// Compares the lists of mutants with the sources.
///
/// An entry whose text no longer occurs in the sources would test nothing.
@Suite("The list of mutants")
struct MutantListTests {
  private static let directory = "Tests/Mutants"

  /// An entry in one of the lists.
  private struct Mutant {
    /// The path of the list.
    let list: String
    /// The values of the entry by key, with the words of each value separated by single spaces.
    var values: [String: String] = [:]

    var name: String { values["mutant"] ?? "\(list): an entry without a name" }
    var text: String? { values["statement"] ?? values["expression"] }

    /// The path of the source.
    ///
    /// The list is in a directory that is named after the module of the source.
    var path: String? {
      let module = list.dropFirst(MutantListTests.directory.count + 1).prefix { $0 != "/" }
      return values["file"].map { "Sources/\(module)/\($0)" }
    }
  }

  private static func mutants() throws -> [Mutant] {
    var mutants: [Mutant] = []
    for path in try Package.files(under: [directory], ending: ".txt") {
      var key: String?
      for line in try Package.text(of: path).components(separatedBy: "\n")
      where !line.hasPrefix("#") {
        let words = words(of: line)
        if words.isEmpty {
          key = nil
        } else if let key, line.hasPrefix(" ") {
          mutants[mutants.count - 1].values[key, default: ""] += " " + words
        } else if let match = words.wholeMatch(of: /(\w+): ?(.*)/) {
          if key == nil { mutants.append(Mutant(list: path)) }
          key = String(match.output.1)
          mutants[mutants.count - 1].values[String(match.output.1)] = String(match.output.2)
        }
      }
    }
    return mutants
  }

  private static func words(of text: String) -> String {
    text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
  }

  /// Returns a source without its comment lines, with all words separated by single spaces.
  private static func code(of path: String) throws -> String {
    words(
      of: try Package.text(of: path).components(separatedBy: "\n")
        .filter { !words(of: $0).hasPrefix("//") }.joined(separator: "\n"))
  }

  private static func count(of text: String, in source: String) -> Int {
    source.components(separatedBy: text).count - 1
  }

  @Test func `contains only texts that occur exactly once in their source`() throws {
    let mutants = try Self.mutants()
    #expect(mutants.count > 400)
    var sources: [String: String] = [:]
    for mutant in mutants {
      let path = try #require(mutant.path, "\(mutant.name)")
      let text = try #require(mutant.text, "\(mutant.name)")
      let source = try sources[path] ?? Self.code(of: path)
      sources[path] = source
      let outer = mutant.values["within"]
      if let outer {
        #expect(Self.count(of: outer, in: source) == 1, "\(mutant.name), within, in \(path)")
      }
      #expect(Self.count(of: text, in: outer ?? source) == 1, "\(mutant.name) in \(path)")
    }
  }

  @Test func `names each mutant once and says why it matters`() throws {
    let mutants = try Self.mutants()
    #expect(Set(mutants.map(\.name)).count == mutants.count)
    for mutant in mutants {
      #expect(mutant.values["why"]?.isEmpty == false, "\(mutant.name)")
      #expect(mutant.values["becomes"] != nil, "\(mutant.name)")
      #expect(
        mutant.values["expression"] == nil || mutant.values["becomes"]?.isEmpty == false,
        "\(mutant.name) leaves nothing of an expression")
      #expect(
        (mutant.values["statement"] == nil) != (mutant.values["expression"] == nil),
        "\(mutant.name)")
    }
  }

  @Test func `names existing suites`() throws {
    let suites = Set(
      try SwiftSource.all(under: "Tests/").flatMap(\.declarations)
        .filter { $0.kind == .type }.map(\.name))
    for mutant in try Self.mutants() {
      let tests = try #require(mutant.values["tests"], "\(mutant.name)")
      for suite in tests.split(separator: "|") {
        #expect(suites.contains(String(suite)), "\(mutant.name): \(suite)")
      }
    }
  }
}
