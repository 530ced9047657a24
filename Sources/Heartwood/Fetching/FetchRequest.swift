public import Foundation

/// A description of which objects to fetch and in which order.
///
/// ```swift
/// let request = FetchRequest<Quake>(
///   where: #Predicate { $0.code == "nc73275410" }, sort: [SortDescriptor(\.time)], limit: 10)
/// ```
public struct FetchRequest<M: ManagedObject> {
  /// The condition that objects must meet, or `nil` to fetch all objects.
  public var predicate: QueryPredicate<M>?
  /// The text query that objects must match in addition to the predicate, or `nil` if there is no
  /// query.
  ///
  /// The entity must declare a ``TextIndex``.
  public var textQuery: TextQuery?
  /// The sort descriptors, most significant first.
  ///
  /// Without sort descriptors, objects are sorted by their relevance to the text query. If there is
  /// no text query either, objects are sorted by class and, within each class, by creation order.
  public var sortDescriptors: [SortDescriptor<M>]
  /// The maximum number of objects, or `nil` for no limit.
  ///
  /// A negative limit is treated as 0.
  public var fetchLimit: Int?
  /// The number of leading objects to skip.
  ///
  /// A negative offset is treated as 0.
  public var fetchOffset: Int
  /// The number of objects that a batched result loads at a time, or 0 to use the default number.
  public var fetchBatchSize: Int
  /// The relationships whose target objects are loaded together with the fetched objects.
  public var relationshipKeyPathsForPrefetching: [PartialKeyPath<M>] = []
  /// A Boolean value that indicates whether values are read together with the objects.
  ///
  /// This property has no effect, and exists only so that code ported from Core Data compiles.
  public var includesPropertyValues = true
  /// A Boolean value that indicates whether objects are returned as faults.
  ///
  /// This property has no effect, and exists only so that code ported from Core Data compiles.
  public var returnsObjectsAsFaults = true
  /// A Boolean value that indicates whether the context's unsaved changes are included.
  ///
  /// A child context always includes the unsaved changes of its parents.
  public var includesPendingChanges = true
  /// A Boolean value that indicates whether objects of subclasses are included.
  public var includesSubentities = true
  /// The position after which the result begins, or `nil` to begin with the first object.
  var position: FetchOrder.Keys?
  /// The name and the sort order of an entity without a class, or `nil` if the entity has a class.
  var named: NamedEntity?

  /// An entity without a class.
  struct NamedEntity {
    let name: String
    /// The paths of the properties by which the objects are sorted, most significant first.
    let order: [(path: String, isReversed: Bool)]
    /// The number of variables needed by the column expressions.
    var variableCount = 1
  }

  /// Creates a request for the objects that match a predicate.
  public init(
    where predicate: Foundation.Predicate<M>? = nil, sort: [SortDescriptor<M>] = [],
    limit: Int? = nil, offset: Int = 0, batchSize: Int = 0
  ) {
    self.predicate = predicate.map { QueryPredicate<M>($0) }
    sortDescriptors = sort
    fetchLimit = limit
    fetchOffset = offset
    fetchBatchSize = batchSize
  }

  /// Creates a request with a compound predicate or with a predicate parsed from a format string.
  @_disfavoredOverload
  public init(
    where predicate: QueryPredicate<M>?, sort: [SortDescriptor<M>] = [], limit: Int? = nil,
    offset: Int = 0, batchSize: Int = 0
  ) {
    self.init(sort: sort, limit: limit, offset: offset, batchSize: batchSize)
    self.predicate = predicate
  }

  /// Creates a request for the objects that match a text query.
  ///
  /// ```swift
  /// let request = FetchRequest<Note>(
  ///   matching: TextQuery(userInput: text), where: #Predicate { !$0.isArchived }, limit: 10)
  /// ```
  public init(
    matching query: TextQuery, where predicate: Foundation.Predicate<M>? = nil,
    sort: [SortDescriptor<M>] = [], limit: Int? = nil, offset: Int = 0, batchSize: Int = 0
  ) {
    self.init(where: predicate, sort: sort, limit: limit, offset: offset, batchSize: batchSize)
    textQuery = query
  }

  /// Creates a request for the objects that match a text query and a compound predicate.
  @_disfavoredOverload
  public init(
    matching query: TextQuery, where predicate: QueryPredicate<M>?, sort: [SortDescriptor<M>] = [],
    limit: Int? = nil, offset: Int = 0, batchSize: Int = 0
  ) {
    self.init(where: predicate, sort: sort, limit: limit, offset: offset, batchSize: batchSize)
    textQuery = query
  }

  /// Returns the entity of the requested objects.
  ///
  /// - Throws: `unknownEntity` if the model does not contain the entity.
  func entity(in schema: Schema.Content) throws(ObjectGraphError) -> EntityDescription {
    guard let named else { return try schema.requiredEntity(of: M.self) }
    if let entity = schema.entity(named: named.name) { return entity }
    throw ObjectGraphError(
      .unknownEntity,
      "The store has no entity named \(named.name). Use the name of an existing entity.")
  }

  // MARK: Pages

  /// The number of leading objects to skip.
  var offset: Int { max(0, fetchOffset) }

  /// The maximum number of objects, which is never negative, or `nil` for no limit.
  var limit: Int? { fetchLimit.map { max(0, $0) } }

  /// The sum of the offset and the limit, or `nil` if there is no limit or the sum overflows.
  var end: Int? {
    guard let limit else { return nil }
    let (end, isBeyond) = offset.addingReportingOverflow(limit)
    return isBeyond ? nil : end
  }

  /// Returns the elements selected from a list by the offset and the limit.
  func page<Element>(of all: [Element]) -> [Element] {
    guard offset > 0 || limit != nil else { return all }
    let rest = all.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }

  /// Returns how many of `total` objects the offset and the limit select.
  func pageCount(of total: Int) -> Int { min(max(0, total - offset), limit ?? .max) }
}
