/// The occurrences of a query's words in one in-memory object.
struct TextDocument {
  /// For each leaf of the query, the positions at which it occurs, in ascending order.
  private(set) var positions: [[UInt32]]
  /// The number of words.
  private(set) var length = 0
  /// For each leaf, a Boolean value that indicates whether it occurs in any attribute, including
  /// attributes that the leaf does not search.
  private(set) var occurs: [Bool]

  /// Creates a document by looking for the leaves of a query in the attributes of an object.
  init(_ texts: [String?], _ tree: TextSearchTree, _ tokenizer: TextTokenizer) {
    self.init(tree)
    var test = LeafTest(tree)
    var tokens = TextTokens()
    for (field, text) in texts.enumerated() {
      guard let text else { continue }
      tokenizer.tokenize(text, into: &tokens)
      length += tokens.tokens.count
      for token in tokens.tokens {
        let term = tokens.term(token)
        for leaf in tree.leaves.indices where test.matches(leaf, term) {
          occurs[leaf] = true
          guard tree.leaves[leaf].fields & 1 << UInt64(field) != 0 else { continue }
          positions[leaf].append(TextPosition.make(field: field, token.position))
        }
      }
    }
  }

  /// Creates a document by looking for the leaves of a query in text that has already been split
  /// into words.
  ///
  /// - Parameter words: The terms, each with a closure that returns its positions in the given
  ///   attributes.
  init(
    length: Int, _ words: some Sequence<(term: [UInt8], positions: (UInt64) throws -> [UInt32])>,
    _ tree: TextSearchTree
  ) throws {
    self.init(tree)
    self.length = length
    var test = LeafTest(tree)
    for (term, own) in words {
      for leaf in tree.leaves.indices where test.matches(leaf, term[...]) {
        occurs[leaf] = true
        positions[leaf] += try own(tree.leaves[leaf].fields)
      }
    }
    for leaf in positions.indices { positions[leaf].sort() }
  }

  private init(_ tree: TextSearchTree) {
    positions = Array(repeating: [], count: tree.leaves.count)
    occurs = Array(repeating: false, count: tree.leaves.count)
  }

  /// A comparison of terms with the leaves of a query.
  private struct LeafTest {
    private let leaves: [TextSearchTree.Leaf]
    private var similarities: [TextSimilarity?]

    init(_ tree: TextSearchTree) {
      leaves = tree.leaves
      similarities = leaves.map { leaf in
        guard case .similar(let distance) = leaf.kind else { return nil }
        return TextSimilarity(leaf.term, distance: distance)
      }
    }

    mutating func matches(_ leaf: Int, _ term: ArraySlice<UInt8>) -> Bool {
      switch leaves[leaf].kind {
      case .word: term.elementsEqual(leaves[leaf].term)
      case .prefix(let stems):
        term.starts(with: leaves[leaf].term) || stems.contains { $0.elementsEqual(term) }
      case .similar: similarities[leaf]?.compare(term) == .similar
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

  /// Returns the relevance of the object to a query.
  func score(_ tree: TextSearchTree, _ ranking: TextRanking) -> Double {
    var score = 0.0
    for leaf in tree.leaves.indices where tree.areScored[leaf] && !positions[leaf].isEmpty {
      let frequency = positions[leaf].reduce(0) { $0 + ranking.weights[TextPosition.field($1)] }
      score += ranking.score(leaf, frequency: frequency, length: length)
    }
    return score
  }
}
