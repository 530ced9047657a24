/// A format-language query for objects whose entity has no class.
package struct ObjectQuery: Sendable {
  /// The name of the entity.
  package var entity: String
  /// The condition, or `nil` for all objects.
  package var condition: String?
  /// The user input to search for in the text index, or `nil` if the query does not search the
  /// index.
  package var text: String?
  /// The values by which the objects are sorted, beginning with the most significant one.
  package var order: [(path: String, isReversed: Bool)] = []
  package var limit: Int?
  package var offset = 0
  /// A Boolean value that indicates whether objects of subentities are included.
  package var includesSubentities = true

  package init(entity: String, condition: String? = nil) {
    (self.entity, self.condition) = (entity, condition)
  }

  func request() throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(limit: limit, offset: offset)
    request.named = .init(name: entity, order: order)
    request.includesSubentities = includesSubentities
    request.textQuery = text.map { TextQuery(userInput: $0) }
    request.predicate = try condition.map { try QueryPredicate(format: $0, arguments: []) }
    return request
  }
}
