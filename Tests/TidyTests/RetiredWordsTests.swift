import Foundation
import Testing

/// Checks that the code and the documents use established terms, and not the words that these terms
/// have replaced.
@Suite("The vocabulary")
struct RetiredWordsTests {
  /// Identifiers that have been replaced, and prefixes that several such identifiers have in
  /// common.
  private static let identifiers = [
    "SharedWords", "HolderMark", "SegmentSupply", "WriterGate", "SurvivorMap", "WholeFile",
    "KeptGenerations", "keptGenerations", "TreePlace", "CommitListener", "ModelJoining", "PageUse",
    "pageUse", "PagePicture", "StoreFolder", "ReclaimRecord", "backfilled", "heldBackBy",
    "keptByteCount", "forEachPiece", "canReclaimParts", "closedForWriting", "pagesLogged",
    "bytesLogged", "logSyncs", "directorySyncs", "pagesCheckpointed", "pageFileSyncs",
    "segmentsDeleted", "pagesVerified",
  ]

  /// Words that have been replaced.
  ///
  /// Processes, threads, readers and writers are called "it".
  private static let words: Set<String> = [
    "he", "him", "his", "himself", "whoever", "nobody", "somebody", "anybody", "survivor",
    "survivors", "witness", "witnesses", "backfilled", "folder", "folders", "upkeep", "uniques",
    "mend", "mends", "mended", "mending",
  ]

  /// Phrases that have been replaced, each of which consists of a word of the first set followed by
  /// a word of the second.
  private static let phrases: [(first: Set<String>, second: Set<String>)] = [
    (["give", "gives", "giving", "given", "gave"], ["up", "back"]),
    (["take", "takes", "taking", "taken", "took"], ["back"]),
    (["go", "goes", "going", "gone", "went"], ["on", "home"]),
    (["come", "comes", "coming", "came", "move", "moves", "moving", "moved"], ["home"]),
    (["stand", "stands", "standing", "stood"], ["still"]),
    (["let", "lets", "letting"], ["go"]),
    (["kept"], ["generation", "generations"]),
    (["shared"], ["words"]),
    (["whole"], ["file", "files"]),
    (["by"], ["halves"]),
  ]

  /// The second words of the phrases, and "who".
  private static let followers = phrases.reduce(into: Set(["who"])) { $0.formUnion($1.second) }

  /// The words that stand for people and may therefore be followed by "who".
  private static let people: Set<String> = ["user", "users", "attacker", "others"]

  /// The path of this file, which lists the words.
  private static let listing = "Tests/TidyTests/RetiredWordsTests.swift"
  /// The path of the changelog, which mentions former names.
  private static let changelog = "Docs/Changelog.md"

  @Test func `has no retired identifier`() throws {
    for source in try SwiftSource.all() where source.path != Self.listing {
      // Each identifier is compared only once, because comparing every token would take most of the
      // time.
      let found = Set(source.tokens.map(\.text)).filter { text in
        Self.identifiers.contains { text.hasPrefix($0) }
      }
      #expect(found.sorted() == [], "\(source.path)")
    }
  }

  @Test func `has no retired word in a comment or the name of a test`() throws {
    for source in try SwiftSource.all() where source.path != Self.listing {
      let found = source.lines.enumerated().flatMap { position, line in
        Self.prose(in: line).map { prose in
          Self.retired(in: prose).map { "line \(position + 1): \($0)" }
        } ?? []
      }
      #expect(found == [], "\(source.path)")
    }
  }

  @Test func `has no retired word in the list of mutants`() throws {
    for path in try Package.files(under: ["Tests/Mutants"], ending: ".txt") {
      for line in try Package.text(of: path).split(separator: "\n") {
        let isProse = ["#", "mutant:", "why:", "equivalent:"].contains { line.hasPrefix($0) }
        if isProse { #expect(Self.retired(in: String(line)) == [], "\(path): \(line)") }
      }
    }
  }

  @Test func `has no retired word in a document`() throws {
    let paths = ["README.md"] + (try Package.files(under: ["Docs"], ending: ".md"))
    for path in paths where path != Self.changelog {
      let sections = try Package.text(of: path).components(separatedBy: "```")
      for (position, prose) in sections.enumerated() where position % 2 == 0 {
        for line in prose.split(separator: "\n") {
          #expect(Self.retired(in: String(line)) == [], "\(path): \(line)")
        }
      }
    }
  }

  /// Returns the text of a comment line, or the name of a test or a suite, or `nil` if the line
  /// contains neither.
  private static func prose(in line: String) -> String? {
    let code = line.drop { $0 == " " }
    if code.hasPrefix("//") { return String(code.drop { $0 == "/" }) }
    // Matching each line would take most of the time.
    guard code.contains("func `") || code.hasPrefix("@Suite") else { return nil }
    let name = line.firstMatch(of: /func `([^`]+)`/) ?? line.firstMatch(of: /@Suite\("([^"]+)"/)
    return name.map { String($0.output.1) }
  }

  /// Returns the retired words that occur in a text, ignoring everything in backticks.
  private static func retired(in text: String) -> [String] {
    let found = proseWords(in: text)
    var result = found.filter(words.contains)
    for (first, second) in zip(["_"] + found, found) where followers.contains(second) {
      let isPhrase = phrases.contains { $0.first.contains(first) && $0.second.contains(second) }
      let isPerson = people.contains(first)
      if isPhrase || second == "who" && !isPerson { result.append("\(first) \(second)") }
    }
    return result
  }

  /// Returns the words of a text in lower case, in which everything in backticks is an underscore.
  ///
  /// Reading bytes instead of characters makes these tests ten times as fast.
  private static func proseWords(in text: String) -> [String] {
    var result: [String] = []
    var word: [UInt8] = []
    var isQuoted = false
    for byte in Array(text.utf8) {
      if byte == UInt8(ascii: "`") {
        isQuoted.toggle()
        if isQuoted { word.append(UInt8(ascii: "_")) }
      } else if !isQuoted, SwiftSource.isWordPart(byte) || byte == UInt8(ascii: "-") {
        word.append(byte)
      } else if !isQuoted, !word.isEmpty {
        result.append(String(decoding: word, as: UTF8.self).lowercased())
        word.removeAll()
      }
    }
    if !word.isEmpty { result.append(String(decoding: word, as: UTF8.self).lowercased()) }
    return result
  }
}
