/// A parser for text typed into a search field.
///
/// Every input is valid.
struct TextQueryParser {
  private enum Item: Equatable {
    case open
    case close
    case and
    case or
    case not
    case near(String)
    case phrase(String)
    case word(String)
    /// A name that is followed by a colon and applies to the next part.
    case name(String)

    /// A Boolean value that indicates whether the item applies to the part that follows it.
    var hasOperand: Bool {
      switch self {
      case .open, .not, .name: true
      case .close, .and, .or, .near, .phrase, .word: false
      }
    }
  }

  /// The maximum length, in Unicode scalars, of the input that is parsed.
  private static let maxScalarCount = 1 << 15
  /// The maximum number of words and phrases that are parsed.
  private static let maxItemCount = 256
  /// The maximum nesting depth of parentheses, names and negations.
  ///
  /// Deeper levels are ignored.
  private static let maxDepth = 32
  /// The maximum number of levels in the parsed query.
  ///
  /// Each pair of parentheses adds a level of alternatives and a level of conjunctions.
  static let maxLevelCount = 3 * maxDepth

  private var items: [Item] = []
  private var position = 0
  private var depth = 0
  /// The number of names that have no operand, and are therefore treated as words.
  private var bareNameCount = 0

  init(_ input: String) {
    var scanner = Scanner(Array(input.unicodeScalars.prefix(Self.maxScalarCount)))
    var count = 0
    while count < Self.maxItemCount, let item = scanner.next() {
      items.append(item)
      switch item {
      case .near, .phrase, .word: count += 1
      default: break
      }
    }
  }

  mutating func query() -> TextQuery.Node {
    var nodes: [TextQuery.Node] = []
    while position < items.count {
      if let node = alternatives() { nodes.append(node) }
      // Ignore an unmatched closing parenthesis.
      if position < items.count { position += 1 }
    }
    return nodes.count == 1 ? nodes[0] : .all(nodes)
  }

  private mutating func alternatives() -> TextQuery.Node? {
    var nodes: [TextQuery.Node] = []
    while true {
      if let node = conjunction() { nodes.append(node) }
      guard position < items.count, items[position] == .or else { break }
      position += 1
    }
    return nodes.count > 1 ? .any(nodes) : nodes.first
  }

  private mutating func conjunction() -> TextQuery.Node? {
    var nodes: [TextQuery.Node] = []
    while position < items.count, items[position] != .or, items[position] != .close {
      if items[position] == .and {
        position += 1
      } else if let node = part() {
        nodes.append(node)
      }
    }
    return nodes.count > 1 ? .all(nodes) : nodes.first
  }

  /// Parses the next part of the input.
  ///
  /// - Returns: The part, or `nil` if there is none, for example because an operator has no
  ///   operand.
  private mutating func part() -> TextQuery.Node? {
    // Skip items that would be nested too deeply, without recursing into them.
    while depth >= Self.maxDepth, position < items.count, items[position].hasOperand {
      position += 1
    }
    guard position < items.count, items[position] != .close, items[position] != .or else {
      return nil
    }
    let item = items[position]
    position += 1
    depth += 1
    defer { depth -= 1 }
    switch item {
    case .close, .and, .or: return nil
    case .near(let text): return Self.near(text)
    case .phrase(let text): return .words(text)
    case .word(let text): return Self.word(text)
    case .not: return part().map { .not($0) }
    case .name(let name):
      if let node = part() { return .named(name, node) }
      bareNameCount += 1
      return bareNameCount <= Self.maxItemCount ? .words(name) : nil
    case .open:
      let node = alternatives()
      if position < items.count, items[position] == .close { position += 1 }
      return node
    }
  }

  private static func word(_ text: String) -> TextQuery.Node {
    if text.hasSuffix("*"), text.count > 1 { return .prefix(String(text.dropLast())) }
    let parts = text.split(separator: "~", omittingEmptySubsequences: false)
    if parts.count == 2, !parts[0].isEmpty, let distance = parts[1].isEmpty ? 1 : Int(parts[1]) {
      return .similar(String(parts[0]), distance: min(max(0, distance), 2))
    }
    return .words(text)
  }

  /// Parses the text between the parentheses of `NEAR(…)`.
  private static func near(_ text: String) -> TextQuery.Node {
    var content = text
    var distance = 10
    if let comma = text.lastIndex(of: ","),
      let number = Int(text[text.index(after: comma)...].filter { !$0.isWhitespace })
    {
      content = String(text[..<comma])
      distance = max(0, number)
    }
    var scanner = Scanner(Array(content.unicodeScalars))
    var texts: [String] = []
    while let item = scanner.next() {
      switch item {
      case .phrase(let text), .word(let text): texts.append(text)
      default: break
      }
    }
    return .near(texts, distance: distance)
  }

  /// A scanner that splits the input into items.
  private struct Scanner {
    private let scalars: [Unicode.Scalar]
    private var position = 0

    init(_ scalars: [Unicode.Scalar]) { self.scalars = scalars }

    private func text(_ range: Range<Int>) -> String {
      var view = String.UnicodeScalarView()
      view.append(contentsOf: scalars[range])
      return String(view)
    }

    private static func isQuote(_ scalar: Unicode.Scalar) -> Bool {
      ["\"", "\u{201C}", "\u{201D}", "\u{201E}"].contains(scalar)
    }

    private static func endsWord(_ scalar: Unicode.Scalar) -> Bool {
      scalar.properties.isWhitespace || scalar == "(" || scalar == ")" || isQuote(scalar)
    }

    mutating func next() -> Item? {
      while position < scalars.count, scalars[position].properties.isWhitespace { position += 1 }
      guard position < scalars.count else { return nil }
      let start = position
      position += 1
      switch scalars[start] {
      case "(": return .open
      case ")": return .close
      case "-" where position < scalars.count && !scalars[position].properties.isWhitespace:
        return .not
      case let scalar where Self.isQuote(scalar):
        while position < scalars.count, !Self.isQuote(scalars[position]) { position += 1 }
        defer { position += 1 }
        return .phrase(text(start + 1..<position))
      default: return word(from: start)
      }
    }

    private mutating func word(from start: Int) -> Item {
      while position < scalars.count, !Self.endsWord(scalars[position]) {
        if scalars[position] == ":", isName(start..<position), position + 1 < scalars.count,
          !scalars[position + 1].properties.isWhitespace
        {
          defer { position += 1 }
          return .name(text(start..<position))
        }
        position += 1
      }
      let word = text(start..<position)
      switch word {
      case "AND": return .and
      case "OR": return .or
      case "NOT": return .not
      case "NEAR" where position < scalars.count && scalars[position] == "(":
        let begin = position + 1
        while position < scalars.count, scalars[position] != ")" { position += 1 }
        defer { position += 1 }
        return .near(text(min(begin, position)..<position))
      default: return .word(word)
      }
    }

    private func isName(_ range: Range<Int>) -> Bool {
      var isFirst = true
      for scalar in scalars[range] {
        let isLetter = scalar.properties.isAlphabetic || scalar == "_" || scalar == "."
        let isDigit = scalar.properties.generalCategory == .decimalNumber
        guard isLetter || isDigit && !isFirst else { return false }
        isFirst = scalar == "."
      }
      return !range.isEmpty
    }
  }
}
