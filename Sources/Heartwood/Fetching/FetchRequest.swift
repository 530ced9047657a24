public import Foundation

/// A description of the objects of a class to fetch, and of their order.
///
/// ```swift
/// let request = FetchRequest<Quake>(
///   where: #Predicate { $0.code == "nc73275410" }, sort: [SortDescriptor(\.time)], limit: 10)
/// ```
public struct FetchRequest<M: ManagedObject> {
  /// The condition; `nil` for all objects.
  public var predicate: QueryPredicate<M>?
  /// The sort descriptors, most significant first; without any, objects come in the order of their
  /// creation.
  public var sortDescriptors: [SortDescriptor<M>]
  /// The maximum number of objects; `nil` for no limit.
  ///
  /// A negative limit counts as 0.
  public var fetchLimit: Int?
  /// The number of leading objects to skip.
  ///
  /// A negative offset counts as 0.
  public var fetchOffset: Int
  /// The number of objects that a batched result loads at a time; 0 leaves that to the context.
  public var fetchBatchSize: Int
  /// The relationships whose objects are fetched as well, each with one query.
  public var relationshipKeyPathsForPrefetching: [PartialKeyPath<M>] = []
  /// Whether values are read along with the objects; if not, each object is a fault that reads its
  /// own.
  public var includesPropertyValues = true
  /// Whether objects are returned as faults.
  ///
  /// If ``includesPropertyValues`` is set, firing them causes no further read.
  public var returnsObjectsAsFaults = true
  /// Whether unsaved changes of the context are included.
  public var includesPendingChanges = true
  /// Whether objects of subclasses are included.
  public var includesSubentities = true

  /// Creates a request.
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

  /// Creates a request with a compound predicate or one parsed from a format.
  @_disfavoredOverload
  public init(
    where predicate: QueryPredicate<M>?, sort: [SortDescriptor<M>] = [], limit: Int? = nil,
    offset: Int = 0, batchSize: Int = 0
  ) {
    self.init(sort: sort, limit: limit, offset: offset, batchSize: batchSize)
    self.predicate = predicate
  }

  // MARK: Pages

  /// The number of leading objects to skip.
  var offset: Int { max(0, fetchOffset) }

  /// The maximum number of objects.
  var limit: Int? { fetchLimit.map { max(0, $0) } }

  /// The end of the page, as a number of objects counted from the first; `nil` if there is no
  /// limit.
  var end: Int? {
    guard let limit else { return nil }
    let (end, isBeyond) = offset.addingReportingOverflow(limit)
    return isBeyond ? nil : end
  }

  /// Returns the page of all objects that offset and limit select.
  func page<Element>(of all: [Element]) -> [Element] {
    guard offset > 0 || limit != nil else { return all }
    let rest = all.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }

  /// Returns the number of objects that offset and limit select from a total.
  func pageCount(of total: Int) -> Int { min(max(0, total - offset), limit ?? .max) }
}
