/// A text query whose texts a tokenizer has split into terms.
struct TextSearchTree {
  /// A test of single terms.
  struct Leaf: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      case word
      case prefix
      case similar(distance: Int)
    }

    let kind: Kind
    let term: [UInt8]
    /// The attributes that are searched: one bit for each, at the attribute's position in the
    /// index.
    let fields: UInt64
  }

  /// A word of a phrase: a leaf, and the distance of its position from that of the first word.
  struct Word: Sendable {
    let leaf: Int
    let offset: Int
  }

  indirect enum Node: Sendable {
    case leaf(Int)
    case phrase([Word])
    case near([[Word]], distance: Int)
    case all([Node])
    case any([Node])
    case not(Node)
  }

  private(set) var leaves: [Leaf] = []
  private(set) var root: Node?
  /// Whether each leaf contributes to the relevance, which leaves below a negation do not.
  private(set) var areScored: [Bool] = []
  /// Whether the positions of each leaf are needed, because it is part of a phrase.
  private(set) var needPositions: [Bool] = []
  private var positions: [Leaf: Int] = [:]
  private let tokenizer: TextTokenizer
  private let field: (TextQueryAttribute) throws -> Int?
  private var isNegated = false
  private var depth = 0

  /// The maximum number of different terms in a query.
  static let maxLeafCount = 1000
  /// The maximum number of levels in a query.
  static let maxDepth = 256

  /// The error for a query that is too large.
  struct TooLarge: Error {}

  /// Splits the texts of a query into terms.
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
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.maxDepth else { throw TooLarge() }
    switch node {
    case .words(let text): return try phrase(words(text, tokenizer, .word, fields))
    case .prefix(let text):
      return try phrase(words(text, tokenizer.withoutStemming, .prefix, fields))
    case .similar(let text, let distance):
      return try phrase(words(text, tokenizer, .similar(distance: distance), fields))
    case .near(let texts, let distance):
      let groups = try texts.map { try words($0, tokenizer, .word, fields) }.filter { !$0.isEmpty }
      guard groups.count > 1 else { return try groups.first.flatMap { try phrase($0) } }
      for word in groups.joined() { needPositions[word.leaf] = true }
      return .near(groups, distance: distance)
    case .all(let nodes): return try combined(nodes, fields) { .all($0) }
    case .any(let nodes): return try combined(nodes, fields) { .any($0) }
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

  private mutating func combined(
    _ nodes: [TextQuery.Node], _ fields: UInt64, _ combine: ([Node]) -> Node
  ) throws -> Node? {
    var result: [Node] = []
    for node in nodes {
      if let node = try self.node(node, fields) { result.append(node) }
    }
    return result.count > 1 ? combine(result) : result.first
  }

  private mutating func phrase(_ words: [Word]) throws -> Node? {
    guard words.count > 1 else { return words.first.map { .leaf($0.leaf) } }
    for word in words { needPositions[word.leaf] = true }
    return .phrase(words)
  }

  /// Returns the words of a text.
  ///
  /// - Parameter kind: The kind of the last word. All other words must occur exactly as given.
  private mutating func words(
    _ text: String, _ tokenizer: TextTokenizer, _ kind: Leaf.Kind, _ fields: UInt64
  ) throws -> [Word] {
    var tokens = TextTokens()
    tokenizer.tokenize(text, into: &tokens)
    var used: [TextTokens.Token] = []
    for token in tokens.tokens {
      // The last character of a run is part of the pair before it.
      if token.isTail, let last = used.last, last.sourceEnd == token.sourceEnd { continue }
      used.append(token)
    }
    return try used.enumerated().map { index, token in
      // Search for a single character of a run as the beginning of a pair.
      let isLast = index == used.count - 1
      let own: Leaf.Kind = token.isTail ? .prefix : isLast ? kind : .word
      let leaf = Leaf(kind: own, term: Array(tokens.term(token)), fields: fields)
      return Word(leaf: try position(of: leaf), offset: token.position - used[0].position)
    }
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
