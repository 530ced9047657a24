/// The key of a group of objects, and the values aggregated over the group.
public struct AggregateGroup<Key, Values> {
  /// The value shared by all objects in the group.
  public let key: Key
  /// The aggregated value, or a tuple if there are several values.
  public let values: Values
}

extension AggregateGroup: Sendable where Key: Sendable, Values: Sendable {}

extension ManagedObjectContext {
  /// Returns values aggregated over all objects that match a request, without creating the objects.
  ///
  /// ```swift
  /// let (count, strongest) = try context.aggregate(request, .count, .max(\.magnitude))
  /// ```
  ///
  /// The context's unsaved changes are included, unless the request excludes them. If the request
  /// has a limit or an offset, only the selected objects are aggregated.
  ///
  /// - Throws: The same errors as ``fetch(_:)``; `numericOverflow`; `unsupportedPredicate` if a key
  ///   path has several values for one object.
  /// - Complexity: The same as ``fetch(_:)``. Memory use grows with the number of objects only if
  ///   there is a limit or an offset.
  public func aggregate<M: ManagedObject, each Value>(
    _ request: FetchRequest<M>, _ aggregates: repeat Aggregate<M, each Value>
  ) throws -> (repeat each Value) {
    let states = (repeat (each aggregates).begin())
    var keyPaths: [AnyKeyPath?] = []
    repeat keyPaths.append((each aggregates).keyPath)
    try forEachRow(request, Self.values(at: keyPaths)) { values in
      try Self.add(values, to: repeat each states)
    }
    return (repeat try (each states).result())
  }

  /// Returns values aggregated over the objects that match a request, grouped by a property.
  ///
  /// ```swift
  /// for group in try context.aggregate(request, by: \.network, .count) {
  ///   print(group.key, group.values)
  /// }
  /// ```
  ///
  /// - Returns: A group for each distinct value, in ascending order. `nil` comes first, and strings
  ///   are sorted as Swift sorts `String` values.
  /// - Throws: The same errors as ``aggregate(_:_:)``.
  /// - Complexity: The same as ``aggregate(_:_:)``. Memory use grows with the number of groups.
  public func aggregate<M: ManagedObject, Key: AttributeValue, each Value>(
    _ request: FetchRequest<M>, by key: KeyPath<M, Key>,
    _ aggregates: repeat Aggregate<M, each Value>
  ) throws -> [AggregateGroup<Key, (repeat each Value)>] {
    var groups: [StoredValue: (repeat Aggregation<each Value>)] = [:]
    let isDecimal = Key.storageType == .decimal
    var keyPaths: [AnyKeyPath?] = [key]
    repeat keyPaths.append((each aggregates).keyPath)
    try forEachRow(request, Self.values(at: keyPaths)) { values in
      let key = values[0].grouped(isDecimal: isDecimal)
      let states = groups[key] ?? (repeat (each aggregates).begin())
      groups[key] = states
      try Self.add(values.dropFirst(), to: repeat each states)
    }
    let sorted = groups.sorted {
      StoredValue.areInOrder($0.key, $1.key, isDecimal: isDecimal)
    }
    return try sorted.map { stored, states in
      AggregateGroup(
        key: try M.value(stored, at: key), values: (repeat try (each states).result()))
    }
  }

  /// Fetches the values of the given properties for all objects that match a request, without
  /// creating the objects.
  ///
  /// ```swift
  /// for (code, time) in try context.fetchValues(request, \.code, \.time) { … }
  /// ```
  ///
  /// Key paths may traverse to-one relationships.
  ///
  /// - Parameters:
  ///   - request: The request that selects and orders the objects.
  ///   - keyPaths: The properties to fetch.
  ///   - isDistinct: Whether to remove duplicate rows before applying the limit and the offset of
  ///     the request.
  /// - Throws: The same errors as ``fetch(_:)``; `unsupportedPredicate` if a key path has several
  ///   values for one object.
  /// - Complexity: The same as ``fetch(_:)``.
  public func fetchValues<M: ManagedObject, each Value: AttributeValue>(
    _ request: FetchRequest<M>, _ keyPaths: repeat KeyPath<M, each Value>,
    isDistinct: Bool = false
  ) throws -> [(repeat each Value)] {
    var paths: [AnyKeyPath?] = []
    repeat paths.append(each keyPaths)
    var rows: [[StoredValue]] = []
    if isDistinct {
      var unlimited = request
      (unlimited.fetchLimit, unlimited.fetchOffset) = (nil, 0)
      var areDecimals: [Bool] = []
      repeat areDecimals.append((each Value).storageType == .decimal)
      var known: Set<[StoredValue]> = []
      try forEachRow(unlimited, Self.values(at: paths), inOrder: true) { row in
        let values = zip(row, areDecimals).map { $0.grouped(isDecimal: $1) }
        if known.insert(values).inserted { rows.append(row) }
      }
      rows = request.page(of: rows)
    } else {
      try forEachRow(request, Self.values(at: paths), inOrder: true) { rows.append($0) }
    }
    return try rows.map { row in
      var position = 0
      func next<Next: AttributeValue>(_ keyPath: KeyPath<M, Next>) throws -> Next {
        defer { position += 1 }
        return try M.value(row[position], at: keyPath)
      }
      return (repeat try next(each keyPaths))
    }
  }

  /// A function that takes a request's plan and returns functions that read an object's values.
  typealias RowValues = (FetchPlan, StoreModel) throws -> [QueryTerm.Value]

  /// Returns a function that, given a plan, returns readers for the values at the given key paths.
  ///
  /// A `nil` key path represents the object itself.
  private static func values(at keyPaths: [AnyKeyPath?]) -> RowValues {
    { plan, model in try keyPaths.map { try plan.value(at: $0, model) } }
  }

  /// Calls `body` with the given values of each object that matches a request.
  func forEachRow<M: ManagedObject>(
    _ request: FetchRequest<M>, _ rowValues: RowValues, inOrder: Bool = false,
    _ body: @escaping ([StoredValue]) throws -> Void
  ) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(for: M.self) {
      return try storeContext.forEachRow(request, rowValues, inOrder: inOrder, body)
    }
    try requireReadable()
    try mergeAutomatically()
    let start = ContinuousClock.now
    let plan = try FetchPlan(request, model, renumbered)
    let values = try rowValues(plan, model)
    let isUnlimited = request.fetchLimit == nil && request.fetchOffset <= 0
    var count = 0
    func pass(_ row: [StoredValue]) throws {
      count += 1
      try body(row)
    }
    if isUnlimited, !inOrder || plan.order?.terms.isEmpty == true {
      _ = try candidates(
        plan.counting, request.includesPendingChanges, .values(values), inOrder: inOrder,
        consumedBy: { try pass($0.values) })
    } else if plan.order == nil, !request.includesPendingChanges, hasOwnChanges {
      for row in try storedRows(request, plan, values) { try pass(row) }
    } else if plan.order == nil {
      for object in try objects(for: request) {
        let scope = QueryScope(model, nil, variableCount: 1) { self.object($0) }
        try scope.with(object) { try pass(values.map { try $0(scope) }) }
      }
    } else {
      let found = try candidates(plan, request.includesPendingChanges, .values(values))
      for candidate in found { try pass(candidate.values) }
    }
    try log(plan) { ContextLog.counted($0, count, start) }
  }

  /// Returns the stored values of the objects that match a request, in an order determined by
  /// comparing the objects.
  private func storedRows<M: ManagedObject>(
    _ request: FetchRequest<M>, _ plan: FetchPlan, _ values: [QueryTerm.Value]
  ) throws -> [[StoredValue]] {
    // Read the values and the order from the same generation, even if other contexts save in the
    // meantime.
    try root.reading(try root.currentView()) {
      let found = try candidates(plan.unordered, false, .values(values))
      let rows = Dictionary(uniqueKeysWithValues: found.map { ($0.number, $0.values) })
      // Use the objects only to determine the order, because they contain unsaved changes.
      return try objects(for: request).compactMap { rows[$0.number] }
    }
  }

  /// Adds one row of values to the aggregations.
  private static func add<each Value>(
    _ row: some Collection<StoredValue>, to states: repeat Aggregation<each Value>
  ) throws {
    var values = row.makeIterator()
    for state in repeat each states {
      if let value = values.next(), !value.isNull { try state.add(value) }
    }
  }
}
