import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Compares the tokenizer with the word-boundary test cases that Unicode publishes.
///
/// Debian's package `unicode-data` contains these test cases.
@Suite("Unicode's word boundaries")
struct WordBreakTests {
  private static let path = "/usr/share/unicode/auxiliary/WordBreakTest.txt"
  static let isPresent = FileManager.default.fileExists(atPath: path)

  /// A test case, which consists of characters and of the offsets of their boundaries.
  private struct Case {
    var scalars: [Unicode.Scalar] = []
    var boundaries: Set<Int> = []

    /// Reads a line such as `÷ 0061 × 0027 ÷ # comment`.
    init(_ line: Substring) throws {
      for part in line.prefix(while: { $0 != "#" }).split(whereSeparator: \.isWhitespace) {
        switch part {
        case "÷": boundaries.insert(scalars.count)
        case "×": break
        default:
          scalars.append(
            try #require(UInt32(part, radix: 16).flatMap { Unicode.Scalar($0) }))
        }
      }
    }

    var text: String {
      var view = String.UnicodeScalarView()
      view.append(contentsOf: scalars)
      return String(view)
    }
  }

  @Test(.evidence("TX-02"), .enabled(if: isPresent))
  func `words end where Unicode's published cases have boundaries`() throws {
    let lines = try String(contentsOfFile: Self.path, encoding: .utf8)
      .split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("#") }
    // The tokenizer splits runs of kana into pairs, but the test cases do not.
    let cases = try lines.map { (line: $0, own: try Case($0)) }.filter { _, own in
      let kanaCount = own.scalars.count { $0 == "\u{3031}" }
      return kanaCount == 0 || kanaCount == 1 && !own.scalars.contains("_")
    }
    for (line, own) in cases {
      let text = own.text
      var tokens = TextTokens()
      TextTokenizer.words().tokenize(text, into: &tokens)
      let words = tokens.tokens.map {
        String(decoding: Array(text.utf8)[$0.sourceStart..<$0.sourceEnd], as: UTF8.self)
      }
      #expect(words.map { Array($0.unicodeScalars) } == Self.words(own), "\(line)")
    }
    #expect(cases.count > 1500)
  }

  /// Returns the words of a test case, after applying the exceptions that the guarantee lists.
  private static func words(_ own: Case) -> [[Unicode.Scalar]] {
    var words: [[Unicode.Scalar]] = [[]]
    for (offset, scalar) in own.scalars.enumerated() {
      let isUnit =
        scalar.properties.isAlphabetic && !words[words.count - 1].isEmpty
        && words[words.count - 1].allSatisfy { !$0.properties.isAlphabetic && $0 != "_" }
        && isWord(words[words.count - 1])
      if own.boundaries.contains(offset) || isUnit { words.append([]) }
      if scalar == ":" {
        words.append([])
      } else if !words[words.count - 1].isEmpty
        || scalar.properties.generalCategory != .nonspacingMark
      {
        words[words.count - 1].append(scalar)
      }
    }
    return words.filter(isWord).map { word in
      var word = word
      // An apostrophe after a word, or a symbol after a joiner, is not part of the word.
      while let last = word.last, last == "'" || last.properties.generalCategory == .otherSymbol {
        word.removeLast()
      }
      return word
    }
  }

  private static func isWord(_ scalars: [Unicode.Scalar]) -> Bool {
    scalars.contains { $0.properties.isAlphabetic || $0.properties.numericType != nil }
  }
}
