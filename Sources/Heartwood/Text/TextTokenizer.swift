/// A rule for splitting text into the terms used by text indexes and text queries.
public struct TextTokenizer: Sendable {
  /// A language whose word endings are removed, so that a query finds all forms of a word.
  public enum Stemming: String, Sendable, Hashable {
    /// Words are indexed unchanged.
    case none
    /// English word endings are removed with Porter's algorithm.
    case english
  }

  enum Kind {
    case words(WordScanner)
    case custom(any CustomTextTokenizer)
    /// A custom tokenizer that is not available in this process.
    ///
    /// A command-line tool, for example, knows only the tokenizer's name.
    case unknown
  }

  let kind: Kind
  /// The name and the version, as recorded in the store.
  ///
  /// When the identifier changes, the index is rebuilt.
  let identifier: String

  /// Returns a tokenizer for words in all languages.
  ///
  /// Words are separated as in Unicode Standard Annex #29, with these exceptions:
  /// - Parts of e-mail addresses and URLs are separate words.
  /// - Letters after a number begin a new word.
  /// - An apostrophe at the end of a word is dropped.
  /// - Runs of Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese characters are split into
  ///   overlapping pairs.
  ///
  /// - Parameters:
  ///   - stemming: The language whose word endings are removed.
  ///   - ignoresCase: `true` to treat uppercase and lowercase letters as equal.
  ///   - ignoresDiacritics: `true` to treat letters with and without accents as equal.
  public static func words(
    stemming: Stemming = .none, ignoresCase: Bool = true, ignoresDiacritics: Bool = true
  ) -> TextTokenizer {
    TextTokenizer(
      WordScanner(
        stemming: stemming, ignoresCase: ignoresCase, ignoresDiacritics: ignoresDiacritics))
  }

  /// Returns a tokenizer that uses your own implementation.
  public static func custom(_ tokenizer: some CustomTextTokenizer) -> TextTokenizer {
    TextTokenizer(
      kind: .custom(tokenizer), identifier: "custom-\(tokenizer.name)-\(tokenizer.version)")
  }

  private init(kind: Kind, identifier: String) {
    self.kind = kind
    self.identifier = identifier
  }

  private init(_ scanner: WordScanner) {
    kind = .words(scanner)
    var identifier = "words-\(WordScanner.version)"
    if scanner.stemming != .none { identifier += "+\(scanner.stemming.rawValue)" }
    if !scanner.ignoresCase { identifier += "+case" }
    if !scanner.ignoresDiacritics { identifier += "+diacritics" }
    self.identifier = identifier
  }

  /// Creates a tokenizer from an identifier recorded in a store.
  init(identifier: String) {
    for stemming in [Stemming.none, .english] {
      for flags in 0..<4 {
        let known = TextTokenizer.words(
          stemming: stemming, ignoresCase: flags & 1 == 0, ignoresDiacritics: flags & 2 == 0)
        guard known.identifier != identifier else {
          self = known
          return
        }
      }
    }
    self.init(kind: .unknown, identifier: identifier)
  }

  /// The tokenizer without stemming, which is used for queries that contain the beginning of a
  /// word.
  var withoutStemming: TextTokenizer {
    guard case .words(let scanner) = kind else { return self }
    return .words(ignoresCase: scanner.ignoresCase, ignoresDiacritics: scanner.ignoresDiacritics)
  }

  /// Returns the stems of words that could start with `beginning`.
  ///
  /// Stems that themselves start with `beginning` are omitted.
  func stems(completing beginning: [UInt8]) -> [[UInt8]] {
    guard case .words(let scanner) = kind, scanner.stemming == .english else { return [] }
    var stemmer = PorterStemmer()
    return stemmer.stems(completing: beginning)
  }

  /// A Boolean value that indicates whether the tokenizer can be used.
  ///
  /// A command-line tool cannot use a custom tokenizer that is implemented in another program.
  var isKnown: Bool {
    if case .unknown = kind { return false }
    return true
  }

  /// A Boolean value that indicates whether the name of a custom tokenizer can be part of a
  /// keyspace's name.
  var hasValidName: Bool {
    guard case .custom(let tokenizer) = kind else { return true }
    return (1...64).contains(tokenizer.name.utf8.count)
      && tokenizer.name.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
          || $0 == 0x2D
      }
  }

  /// Replaces `tokens` with the tokens of a string.
  package func tokenize(_ text: String, into tokens: inout TextTokens) {
    tokens.removeAll()
    switch kind {
    case .words(let scanner):
      var run = WordScan(scanner, text)
      run.scan(into: &tokens)
    case .custom(let tokenizer):
      var isFull = false
      tokenizer.forEachToken(in: text) { term, range in
        guard !isFull else { return }
        let start = tokens.bytes.count
        tokens.bytes.append(contentsOf: term.utf8.prefix(2 * TextTokens.maxTermByteCount))
        // Clamp the range to `text`, because a custom tokenizer may return a range from another
        // string.
        let lower = min(range.lowerBound, text.endIndex)
        let upper = min(range.upperBound, text.endIndex)
        isFull = !tokens.end(
          start,
          text.utf8.distance(
            from: text.startIndex, to: lower)..<text.utf8.distance(
              from: text.startIndex, to: upper))
      }
    case .unknown: break
    }
  }
}

/// A tokenizer that you implement.
///
/// The store records the name and the version. Increase the version whenever the tokenizer's
/// results change, so that the index is rebuilt when the store is next opened.
public protocol CustomTextTokenizer: Sendable {
  /// The name recorded in the store: up to 64 ASCII letters, digits and hyphens.
  var name: String { get }
  /// The version of the tokenizer's rules.
  var version: Int { get }

  /// Calls `body` with each term and the range of its word, in text order.
  ///
  /// The same text must always yield the same terms. Terms are truncated to 128 UTF-8 bytes.
  func forEachToken(in text: String, _ body: (_ term: String, _ range: Range<String.Index>) -> Void)
}
