import Foundation

extension ManagedObjectContext {
  /// The objects a request asks for.
  ///
  /// What was changed in the context counts as it is here, unless the request says otherwise.
  ///
  /// - Throws: `unknownEntity` or `unknownProperty` if the request names what the model does not
  ///   have; what kept rows from being read; ``faultError``.
  /// - Complexity: One row read for each object whose unique or indexed attributes the predicate
  ///   asks for; without such, every row of the entity.
  public func fetch<M: ManagedObject>(_ request: FetchRequest<M>) throws -> [M] {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(for: M.self) { return try part.fetch(request) }
    try mergeAutomatically()
    let start = ContinuousClock.now
    let plan = try FetchPlan(request, model, renumbered)
    // Made an array of their class in one go: to add to one of any class takes as long as to fill
    // an object.
    var found: [ManagedObject] = []
    func take(_ candidate: Candidate) {
      if let object = candidate.object { found.append(object) }
    }
    let isPlain = parent == nil && !hasOwnChanges && plan.limit == nil && !plan.needsSorting
    // In the order of the rows anyway, so none has to wait for the others.
    try candidates(
      plan, request.includesPendingChanges, .object, consumedBy: isPlain ? take : nil
    ).forEach(take)
    var objects = [M](found)
    if plan.order == nil { objects = request.sorted(objects) }
    let result = request.page(of: objects)
    try prefetch(for: request, result)
    try log(plan) { ContextLog.fetched($0, result.map(\.number), model.space, start) }
    return result
  }

  /// How many objects a request asks for.
  ///
  /// - Throws: As ``fetch(_:)``.
  /// - Complexity: No row is read if there is no predicate and nothing was changed.
  public func count<M: ManagedObject>(for request: FetchRequest<M>) throws -> Int {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(for: M.self) { return try part.count(for: request) }
    try requireReadable()
    try mergeAutomatically()
    let start = ContinuousClock.now
    let plan = try FetchPlan(request, model, renumbered)
    let total: Int
    if parent == nil, plan.isEverything, !hasOwnChanges || !request.includesPendingChanges {
      let view = try currentView()
      total = try plan.storages.reduce(0) { $0 + (try view.objects($1)?.count() ?? 0) }
    } else {
      total = try candidates(plan.counting, request.includesPendingChanges, .number).count
    }
    let result = request.pageCount(of: total)
    try log(plan) { ContextLog.counted($0, result, start) }
    return result
  }

  /// How ``fetch(_:)`` would find the objects of a request, in words.
  ///
  /// ```swift
  /// print(try context.explain(request))
  /// ```
  ///
  /// The way is chosen for each fetch anew, by how many entries the indexes have at the time.
  ///
  /// - Throws: As ``fetch(_:)``.
  /// - Complexity: Two page reads for each level of the indexes that could help; no row is read.
  public func explain<M: ManagedObject>(_ request: FetchRequest<M>) throws -> FetchExplanation {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(for: M.self) { return try part.explain(request) }
    return try explanation(of: try FetchPlan(request, model, renumbered))
  }

  /// The IDs of the objects a request asks for, as ``fetch(_:)`` would find them.
  ///
  /// - Throws: As ``fetch(_:)``.
  /// - Complexity: As ``fetch(_:)``; no objects are made unless an order or a condition asks them.
  public func fetchObjectIDs<M: ManagedObject>(
    _ request: FetchRequest<M>
  ) throws -> [ManagedObjectID] {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(for: M.self) { return try part.fetchObjectIDs(request) }
    return try orderedNumbers(request).map { ManagedObjectID($0, model.space) }
  }

  /// The objects a request asks for, as a collection that loads them when they are looked at.
  ///
  /// - Throws: As ``fetch(_:)``.
  /// - Complexity: As ``fetchObjectIDs(_:)``, and one row read for each object looked at.
  public func fetchBatched<M: ManagedObject>(
    _ request: FetchRequest<M>
  ) throws -> BatchedResults<M> {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(for: M.self) { return try part.fetchBatched(request) }
    let numbers = try orderedNumbers(request)
    return BatchedResults(
      self, parent == nil ? try currentView() : nil, numbers, size: request.fetchBatchSize)
  }

  // MARK: Finding

  /// The numbers of the objects a request asks for, in its order.
  private func orderedNumbers<M: ManagedObject>(
    _ request: FetchRequest<M>
  ) throws -> [ObjectNumber] {
    try requireReadable()
    try mergeAutomatically()
    let start = ContinuousClock.now
    let plan = try FetchPlan(request, model, renumbered)
    guard plan.order != nil, request.relationshipKeyPathsForPrefetching.isEmpty else {
      return try fetch(request).map(\.number)
    }
    let found = try candidates(plan, request.includesPendingChanges, .number)
    let numbers = request.page(of: found).map(\.number)
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
    guard ContextLog.level > 0 else { return }
    let explanation = ContextLog.level > 3 ? try explanation(of: plan) : nil
    try write(ContextLog.Fetch(plan: plan, explanation: explanation))
  }

  // MARK: Prefetching

  /// Loads the objects that relationships of some objects lead to, as a request asks for it.
  func prefetch<M: ManagedObject>(for request: FetchRequest<M>, _ objects: [M]) throws {
    guard !request.relationshipKeyPathsForPrefetching.isEmpty else { return }
    let entity = try model.schema.requiredEntity(of: M.self)
    for keyPath in request.relationshipKeyPathsForPrefetching {
      try prefetch(keyPath, entity, objects)
    }
  }

  /// Loads the objects that a relationship of some objects leads to, in the order of their rows.
  private func prefetch(
    _ keyPath: AnyKeyPath, _ entity: EntityDescription, _ objects: [ManagedObject]
  ) throws {
    let property = try model.schema.property(keyPath, of: entity)
    guard property.isRelationship else {
      throw ObjectGraphError(.unknownProperty, "\(property.name) is no relationship.")
    }
    var faults: Set<ManagedObject> = []
    for object in objects {
      for other in related(to: object, property) where other.isFault { faults.insert(other) }
    }
    try load(faults)
  }

  /// Loads faults in the order of their rows, many at a time.
  private func load(_ faults: Set<ManagedObject>) throws {
    if parent == nil {
      let view = try currentView()
      for (entity, some) in Dictionary(grouping: faults, by: { $0.number.entity }) {
        guard let storage = model.entities.first(where: { $0.number == entity }) else { continue }
        let numbers = some.map(\.number).filter { !$0.isTemporary }.sorted()
        try view.objects(storage)?.forEach(of: numbers.map(\.row)) { position, value in
          _ = try value?.withRecord(storage.layouts) { record in
            try realise(numbers[position], storage, record)
          }
        }
      }
    }
    // Those below another context, and those whose rows are gone.
    for fault in faults where fault.isFault { fire(fault) }
    try requireReadable()
  }
}
