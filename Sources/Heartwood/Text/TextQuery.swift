/// A full-text query: words that objects with a ``TextIndex`` must contain.
///
/// ```swift
/// let typed = TextQuery(userInput: searchField)
/// let built = TextQuery.word("swift") && !.phrase("taylor swift")
/// ```
///
/// The tokenizer of the index splits the text of a query into terms. Parts without terms are
/// ignored, and a query without terms matches nothing.
public struct TextQuery: Sendable {
  /// A part of a query.
  indirect enum Node: Sendable {
    /// A query with too many levels or parts, which throws an error when it is used.
    case tooLarge
    /// User input, of which only the first words are used.
    case input(Node)
    case words(String)
    case prefix(String)
    case similar(String, distance: Int)
    case near([String], distance: Int)
    case all([Node])
    case any([Node])
    case not(Node)
    case attributes(Node, [any AnyKeyPath & Sendable])
    /// The part of the user input that follows `name:`.
    case named(String, Node)
  }

  let node: Node
  private let levelCount: Int
  private let partCount: Int

  /// Creates a query from text typed into a search field.
  ///
  /// Every input is valid. Words separated by spaces must all occur, `"quoted words"` must occur in
  /// the given order, `dat*` finds words that begin with `dat`, `wrod~` finds similar words, and
  /// `title:swift` searches one attribute. `AND`, `OR`, `NOT` or `-`, parentheses and `NEAR(one
  /// two, 5)` work as in other search engines. Any other text is treated as words. Only the first
  /// 256 words of a long input are used.
  public init(userInput: String) {
    var parser = TextQueryParser(userInput)
    self.init(.input(parser.query()), levelCount: TextQueryParser.maxLevelCount)
  }

  /// Creates a query with the given number of levels and parts.
  ///
  /// The limits on both numbers prevent deep recursion, and keep chains of operators from copying
  /// long arrays.
  private init(_ node: @autoclosure () -> Node, levelCount: Int = 1, partCount: Int = 1) {
    let maxima = (TextSearchTree.maxLevelCount, TextSearchTree.maxPartCount)
    let isTooLarge = levelCount > maxima.0 || partCount > maxima.1
    self.node = isTooLarge ? .tooLarge : node()
    self.levelCount = min(levelCount, maxima.0)
    self.partCount = min(partCount, maxima.1)
  }

  private init(_ queries: some Sequence<TextQuery>, _ combine: ([Node]) -> Node) {
    let all = Array(queries)
    self.init(
      combine(all.map(\.node)), levelCount: 1 + (all.map(\.levelCount).max() ?? 0),
      partCount: all.reduce(0) { $0 + $1.partCount })
  }

  /// Returns a query for a word.
  ///
  /// If the text consists of several words, the words must occur in the given order, as with
  /// ``phrase(_:)``.
  public static func word(_ text: String) -> TextQuery { TextQuery(.words(text)) }

  /// Returns a query for words that begin with the given text.
  public static func prefix(_ text: String) -> TextQuery { TextQuery(.prefix(text)) }

  /// Returns a query for words that follow each other in the given order in one attribute.
  public static func phrase(_ text: String) -> TextQuery { TextQuery(.words(text)) }

  /// Returns a query for words that differ from the given word by at most a few letters.
  ///
  /// A difference is an additional, missing or different letter, or two adjacent letters in reverse
  /// order.
  ///
  /// - Parameters:
  ///   - text: The word.
  ///   - distance: The maximum number of differences, from 0 to 2. Any other value is treated as
  ///     the nearest value in this range.
  /// - Complexity: The query reads the index's list of terms.
  public static func similar(_ text: String, distance: Int = 1) -> TextQuery {
    TextQuery(.similar(text, distance: min(max(0, distance), 2)))
  }

  /// Returns a query for words or phrases that occur close to each other in one attribute, in any
  /// order.
  ///
  /// - Parameters:
  ///   - texts: The words or phrases.
  ///   - distance: The maximum number of words from the beginning of the first text to the
  ///     beginning of the last.
  public static func near(_ texts: String..., distance: Int = 10) -> TextQuery {
    TextQuery(.near(texts, distance: max(0, distance)), partCount: texts.count)
  }

  /// Returns a query for the objects that match all of the given queries.
  public static func all(_ queries: some Sequence<TextQuery>) -> TextQuery {
    TextQuery(queries) { .all($0) }
  }

  /// Returns a query for the objects that match any of the given queries.
  public static func any(_ queries: some Sequence<TextQuery>) -> TextQuery {
    TextQuery(queries) { .any($0) }
  }

  /// Returns this query, restricted to the given attributes of the index.
  public func `in`<Owner>(_ attributes: (any PartialKeyPath<Owner> & Sendable)...) -> TextQuery {
    TextQuery(
      .attributes(node, attributes), levelCount: levelCount + 1,
      partCount: partCount + attributes.count)
  }

  /// Returns a query for the objects that match both queries.
  public static func && (first: TextQuery, second: TextQuery) -> TextQuery {
    guard case .all(let nodes) = first.node else { return all([first, second]) }
    return TextQuery(
      .all(nodes + [second.node]), levelCount: max(first.levelCount, second.levelCount + 1),
      partCount: first.partCount + second.partCount)
  }

  /// Returns a query for the objects that match at least one of two queries.
  public static func || (first: TextQuery, second: TextQuery) -> TextQuery {
    guard case .any(let nodes) = first.node else { return any([first, second]) }
    return TextQuery(
      .any(nodes + [second.node]), levelCount: max(first.levelCount, second.levelCount + 1),
      partCount: first.partCount + second.partCount)
  }

  /// Returns a query for the objects that do not match the given query.
  public static prefix func ! (query: TextQuery) -> TextQuery {
    TextQuery(
      .not(query.node), levelCount: query.levelCount + 1, partCount: query.partCount)
  }
}
