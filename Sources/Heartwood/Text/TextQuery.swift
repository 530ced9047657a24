/// A full-text query: words that objects with a ``TextIndex`` must contain.
///
/// ```swift
/// let typed = TextQuery(userInput: searchField)
/// let built = TextQuery.word("swift") && !.phrase("taylor swift")
/// ```
///
/// The tokenizer of the index splits the texts of a query into terms. Texts without any term are
/// ignored; a query without any term matches nothing.
public struct TextQuery: Sendable {
  /// A part of a query.
  indirect enum Node: Sendable {
    case words(String)
    case prefix(String)
    case similar(String, distance: Int)
    case near([String], distance: Int)
    case all([Node])
    case any([Node])
    case not(Node)
    case attributes(Node, [any AnyKeyPath & Sendable])
    /// A part of a user's input after `name:`.
    case named(String, Node)
  }

  let node: Node

  /// Creates a query from what a user types into a search field.
  ///
  /// Every input is valid. Words separated by spaces must all occur, `"quoted words"` must occur in
  /// this order, `dat*` finds words that begin with `dat`, `wrod~` finds similar words, and
  /// `title:swift` searches one attribute. `AND`, `OR`, `NOT` or `-`, parentheses and `NEAR(one
  /// two, 5)` work as in other search engines. Text that follows no rule is treated as words. Only
  /// the first 256 words and phrases of a long input are used.
  public init(userInput: String) {
    var parser = TextQueryParser(userInput)
    node = parser.query()
  }

  init(_ node: Node) { self.node = node }

  /// Returns a query for a word.
  ///
  /// If the text consists of several words, they must occur in this order, as with ``phrase(_:)``.
  public static func word(_ text: String) -> TextQuery { TextQuery(.words(text)) }

  /// Returns a query for words that begin with the given text.
  public static func prefix(_ text: String) -> TextQuery { TextQuery(.prefix(text)) }

  /// Returns a query for words that follow each other in the given order, in one attribute.
  public static func phrase(_ text: String) -> TextQuery { TextQuery(.words(text)) }

  /// Returns a query for words that differ from the given word by at most a few letters.
  ///
  /// A difference is an additional, missing or different letter, or two adjacent letters in reverse
  /// order.
  ///
  /// - Parameters:
  ///   - text: The word.
  ///   - distance: The maximum number of differences, from 0 to 2; any other value is treated as
  ///     the nearest value in this range.
  /// - Complexity: Reads the index's list of terms.
  public static func similar(_ text: String, distance: Int = 1) -> TextQuery {
    TextQuery(.similar(text, distance: min(max(0, distance), 2)))
  }

  /// Returns a query for words or phrases that occur close to each other, in one attribute and in
  /// any order.
  ///
  /// - Parameters:
  ///   - texts: The words.
  ///   - distance: The maximum number of words from the beginning of the first to the beginning of
  ///     the last.
  public static func near(_ texts: String..., distance: Int = 10) -> TextQuery {
    TextQuery(.near(texts, distance: max(0, distance)))
  }

  /// Returns a query for the objects that match all of the given queries.
  public static func all(_ queries: some Sequence<TextQuery>) -> TextQuery {
    TextQuery(.all(queries.map(\.node)))
  }

  /// Returns a query for the objects that match any of the given queries.
  public static func any(_ queries: some Sequence<TextQuery>) -> TextQuery {
    TextQuery(.any(queries.map(\.node)))
  }

  /// Returns the query restricted to the given attributes of the index.
  public func `in`<Owner>(_ attributes: (any PartialKeyPath<Owner> & Sendable)...) -> TextQuery {
    TextQuery(.attributes(node, attributes))
  }

  /// Returns a query for the objects that match both queries.
  public static func && (first: TextQuery, second: TextQuery) -> TextQuery {
    if case .all(let nodes) = first.node { return TextQuery(.all(nodes + [second.node])) }
    return TextQuery(.all([first.node, second.node]))
  }

  /// Returns a query for the objects that match at least one of two queries.
  public static func || (first: TextQuery, second: TextQuery) -> TextQuery {
    if case .any(let nodes) = first.node { return TextQuery(.any(nodes + [second.node])) }
    return TextQuery(.any([first.node, second.node]))
  }

  /// Returns a query for the objects that do not match the given query.
  public static prefix func ! (query: TextQuery) -> TextQuery { TextQuery(.not(query.node)) }
}
