public import Foundation

/// Which objects of a class to fetch, and in which order.
///
/// ```swift
/// let request = FetchRequest<Quake>(
///   where: #Predicate { $0.code == "nc73275410" }, sort: [SortDescriptor(\.time)], limit: 10)
/// ```
public struct FetchRequest<M: ManagedObject> {
  /// Which objects; all without one.
  public var predicate: QueryPredicate<M>?
  /// The order, by the first descriptor first; without one, that in which the rows were made.
  public var sortDescriptors: [SortDescriptor<M>]
  /// The most objects; all without one.
  ///
  /// A negative limit counts as 0.
  public var fetchLimit: Int?
  /// How many of the first objects to leave out.
  ///
  /// A negative offset counts as 0.
  public var fetchOffset: Int
  /// How many objects a batched result loads at a time; 0 leaves that to the context.
  public var fetchBatchSize: Int
  /// Relationships whose objects are fetched along, each in one pass.
  public var relationshipKeyPathsForPrefetching: [PartialKeyPath<M>] = []
  /// Whether values are read with the objects; without, each object is a fault that reads its own.
  public var includesPropertyValues = true
  /// Whether objects come as faults, which need no reading any more when they fire if
  /// ``includesPropertyValues`` is set.
  public var returnsObjectsAsFaults = true
  /// Whether what was changed in the context and not saved counts.
  public var includesPendingChanges = true
  /// Whether objects of subclasses belong to the result.
  public var includesSubentities = true

  /// Describes what to fetch.
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

  /// Describes what to fetch, by a predicate that was put together of others or read from a format.
  @_disfavoredOverload
  public init(
    where predicate: QueryPredicate<M>?, sort: [SortDescriptor<M>] = [], limit: Int? = nil,
    offset: Int = 0, batchSize: Int = 0
  ) {
    self.init(sort: sort, limit: limit, offset: offset, batchSize: batchSize)
    self.predicate = predicate
  }

  // MARK: Pages

  /// How many of the first objects are left out.
  var offset: Int { max(0, fetchOffset) }

  /// The most objects.
  var limit: Int? { fetchLimit.map { max(0, $0) } }

  /// The most objects that matter, those that are left out at the start included; `nil` if all do.
  var end: Int? {
    guard let limit else { return nil }
    let (end, isBeyond) = offset.addingReportingOverflow(limit)
    return isBeyond ? nil : end
  }

  /// What offset and limit leave of all that was found.
  func page<Element>(of all: [Element]) -> [Element] {
    guard offset > 0 || limit != nil else { return all }
    let rest = all.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }

  /// How many objects offset and limit leave of as many.
  func pageCount(of total: Int) -> Int { min(max(0, total - offset), limit ?? .max) }
}
