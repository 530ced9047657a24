/// An excerpt from a longer text that shows where a query matches.
public struct TextSnippet: Sendable, Hashable {
  /// The excerpt, with an ellipsis at each end where the text was cut.
  public let text: String
  /// The ranges of ``text`` that match the query, in ascending order.
  public let highlights: [Range<String.Index>]
}

/// The words of one text that match a query.
struct TextHighlights {
  private let text: String
  private let tokens: [TextTokens.Token]
  /// The positions of the matching words, in ascending order.
  private let found: [Int]

  /// Creates highlights by finding the words of a text that match a query.
  ///
  /// Negated parts of the query are ignored.
  ///
  /// - Parameter field: The position of the attribute in the index.
  init(_ text: String, field: Int, _ tree: TextSearchTree, _ tokenizer: TextTokenizer) {
    self.text = text
    var tokens = TextTokens()
    tokenizer.tokenize(text, into: &tokens)
    self.tokens = tokens.tokens
    var texts: [String?] = Array(repeating: nil, count: field)
    texts.append(text)
    let document = TextDocument(texts, tree, tokenizer)
    var found: Set<Int> = []
    func add(_ words: [TextSearchTree.Word]) {
      for start in TextSearchTree.starts(of: words, { document.positions[$0] }) {
        for word in words { found.insert(TextPosition.offset(start) + word.offset) }
      }
    }
    func add(_ node: TextSearchTree.Node) {
      switch node {
      case .leaf(let leaf):
        for position in document.positions[leaf] { found.insert(TextPosition.offset(position)) }
      case .phrase(let words): add(words)
      case .near(let groups, _): for words in groups { add(words) }
      case .all(let nodes), .any(let nodes): for node in nodes { add(node) }
      case .not: break
      }
    }
    if let root = tree.root { add(root) }
    self.found = found.sorted()
  }

  /// The matching ranges of the text, in ascending order.
  var ranges: [Range<String.Index>] {
    merged(found).map { Self.range($0, in: text) }
  }

  private static func range(_ offsets: Range<Int>, in text: String) -> Range<String.Index> {
    let start = text.utf8.index(text.startIndex, offsetBy: offsets.lowerBound)
    return start..<text.utf8.index(start, offsetBy: offsets.count)
  }

  /// Returns the byte ranges of words, with overlapping ranges combined.
  private func merged(_ positions: some Sequence<Int>) -> [Range<Int>] {
    var result: [Range<Int>] = []
    for position in positions {
      let token = tokens[position]
      if let last = result.last, token.sourceStart < last.upperBound {
        result[result.count - 1] = last.lowerBound..<max(last.upperBound, token.sourceEnd)
      } else {
        result.append(token.sourceStart..<token.sourceEnd)
      }
    }
    return result
  }

  /// Returns the passage of `wordCount` words that contains the most matching words.
  func snippet(wordCount: Int) -> TextSnippet {
    let count = max(1, wordCount)
    guard tokens.count > count else { return TextSnippet(text: text, highlights: ranges) }
    var (best, bestCount, end) = (0...0, 0, 0)
    for start in found.indices {
      while end < found.count, found[end] - found[start] < count { end += 1 }
      guard end - start > bestCount else { continue }
      (best, bestCount) = (found[start]...found[end - 1], end - start)
    }
    // Start a little before the first match, to give context, but not so early that the last match
    // no longer fits.
    let lead = min(count / 4, count - best.count)
    let first = min(max(0, best.lowerBound - lead), tokens.count - count)
    let last = first + count - 1
    let lower = first == 0 ? 0 : tokens[first].sourceStart
    let upper = last == tokens.count - 1 ? text.utf8.count : tokens[last].sourceEnd
    let content = String(decoding: Array(text.utf8)[lower..<upper], as: UTF8.self)
    let prefix = first == 0 ? "" : "…"
    let snippet = prefix + content + (last == tokens.count - 1 ? "" : "…")
    let shift = prefix.utf8.count - lower
    let shown = merged(found.filter { (first...last).contains($0) }).map { range in
      Self.range(range.lowerBound + shift..<min(range.upperBound, upper) + shift, in: snippet)
    }
    return TextSnippet(text: snippet, highlights: shown)
  }
}
