/// A text query that has been resolved for an entity.
final class TextSearch {
  let index: TextIndexDescription
  /// The entity of the requested objects.
  let entity: EntityDescription
  let tree: TextSearchTree
  private let locations: [PropertyLocation]

  /// Creates a text search by resolving a query for an entity.
  ///
  /// - Throws: `unsupportedPredicate` if the entity has no text index or the query is too large;
  ///   `unknownProperty` if the query contains an attribute that is not part of the index.
  init(_ query: TextQuery, _ entity: EntityDescription, _ schema: Schema.Content) throws {
    guard let index = entity.textIndex else {
      throw QueryResolver.unsupported(
        "\(entity.name) has no text index. Declare a TextIndex for the entity.")
    }
    guard index.tokenizer.isKnown else {
      throw QueryResolver.unsupported(
        "The text index of \(entity.name) uses a custom tokenizer that this program does not "
          + "define. Run the search in the program that defines the tokenizer.")
    }
    self.index = index
    self.entity = entity
    locations = index.slots.map { PropertyLocation(entity.properties[$0]) }
    do {
      let fieldCount = index.slots.count
      tree = try TextSearchTree(query, index.tokenizer, fieldCount: fieldCount) { attribute in
        switch attribute {
        case .keyPath(let keyPath):
          return try Self.field(of: schema.property(keyPath, of: entity), index)
        case .name(let name):
          return index.slots.firstIndex { entity.properties[$0].name == name }
        }
      }
    } catch is TextSearchTree.TooLarge {
      throw QueryResolver.unsupported(
        "The text query is too complex. A query can have at most \(TextSearchTree.maxLeafCount) "
          + "different terms, \(TextSearchTree.maxPhraseWordCount) words in a phrase, "
          + "\(TextSearchTree.maxPartCount) words, phrases and attributes in total, and "
          + "\(TextSearchTree.maxLevelCount) levels of nesting. Simplify the query.")
    }
  }

  private static func field(
    of property: PropertyDescription, _ index: TextIndexDescription
  ) throws(ObjectGraphError) -> Int {
    if let position = index.slots.firstIndex(of: property.slot) { return position }
    throw ObjectGraphError(
      .unknownProperty,
      "\(index.entity.name).\(property.name) is not part of the text index. Add the attribute to "
        + "the TextIndex declaration.")
  }

  /// Returns the position of an attribute in the index.
  ///
  /// - Throws: `unknownProperty` if the attribute is not part of the index.
  func field(of property: PropertyDescription) throws(ObjectGraphError) -> Int {
    try Self.field(of: property, index)
  }

  /// The names of the index's attributes.
  var name: String { index.slots.map { entity.properties[$0].name }.joined(separator: ", ") }

  /// The set of all attributes in the index, with one bit for each attribute.
  var allFields: UInt64 { (1 << UInt64(index.slots.count)) &- 1 }

  /// The term that tests whether objects match the query.
  var term: QueryTerm {
    var term = QueryTerm("text search") { [self] scope in try scope.matches(self) }
    term.textSearch = self
    return term
  }

  /// The negated relevance of an object, so that the most relevant objects sort first.
  var relevance: QueryTerm.Value {
    { [self] scope in .double(-(try scope.relevance(self))) }
  }

  /// Reads the subject's values and returns their words.
  fileprivate func document(in scope: QueryScope) throws -> TextDocument {
    TextDocument(try locations.map { try scope.own($0).string }, tree, index.tokenizer)
  }
}

extension QueryScope {
  /// Returns whether the subject matches a text search.
  ///
  /// Rows are looked up in the index. Objects in memory, which may have unsaved changes, are
  /// searched directly.
  func matches(_ search: TextSearch) throws -> Bool {
    if let run = try textRun(search), let number = storedNumber { return try run.contains(number) }
    return try search.document(in: self).matches(search.tree)
  }

  /// Returns the relevance of the subject to a text search.
  func relevance(_ search: TextSearch) throws -> Double {
    guard let run = try textRun(search) else { return 0 }
    if let number = storedNumber { return try run.score(of: number) }
    return try search.document(in: self).score(search.tree, run.ranking)
  }
}
