/// The words of one object in memory, as far as a query looks for them.
struct TextDocument {
  /// The positions of each leaf, in ascending order.
  private(set) var positions: [[UInt32]]
  /// The number of words.
  private(set) var length = 0

  /// Looks for the leaves of a query in the texts of an object.
  init(_ texts: [String?], _ tree: TextSearchTree, _ tokenizer: TextTokenizer) {
    positions = Array(repeating: [], count: tree.leaves.count)
    var tests = tree.leaves.map { leaf in
      if case .similar(let distance) = leaf.kind {
        TextSimilarity(leaf.term, distance: distance)
      } else {
        TextSimilarity?.none
      }
    }
    var tokens = TextTokens()
    for (field, text) in texts.enumerated() {
      guard let text else { continue }
      tokenizer.tokenize(text, into: &tokens)
      length += tokens.tokens.count
      for token in tokens.tokens {
        let term = tokens.term(token)
        for (position, leaf) in tree.leaves.enumerated()
        where leaf.fields & 1 << UInt64(field) != 0 {
          let matches =
            switch leaf.kind {
            case .word: term.elementsEqual(leaf.term)
            case .prefix: term.starts(with: leaf.term)
            case .similar: tests[position]?.isSimilar(term) ?? false
            }
          if matches { positions[position].append(TextPosition.make(field: field, token.position)) }
        }
      }
    }
  }

  /// Returns whether the object matches a query.
  func matches(_ tree: TextSearchTree) -> Bool { tree.root.map { matches($0) } ?? false }

  private func matches(_ node: TextSearchTree.Node) -> Bool {
    switch node {
    case .leaf(let leaf): !positions[leaf].isEmpty
    case .phrase(let words): !TextSearchTree.starts(of: words) { positions[$0] }.isEmpty
    case .near(let groups, let distance):
      TextSearchTree.areNear(groups, distance: distance) { positions[$0] }
    case .all(let nodes): nodes.allSatisfy { matches($0) }
    case .any(let nodes): nodes.contains { matches($0) }
    case .not(let node): !matches(node)
    }
  }

  /// Returns the relevance of the object.
  func score(_ tree: TextSearchTree, _ ranking: TextRanking) -> Double {
    var score = 0.0
    for leaf in tree.leaves.indices where tree.areScored[leaf] && !positions[leaf].isEmpty {
      let frequency = positions[leaf].reduce(0) { $0 + ranking.weights[TextPosition.field($1)] }
      score += ranking.score(leaf, frequency: frequency, length: length)
    }
    return score
  }
}
