/// A text query whose text has been split into terms by a tokenizer.
struct TextSearchTree {
  /// A test for a single term.
  struct Leaf: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      case word
      /// The term begins with the given text, or is the stem of a word that could begin with the
      /// text.
      case prefix(stems: [[UInt8]])
      case similar(distance: Int)
    }

    let kind: Kind
    let term: [UInt8]
    /// The attributes to search.
    ///
    /// Each attribute is represented by one bit, at the attribute's position in the index.
    let fields: UInt64
  }

  /// A word in a phrase: a leaf and its distance from the first word.
  struct Word: Hashable, Sendable {
    let leaf: Int
    let offset: Int
  }

  indirect enum Node: Hashable, Sendable {
    case leaf(Int)
    case phrase([Word])
    case near([[Word]], distance: Int)
    case all([Node])
    case any([Node])
    case not(Node)
  }

  private(set) var leaves: [Leaf] = []
  private(set) var root: Node?
  /// For each leaf, a Boolean value that indicates whether it contributes to the relevance.
  ///
  /// Negated leaves do not contribute.
  private(set) var areScored: [Bool] = []
  /// For each leaf, a Boolean value that indicates whether its positions are needed.
  ///
  /// The positions of a leaf are needed if the leaf is part of a phrase or of a `NEAR` search.
  private(set) var needPositions: [Bool] = []
  private var positions: [Leaf: Int] = [:]
  private let tokenizer: TextTokenizer
  private let field: (TextQueryAttribute) throws -> Int?
  private var isNegated = false
  /// The number of words that the query may still contain, or `nil` if there is no limit.
  ///
  /// Only queries from user input have a limit.
  private var inputWordCount: Int?
  private var inputSimilarCount = 0

  /// The maximum number of different terms in a query.
  static let maxLeafCount = 1000
  /// The maximum number of words in a phrase.
  static let maxPhraseWordCount = 1000
  /// The maximum number of words, phrases and attributes in a query.
  static let maxPartCount = 10_000
  /// The maximum number of levels in a query.
  static let maxLevelCount = 256
  /// The maximum number of words to use from user input.
  private static let maxInputWordCount = 256
  /// The maximum number of words in user input for which similar words are found.
  private static let maxInputSimilarCount = 16

  /// The error for a query that is too large.
  struct TooLarge: Error {}

  /// Creates a tree by splitting the text of a query into terms.
  ///
  /// - Parameter field: A closure that returns the position of an attribute in the index, or `nil`
  ///   for a name that is not an attribute of the index.
  /// - Throws: ``TooLarge``, or an error that `field` throws.
  init(
    _ query: TextQuery, _ tokenizer: TextTokenizer, fieldCount: Int,
    field: @escaping (TextQueryAttribute) throws -> Int?
  ) throws {
    self.tokenizer = tokenizer
    self.field = field
    root = try node(query.node, (1 << UInt64(fieldCount)) &- 1)
  }

  private mutating func node(_ node: TextQuery.Node, _ fields: UInt64) throws -> Node? {
    switch node {
    case .tooLarge: throw TooLarge()
    case .input(let operand):
      (inputWordCount, inputSimilarCount) = (Self.maxInputWordCount, 0)
      defer { inputWordCount = nil }
      return try self.node(operand, fields)
    case .words(let text): return try phrase(words(text, .word, fields))
    case .prefix(let text): return try phrase(words(text, .prefix(stems: []), fields))
    case .similar(let text, let distance):
      inputSimilarCount += 1
      let isWord = inputWordCount != nil && inputSimilarCount > Self.maxInputSimilarCount
      return try phrase(words(text, isWord ? .word : .similar(distance: distance), fields))
    case .near(let texts, let distance):
      var seen: Set<[Word]> = []
      let groups = try texts.map { try words($0, .word, fields) }
        .filter { !$0.isEmpty && seen.insert($0).inserted }
      guard groups.count > 1 else { return try groups.first.flatMap { try phrase($0) } }
      for word in groups.joined() { needPositions[word.leaf] = true }
      return .near(groups, distance: distance)
    case .all(let nodes): return try combined(nodes, fields, areAlternatives: false)
    case .any(let nodes): return try combined(nodes, fields, areAlternatives: true)
    case .not(let operand):
      isNegated.toggle()
      defer { isNegated.toggle() }
      return try self.node(operand, fields).map { .not($0) }
    case .attributes(let operand, let keyPaths):
      let chosen = try keyPaths.reduce(into: UInt64(0)) { bits, keyPath in
        if let position = try field(.keyPath(keyPath)) { bits |= 1 << UInt64(position) }
      }
      return try self.node(operand, fields & chosen)
    case .named(let name, let operand):
      guard let position = try field(.name(name)) else {
        return try self.node(.all([.words(name), operand]), fields)
      }
      return try self.node(operand, fields & 1 << UInt64(position))
    }
  }

  /// Combines parts of a query, either as alternatives or as conditions that must all hold.
  ///
  /// Each distinct part is used only once.
  private mutating func combined(
    _ nodes: [TextQuery.Node], _ fields: UInt64, areAlternatives: Bool
  ) throws -> Node? {
    var result: [Node] = []
    var seen: Set<Node> = []
    for node in nodes {
      let parts: [Node] =
        switch (try self.node(node, fields), areAlternatives) {
        case (.all(let parts), false), (.any(let parts), true): parts
        case (let part, _): part.map { [$0] } ?? []
        }
      for part in parts where seen.insert(part).inserted { result.append(part) }
    }
    guard result.count > 1 else { return result.first }
    return areAlternatives ? .any(result) : .all(result)
  }

  private mutating func phrase(_ words: [Word]) throws -> Node? {
    guard words.count > 1 else { return words.first.map { .leaf($0.leaf) } }
    for word in words { needPositions[word.leaf] = true }
    return .phrase(words)
  }

  /// Returns the words of a string.
  ///
  /// - Parameter kind: The kind of test for the last word. All other words must occur exactly as
  ///   given.
  private mutating func words(
    _ text: String, _ kind: Leaf.Kind, _ fields: UInt64
  ) throws -> [Word] {
    var tokens = TextTokens()
    tokenizer.tokenize(text, into: &tokens)
    var used: [TextTokens.Token] = []
    for token in tokens.tokens {
      // Skip the single character at the end of a run, because the preceding pair already contains
      // it.
      if token.isTail, let last = used.last, last.sourceEnd == token.sourceEnd { continue }
      used.append(token)
    }
    if let count = inputWordCount {
      used.removeSubrange(min(count, used.count)...)
      inputWordCount = count - used.count
    }
    guard used.count <= Self.maxPhraseWordCount else { throw TooLarge() }
    return try used.enumerated().map { index, token in
      let isLast = index == used.count - 1
      // To find a single character, search for pairs that begin with it, because the index contains
      // pairs of characters.
      let own: Leaf.Kind = token.isTail ? .prefix(stems: []) : isLast ? kind : .word
      var leaf = Leaf(kind: own, term: Array(tokens.term(token)), fields: fields)
      if case .prefix = own, !token.isTail { leaf = beginning(text, token, fields) }
      return Word(leaf: try position(of: leaf), offset: token.position - used[0].position)
    }
  }

  /// Returns the leaf for words that begin with a token's text.
  ///
  /// The index contains stems, but the beginning of a word can be longer than the word's stem. For
  /// example, "runn" is longer than "run". The leaf therefore also matches the stems of all words
  /// that could begin with the text.
  private func beginning(_ text: String, _ token: TextTokens.Token, _ fields: UInt64) -> Leaf {
    var tokens = TextTokens()
    tokenizer.withoutStemming.tokenize(text, into: &tokens)
    // Find the token by its position, because stemming does not affect positions.
    let own = tokens.tokens.first { $0.position == token.position } ?? token
    let term = Array(tokens.term(own))
    return Leaf(kind: .prefix(stems: tokenizer.stems(completing: term)), term: term, fields: fields)
  }

  private mutating func position(of leaf: Leaf) throws -> Int {
    let position: Int
    if let known = positions[leaf] {
      position = known
    } else {
      guard leaves.count < Self.maxLeafCount else { throw TooLarge() }
      position = leaves.count
      positions[leaf] = position
      leaves.append(leaf)
      areScored.append(false)
      needPositions.append(false)
    }
    if !isNegated { areScored[position] = true }
    return position
  }
}

/// An attribute to which a part of a query is restricted.
enum TextQueryAttribute {
  case keyPath(any AnyKeyPath & Sendable)
  case name(String)
}
