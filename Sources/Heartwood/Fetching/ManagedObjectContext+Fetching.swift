import Foundation

extension ManagedObjectContext {
  /// Fetches the objects that match a request.
  ///
  /// The context's unsaved changes are included, unless the request excludes them.
  ///
  /// - Throws: `unknownEntity` or `unknownProperty` if the request uses a class or property that is
  ///   not in the model; any error from reading rows; ``faultError``.
  /// - Complexity: Reads one row for each object that matches the predicate's conditions on unique
  ///   or indexed attributes. Without such conditions, the fetch reads every row of the entity.
  public func fetch<M: ManagedObject>(_ request: FetchRequest<M>) throws -> [M] {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(for: M.self) { return try storeContext.fetch(request) }
    try requireReadable()
    try mergeAutomatically()
    return try objects(for: request)
  }

  /// Returns the objects that match a request, without first merging changes from other contexts.
  func objects<M: ManagedObject>(for request: FetchRequest<M>) throws -> [M] {
    let start = ContinuousClock.now
    let expression = try request.predicate?.expression(in: model.schema)
    if let expression, request.textQuery == nil, let lookup = try uniqueLookup(request, expression)
    {
      guard let found = try storedObject(with: lookup.value, lookup.index) as? M,
        request.includes(found)
      else { return [] }
      return [found]
    }
    let plan = try FetchPlan(request, expression, model, renumbered)
    var objects = try objects(plan, M.self, includesPendingChanges: request.includesPendingChanges)
    if plan.order == nil { objects = request.page(of: try sorted(objects, request)) }
    try prefetch(for: request, objects)
    try log(plan) { ContextLog.fetched($0, objects.map(\.number), model.space, start) }
    return objects
  }

  /// Returns the number of objects that match a request.
  ///
  /// - Throws: The same errors as ``fetch(_:)``.
  /// - Complexity: The same as ``fetch(_:)``. Without unsaved changes, no row is read if there is
  ///   no predicate, or if the entries of one index determine which objects match.
  public func count<M: ManagedObject>(for request: FetchRequest<M>) throws -> Int {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(for: M.self) {
      return try storeContext.count(for: request)
    }
    try requireReadable()
    try mergeAutomatically()
    let start = ContinuousClock.now
    let plan = try FetchPlan(request, model, renumbered)
    let total: Int
    let countsRows = parent == nil && (!hasOwnChanges || !request.includesPendingChanges)
    if countsRows, plan.isEverything {
      let view = try currentView()
      total = try plan.storages.reduce(0) { $0 + (try view.objects($1)?.count() ?? 0) }
    } else if countsRows, let use = plan.exactIndexUse(model) {
      total = try use.count(try currentView(), limit: plan.limit ?? .max)
    } else if countsRows, let search = plan.onlyTextSearch, plan.includesFamily(of: search, model) {
      total = try TextRun(search, currentView()).count()
    } else {
      total = try candidates(plan.counting, request.includesPendingChanges, .number).count
    }
    let result = request.pageCount(of: total)
    try log(plan) { ContextLog.counted($0, result, start) }
    return result
  }

  /// Returns a description of how ``fetch(_:)`` would find the objects that match a request.
  ///
  /// ```swift
  /// print(try context.explain(request))
  /// ```
  ///
  /// The access path is chosen anew for each fetch, based on the current number of index entries.
  ///
  /// - Throws: The same errors as ``fetch(_:)``.
  /// - Complexity: Reads two database pages for each level of each index that may be used. No rows
  ///   are read.
  public func explain<M: ManagedObject>(_ request: FetchRequest<M>) throws -> FetchExplanation {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(for: M.self) {
      return try storeContext.explain(request)
    }
    return try explanation(of: try FetchPlan(request, model, renumbered))
  }

  /// Fetches the IDs of the objects that match a request, in the order in which ``fetch(_:)``
  /// returns the objects.
  ///
  /// - Throws: The same errors as ``fetch(_:)``.
  /// - Complexity: The same as ``fetch(_:)``, but objects are created only if a sort order or a
  ///   condition needs them.
  public func fetchObjectIDs<M: ManagedObject>(
    _ request: FetchRequest<M>
  ) throws -> [ManagedObjectID] {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(for: M.self) {
      return try storeContext.fetchObjectIDs(request)
    }
    try requireReadable()
    try mergeAutomatically()
    return try orderedNumbers(request).map { ManagedObjectID($0, model.space) }
  }

  /// Returns the objects that match a request, in a collection that loads objects on access.
  ///
  /// - Throws: The same errors as ``fetch(_:)``.
  /// - Complexity: The same as ``fetchObjectIDs(_:)``, plus one row read for each accessed object.
  public func fetchBatched<M: ManagedObject>(
    _ request: FetchRequest<M>
  ) throws -> BatchedResults<M> {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(for: M.self) {
      return try storeContext.fetchBatched(request)
    }
    try requireReadable()
    try mergeAutomatically()
    guard parent == nil else {
      return BatchedResults(self, nil, try orderedNumbers(request), size: request.fetchBatchSize)
    }
    // Find and load the objects in the same generation, even if other contexts save in the
    // meantime.
    let view = try currentView()
    let numbers = try reading(view) { try orderedNumbers(request) }
    return BatchedResults(self, view, numbers, size: request.fetchBatchSize)
  }

  // MARK: Searching

  /// Returns the objects that match a plan.
  ///
  /// If the plan orders objects by stored values, the result is in that order, and the plan's
  /// offset and limit apply.
  private func objects<M: ManagedObject>(
    _ plan: FetchPlan, _ type: M.Type, includesPendingChanges: Bool
  ) throws -> [M] {
    // If there are no changes to merge in, and no sort order or limit to apply, each object can be
    // used as soon as it is found.
    let isPlain = parent == nil && !hasOwnChanges && !plan.isPage && !plan.needsSorting
    let areKnown = plan.storages.allSatisfy { $0.objectType is M.Type }
    if isPlain, plan.isEverything, fastPaths.areOn, areKnown {
      return [M](unchecked: try everyObject(plan))
    }
    // Convert to an array of `M` only at the end, because appending to an array of a generic class
    // takes as long as filling an object.
    var found: [ManagedObject] = []
    func append(_ candidate: Candidate) {
      if let object = candidate.object { found.append(object) }
    }
    try candidates(plan, includesPendingChanges, .object, consumedBy: isPlain ? append : nil)
      .forEach(append)
    return areKnown ? [M](unchecked: found) : [M](found)
  }

  /// Returns the objects sorted by the request's sort descriptors, which compare values in memory.
  func sorted<M: ManagedObject>(_ objects: [M], _ request: FetchRequest<M>) throws -> [M] {
    guard !request.includesPendingChanges, hasOwnChanges else { return request.sorted(objects) }
    // The request excludes this context's unsaved changes, so compare the objects in a context
    // without these changes.
    let root = try parent?.rootContext ?? unchangedContext()
    guard let other = root.storeContexts.first(where: { $0.model === model }) else {
      throw group.removal(of: model)
    }
    return try withExtendedLifetime(root) {
      let twins = objects.compactMap { other.object($0.number) as? M }
      if parent == nil { try other.reread(twins.map(\.number), in: try currentView()) }
      let numbers = request.sorted(twins).map(\.number)
      try other.requireReadable()
      return numbers.compactMap { object($0) as? M }
    }
  }

  /// Returns a new, unchanged root context that reads each store at the same generation as this
  /// context.
  private func unchangedContext() throws -> ManagedObjectContext {
    let root = ManagedObjectContext(group)
    for attached in group.attachedStores {
      let view: StoreView
      do {
        view = try rootContext.storeContext(of: attached).currentView()
      } catch {
        // Skip the store if it has been removed from the container in the meantime.
        guard attached.model.isRemoved else { throw error }
        continue
      }
      root.storeContext(of: attached).pin = .at(view)
    }
    return root
  }

  /// The maximum number of objects for which memory is reserved in advance.
  private static let maxReservedCount = 1 << 20

  /// Returns the objects for all rows examined by a plan, sorted by number.
  private func everyObject(_ plan: FetchPlan) throws -> [ManagedObject] {
    fastPaths.fetchCount += 1
    let view = try currentView()
    var found: [ManagedObject] = []
    for storage in plan.storages {
      let rows = try view.objects(storage)
      // Limit the reserved memory, because the stored count may be wrong.
      let total = found.count + min(try rows?.count() ?? 0, Self.maxReservedCount)
      found.reserveCapacity(total)
      registered.reserveCapacity(total)
      try rows?.forEach { key, value in
        let number = ObjectNumber(entity: storage.number, row: try key.lastKeyComponent())
        let object = try value.withRecord(storage.layouts) { record in
          try materialize(number, storage, record)
        }
        if let object { found.append(object) }
        return true
      }
    }
    return found
  }

  /// Returns the numbers of the objects that match a request, in the requested order, without first
  /// merging changes from other contexts.
  private func orderedNumbers<M: ManagedObject>(
    _ request: FetchRequest<M>
  ) throws -> [ObjectNumber] {
    let start = ContinuousClock.now
    let plan = try FetchPlan(request, model, renumbered)
    guard plan.order != nil, request.relationshipKeyPathsForPrefetching.isEmpty else {
      return try objects(for: request).map(\.number)
    }
    let numbers = try candidates(plan, request.includesPendingChanges, .number).map(\.number)
    try log(plan) { ContextLog.fetched($0, numbers, model.space, start) }
    return numbers
  }

  private func explanation(of plan: FetchPlan) throws -> FetchExplanation {
    if let parent { return try parent.explanation(of: plan) }
    let view = try currentView()
    let total = try plan.storages.reduce(0) { $0 + (try view.objects($1)?.count() ?? 0) }
    let path = try AccessPlanner(plan: plan, view: view, model: model).best()
    return FetchExplanation(plan, path, total: total)
  }

  func log(
    _ plan: FetchPlan, _ write: (ContextLog.Fetch) throws -> Void
  ) throws {
    guard ContextLog.level > .off else { return }
    let explanation = ContextLog.level >= .accessPaths ? try explanation(of: plan) : nil
    try write(ContextLog.Fetch(plan: plan, explanation: explanation))
  }

  /// Creates the objects with the given numbers, or updates existing objects from their rows as a
  /// fetch would.
  ///
  /// The rows of each entity are read in ascending order. Numbers without a row are skipped.
  ///
  /// - Parameter onlyOlder: Whether to skip registered objects that are not older than their rows.
  func reread(_ numbers: [ObjectNumber], in view: StoreView, onlyOlder: Bool = false) throws {
    for (_, some) in Dictionary(grouping: numbers.filter { !$0.isTemporary }, by: \.entity) {
      guard let storage = model.storage(of: some[0]) else { continue }
      let sorted = some.sorted()
      try view.objects(storage)?.forEach(of: sorted.map(\.row)) { position, value in
        _ = try value?.withRecord(storage.layouts) { record in
          if onlyOlder, let object = registeredObject(sorted[position]),
            object.version >= record.version
          {
            return
          }
          _ = try materialize(sorted[position], storage, record)
        }
      }
    }
  }

  // MARK: Prefetching

  /// Loads the targets of the relationships that a request prefetches.
  func prefetch<M: ManagedObject>(for request: FetchRequest<M>, _ objects: [M]) throws {
    guard !request.relationshipKeyPathsForPrefetching.isEmpty else { return }
    let entity = try model.schema.requiredEntity(of: M.self)
    for keyPath in request.relationshipKeyPathsForPrefetching {
      try prefetch(keyPath, entity, objects)
    }
  }

  /// Loads the objects related to `objects` through the relationship at a key path.
  private func prefetch(
    _ keyPath: AnyKeyPath, _ entity: EntityDescription, _ objects: [ManagedObject]
  ) throws {
    let property = try model.schema.property(keyPath, of: entity)
    guard property.isRelationship else {
      throw ObjectGraphError(
        .unknownProperty,
        "\(entity.name).\(property.name) is not a relationship and cannot be prefetched. Remove "
          + "the key path from relationshipKeyPathsForPrefetching.")
    }
    var faults: Set<ManagedObject> = []
    for object in objects {
      for other in related(to: object, property) where other.isFault { faults.insert(other) }
    }
    try load(faults)
  }

  /// Loads faults, reading the rows of each entity together and in ascending order.
  ///
  /// - Throws: Any error from reading rows.
  private func load(_ faults: Set<ManagedObject>) throws {
    if parent == nil { try reread(faults.map(\.number), in: try currentView()) }
    // Fire the faults that remain because this is a child context or because their rows are
    // missing.
    for fault in faults where fault.isFault { fire(fault) }
    try requireReadable()
  }
}
