import Testing

/// The vocabulary: the terms of the field, not the words they have replaced.
@Suite("The vocabulary")
struct RetiredWordsTests {
  /// Replaced identifiers, or the starts of several.
  private static let identifiers = [
    "SharedWords", "HolderMark", "SegmentSupply", "WriterGate", "SurvivorMap", "WholeFile",
    "KeptGenerations", "keptGenerations", "TreePlace", "CommitListener", "PageUse", "pageUse",
    "PagePicture", "StoreFolder", "ReclaimRecord", "backfilled", "heldBackBy", "keptByteCount",
    "forEachPiece", "canReclaimParts", "closedForWriting", "pagesLogged", "bytesLogged",
    "logSyncs", "directorySyncs", "pagesCheckpointed", "pageFileSyncs", "segmentsDeleted",
    "pagesVerified",
  ]

  /// Identifiers that begin like a replaced one.
  private static let currentIdentifiers: Set<String> = [
    "CommitListeners", "PageUsage", "PageUsageTests", "pageUsage",
  ]

  /// Replaced words. A process, a thread, a reader and a writer are "it".
  private static let words: Set<String> = [
    "he", "him", "his", "himself", "whom", "whoever", "nobody", "somebody", "anybody", "survivor",
    "survivors", "witness", "witnesses", "backfilled", "folder", "folders", "upkeep", "uniques",
    "mend", "mends", "mended", "mending",
  ]

  /// Replaced phrases: each of some words, followed by each of others.
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

  /// People: a sentence may say "who" of them.
  private static let people: Set<String> = ["users", "attacker", "people", "programmers"]

  /// The object layer and its tests, which still use these words, and the contract.
  private static let exemptDirectories = [
    "Sources/Heartwood/", "Sources/Quakes/", "Tests/HeartwoodTests/", "Tests/QuakesTests/",
    "Tests/DocumentTests/", "Tests/Contract/",
  ]

  /// The changelog, which lists former names, and documents that still use these words.
  private static let exemptDocuments: Set<String> = [
    "Docs/Changelog.md", "Docs/Conflicts.md", "Docs/ObjectGraph.md", "Docs/README.md",
    "Docs/Tutorial.md", "Docs/Upkeep.md", "README.md",
  ]

  /// This file, which lists the words.
  private static let listing = "Tests/TidyTests/RetiredWordsTests.swift"

  @Test func `has no retired identifier`() throws {
    for source in try SwiftSource.all() where source.path != Self.listing {
      for token in source.tokens where !Self.currentIdentifiers.contains(token.text) {
        let isRetired = Self.identifiers.contains { token.text.hasPrefix($0) }
        #expect(!isRetired, "\(source.path):\(token.line) \(token.text)")
      }
    }
  }

  @Test func `has no retired word in a comment or the name of a test`() throws {
    for source in try SwiftSource.all() where Self.isCovered(source.path) {
      for (position, line) in source.lines.enumerated() {
        guard let prose = Self.prose(in: line) else { continue }
        #expect(Self.retired(in: prose) == [], "\(source.path):\(position + 1)")
      }
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
    for path in paths where !Self.exemptDocuments.contains(path) {
      for line in try Package.text(of: path).split(separator: "\n") {
        #expect(Self.retired(in: String(line)) == [], "\(path): \(line)")
      }
    }
  }

  private static func isCovered(_ path: String) -> Bool {
    path != listing && !exemptDirectories.contains { path.hasPrefix($0) }
  }

  /// Returns the comment, or the sentence that names a test or a suite, on a line.
  private static func prose(in line: String) -> String? {
    if let comment = line.wholeMatch(of: /\s*\/\/+(.*)/) { return String(comment.output.1) }
    let name = line.firstMatch(of: /func `([^`]+)`/) ?? line.firstMatch(of: /@Suite\("([^"]+)"/)
    return name.map { String($0.output.1) }
  }

  /// Returns the retired words in a text, but not in names in backticks.
  private static func retired(in text: String) -> [String] {
    let outside = text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
    let prose = outside.map { $0 % 2 == 0 ? String($1) : "_" }.joined()
    let found = prose.lowercased().split { !$0.isLetter && $0 != "-" && $0 != "_" }.map(String.init)
    var result = found.filter(words.contains)
    for (first, second) in zip(["_"] + found, found) {
      let isPhrase = phrases.contains { $0.first.contains(first) && $0.second.contains(second) }
      let isPerson = people.contains(first)
      if isPhrase || second == "who" && !isPerson { result.append("\(first) \(second)") }
    }
    return result
  }
}
