import Foundation

extension FetchRequest {
  /// Returns a request for the objects that follow the given object in this request's order.
  ///
  /// ```swift
  /// let next = try context.fetch(request.after(page[page.count - 1]))
  /// ```
  ///
  /// Unlike a request with an offset, the new request does not read the skipped rows, and
  /// concurrent insertions do not move objects to other pages. The new request keeps the object's
  /// current sort values, so the object may change or be deleted afterwards. The offset of the new
  /// request is 0.
  ///
  /// - Throws: `unsupportedPredicate` if a sort descriptor has a comparator; `foreignObject` if the
  ///   object does not belong to a context; `missingObject` if the object has no row and therefore
  ///   no values; any error from reading rows.
  /// - Complexity: If an index provides the order of the first sort descriptor, the fetch begins at
  ///   the object's value in the index.
  public func after(_ object: M) throws -> FetchRequest {
    guard let context = object.storeContext else {
      throw ObjectGraphError(
        .foreignObject,
        "Cannot fetch the page after this object, because the object does not belong to a context. "
          + "If you are deleting the object, call `after` before you save the deletion."
      )
    }
    let model = context.model
    let entity = try model.schema.requiredEntity(of: M.self)
    let resolver = QueryResolver(model.schema, model.space, entity, RenumberedObjects())
    guard textQuery == nil || !sortDescriptors.isEmpty else {
      throw QueryResolver.unsupported(
        "A fetch that is sorted by relevance cannot start after a given object. Use an offset "
          + "instead.")
    }
    guard let order = try FetchOrder(self, resolver, nil) else {
      throw QueryResolver.unsupported(
        "A fetch that is sorted with a comparator cannot start after a given object. Sort by "
          + "stored values, or use an offset.")
    }
    if object.isFault { context.fire(object) }
    try context.requireReadable()
    guard !object.isFault, !object.isInaccessible else {
      throw ObjectGraphError(
        .missingObject,
        "Cannot fetch the page after this object, because the object has no row in the store. Call "
          + "`after` with an object whose values are loaded, or fetch the first page again.",
        objectID: object.objectID)
    }
    let scope = QueryScope(model, nil, variableCount: 1) { context.object($0) }
    var result = self
    result.position = try scope.with(object) { try order.keys(object.number, scope) }
    result.fetchOffset = 0
    return result
  }
}

extension FetchRequest {
  /// The key path of the first sort descriptor, if there is one.
  var firstSortKeyPath: AnyKeyPath? { sortDescriptors.first?.keyPath }
}

extension FetchOrder {
  /// The error that is thrown if a position belongs to a different sort order.
  static let changed = QueryResolver.unsupported(
    "The sort descriptors have changed since `after` was called. Call `after` again.")

  /// Returns a condition that holds for the objects after a position.
  ///
  /// - Parameter first: The query term of the first sort descriptor, which allows an index to be
  ///   used, or `nil` if there are no sort descriptors.
  /// - Throws: `unsupportedPredicate` if the position belongs to a different sort order.
  func following(_ position: Keys, _ first: QueryTerm?) throws -> QueryTerm {
    guard position.values.count == terms.count else { throw Self.changed }
    var result = QueryTerm("after an object") { scope in
      areInOrder(position, try keys(scope.number, scope))
    }
    guard let first, let value = position.values.first, !value.isNull, let term = terms.first else {
      return result
    }
    // Do not use a range for an optional attribute in descending order, because the range would
    // omit the objects with a `nil` value, which come last.
    let isOptional =
      if case .attribute(_, let isOptional)? = first.property?.kind { isOptional } else { true }
    guard !term.isReversed || !isOptional else { return result }
    let demand = QueryDemand(first, term.isReversed ? .lessOrEqual : .greaterOrEqual, value)
    result.demands = demand.map { [$0.inexact] } ?? []
    return result
  }
}

extension QueryDemand {
  /// A copy of the demand that is marked as expressing the condition only approximately.
  fileprivate var inexact: QueryDemand {
    var demand = self
    (demand.isExact, demand.isStrict) = (false, false)
    return demand
  }
}
