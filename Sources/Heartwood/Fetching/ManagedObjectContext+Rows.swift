extension ManagedObjectContext {
  /// Fetches the objects that match a request, and decodes them into values of a `Decodable` type.
  ///
  /// The method does not create managed objects.
  ///
  /// ```swift
  /// struct QuakeRow: Decodable, Sendable {
  ///   struct Network: Decodable, Sendable { let name: String }
  ///   let code: String
  ///   let magnitude: Double?
  ///   let network: Network?
  /// }
  /// let rows = try context.fetch(request, as: QuakeRow.self)
  /// ```
  ///
  /// The coding keys are names of attributes and to-one relationships. A relationship is decoded as
  /// a structure or as a ``ManagedObjectID``, and the key `objectID` represents the object's ID.
  /// Unsaved changes are included, unless the request excludes them.
  ///
  /// - Throws: The same errors as ``fetch(_:)``; `DecodingError` with the path of the key if a
  ///   value does not have the type that the structure declares; any error from the type's
  ///   `init(from:)`.
  /// - Complexity: The same as ``fetch(_:)``. Only the values that the type decodes are read.
  public func fetch<M: ManagedObject, Row: Decodable>(
    _ request: FetchRequest<M>, as type: Row.Type
  ) throws -> [Row] {
    var rows: [Row] = []
    try forEachRow(request, as: type, began: { rows = [] }, { rows.append($0) })
    return rows
  }

  /// Decodes the objects that match a request into values of a `Decodable` type, and passes each
  /// value to `body`.
  ///
  /// The method does not create managed objects.
  ///
  /// - Parameter began: A closure that is called before the first row. If a row needs columns that
  ///   earlier rows did not need, all rows are decoded again, and the closure is called again.
  private func forEachRow<M: ManagedObject, Row: Decodable>(
    _ request: FetchRequest<M>, as type: Row.Type, began: () -> Void,
    _ body: @escaping (Row) throws -> Void
  ) throws {
    let storeContext = otherStoreContext(for: M.self) ?? self
    let entity = try storeContext.model.schema.requiredEntity(of: M.self)
    let columns = RowColumns(entity, storeContext.model)
    let values: RowValues = { plan, model in
      try columns.expressions.map { try plan.value(of: $0, model) }
    }
    // Decode one row first, to determine the columns before all rows are read.
    var first = request
    (first.sortDescriptors, first.fetchLimit, first.fetchOffset) = ([], 1, 0)
    repeat {
      try? forEachRow(first, values) { _ = try columns.decode(type, $0) }
    } while columns.addMissing()
    var isComplete = false
    while !isComplete {
      do {
        began()
        try forEachRow(request, values, inOrder: true) { try body(columns.decode(type, $0)) }
        isComplete = true
      } catch is RowColumns.Unread where columns.addMissing() {}
    }
  }
}
