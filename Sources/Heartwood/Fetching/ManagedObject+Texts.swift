extension ManagedObject {
  /// Returns the ranges of an attribute's text that match a query, in ascending order.
  ///
  /// - Parameters:
  ///   - query: The text query to match.
  ///   - attribute: An attribute of the text index.
  /// - Throws: `foreignObject` if the object does not belong to a context; `unknownProperty` if the
  ///   attribute is not part of the index; `unsupportedPredicate` if there is no index or the query
  ///   is too large.
  /// - Complexity: O(n) for a text of n characters, which is split into words.
  public func highlights<Owner: ManagedObject>(
    of query: TextQuery, in attribute: PartialKeyPath<Owner>
  ) throws -> [Range<String.Index>] {
    try highlighted(query, attribute).ranges
  }

  /// Returns the passage of an attribute's text that contains the most matches for a query.
  ///
  /// - Parameters:
  ///   - query: The text query to match.
  ///   - attribute: An attribute of the text index.
  ///   - wordCount: The number of words in the returned text.
  /// - Throws: The same errors as ``highlights(of:in:)``.
  /// - Complexity: O(n) for a text of n characters, which is split into words.
  public func snippet<Owner: ManagedObject>(
    of query: TextQuery, in attribute: PartialKeyPath<Owner>, wordCount: Int = 20
  ) throws -> TextSnippet {
    try highlighted(query, attribute).snippet(wordCount: wordCount)
  }

  private func highlighted(
    _ query: TextQuery, _ keyPath: AnyKeyPath
  ) throws -> TextHighlights {
    guard let context = storeContext, let entity = entityDescription else {
      throw ObjectGraphError(
        .foreignObject,
        "The object does not belong to a context, so its text index is unknown. Use an object that "
          + "belongs to a context.")
    }
    let schema = context.model.schema
    let search = try TextSearch(query, entity, schema)
    let property = try schema.property(keyPath, of: entity)
    let field = try search.field(of: property)
    if isFault { context.fire(self) }
    return TextHighlights(
      shownValue(of: property).string ?? "", field: field, search.tree, search.index.tokenizer)
  }
}
