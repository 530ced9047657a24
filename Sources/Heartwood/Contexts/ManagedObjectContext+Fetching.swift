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
    try mergeAutomatically()
    let start = ContinuousClock.now
    let plan = try FetchPlan(request, model)
    let found = try candidates(plan, request.includesPendingChanges, makesObjects: true)
    var objects = found.compactMap { $0.object as? M }
    if plan.order == nil {
      objects.sort { first, second in
        for descriptor in request.sortDescriptors {
          let order = descriptor.compare(first, second)
          if order != .orderedSame { return order == .orderedAscending }
        }
        return false
      }
    }
    let result = request.page(of: objects)
    for keyPath in request.relationshipKeyPathsForPrefetching {
      try prefetch(keyPath, plan.entity, result)
    }
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
    try requireReadable()
    try mergeAutomatically()
    let start = ContinuousClock.now
    let plan = try FetchPlan(request, model)
    let total: Int
    if parent == nil, plan.isEverything, !hasChanges || !request.includesPendingChanges {
      let view = try currentView()
      total = try plan.storages.reduce(0) { $0 + (try view.objects($1)?.count() ?? 0) }
    } else {
      total =
        try candidates(plan.counting, request.includesPendingChanges, makesObjects: false).count
    }
    let result = max(0, min(total - request.fetchOffset, request.fetchLimit ?? .max))
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
    return try explanation(of: try FetchPlan(request, model))
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
    let plan = try FetchPlan(request, model)
    guard plan.order != nil, request.relationshipKeyPathsForPrefetching.isEmpty else {
      return try fetch(request).map(\.number)
    }
    let found = try candidates(plan, request.includesPendingChanges, makesObjects: false)
    let numbers = request.page(of: found).map(\.number)
    try log(plan) { ContextLog.fetched($0, numbers, model.space, start) }
    return numbers
  }

  /// An object that was found.
  struct Candidate {
    let number: ObjectNumber
    /// What it is sorted by, unless it was found in its place.
    var keys: FetchOrder.Keys?
    /// The object itself, if it was made.
    var object: ManagedObject?
  }

  /// The objects of a plan, in its order if that is one by stored values, and up to its limit then.
  func candidates(
    _ plan: FetchPlan, _ includesPendingChanges: Bool, makesObjects: Bool
  ) throws -> [Candidate] {
    try requireReadable()
    let countsChanges = includesPendingChanges && hasChanges
    let view = parent == nil ? try currentView() : nil
    let scope = scope(plan, view, countsChanges: countsChanges)
    if let parent {
      let others = try parent.candidates(
        plan, scope, includesPendingChanges: includesPendingChanges, below: self)
      let changed = countsChanges ? try pendingCandidates(plan, scope) : []
      return plan.first(of: others + changed, areInOrder: false)
    }
    guard let view else { return [] }
    let path = try AccessPlanner(plan: plan, view: view, model: model).best()
    var selection = CandidateSelection(
      plan, path, makesObjects: makesObjects, keepsKeys: countsChanges)
    try RowSearch(plan: plan, path: path, view: view, model: model).forEach(scope) {
      number, storage, record in
      if countsChanges, let object = registered[number]?.takeUnretainedValue(), object.hasChanges {
        // Asked below, with what was derived for it since.
        _ = try realise(number, storage, record)
        return true
      }
      var candidate = Candidate(number: number)
      if selection.needsKeys { candidate.keys = try plan.order?.keys(number, scope) }
      if selection.makesObjectsAtOnce { candidate.object = try realise(number, storage, record) }
      return selection.add(candidate)
    }
    let changed = countsChanges ? try pendingCandidates(plan, scope) : []
    var found = plan.first(
      of: selection.candidates + changed, areInOrder: changed.isEmpty && selection.areInOrder)
    if makesObjects, !selection.makesObjectsAtOnce { try makeObjects(&found, plan, view, scope) }
    return found
  }

  /// The objects of a plan that were changed here, as they are here.
  private func pendingCandidates(_ plan: FetchPlan, _ scope: QueryScope) throws -> [Candidate] {
    try (updated.all + inserted.all).compactMap { object in
      guard plan.includes(object), !object.isDeleted, try plan.holds(for: object, scope) else {
        return nil
      }
      return try candidate(object, plan, scope)
    }
  }

  /// The objects of a plan that a context below this one does not say otherwise of.
  private func candidates(
    _ plan: FetchPlan, _ scope: QueryScope, includesPendingChanges: Bool,
    below child: ManagedObjectContext
  ) throws -> [Candidate] {
    // Who is not changed is as the plan has found already, if that was asked of what is here.
    let asksAll = includesPendingChanges && child.hasChanges && plan.leavesObject
    let others = try candidates(
      asksAll ? plan.everything : plan.unordered, includesPendingChanges, makesObjects: true)
    return try others.compactMap { other in
      guard let object = child.object(other.number) else { return nil }
      if includesPendingChanges {
        if object.hasChanges { return nil }
        if asksAll, try !plan.holds(for: object, scope) { return nil }
      }
      return try child.candidate(object, plan, scope)
    }
  }

  private func candidate(
    _ object: ManagedObject, _ plan: FetchPlan, _ scope: QueryScope
  ) throws -> Candidate {
    let keys = try plan.order.map { order in
      try scope.with(object) { try order.keys(object.number, scope) }
    }
    return Candidate(number: object.number, keys: keys, object: object)
  }

  /// Makes the objects of what is left of many.
  private func makeObjects(
    _ candidates: inout [Candidate], _ plan: FetchPlan, _ view: StoreView, _ scope: QueryScope
  ) throws {
    let rows = candidates.filter { $0.object == nil }.map(\.number)
    let path = AccessPath(kind: .objects(rows), rowCount: 0, cost: 0)
    let search = RowSearch(plan: plan.everything, path: path, view: view, model: model)
    var objects: [ObjectNumber: ManagedObject] = [:]
    try search.forEach(scope) { number, storage, record in
      objects[number] = try realise(number, storage, record)
      return true
    }
    for position in candidates.indices where candidates[position].object == nil {
      candidates[position].object = objects[candidates[position].number]
    }
  }

  /// Where the conditions of a plan find what they ask for: in rows, but for what was changed here.
  private func scope(
    _ plan: FetchPlan, _ view: StoreView?, countsChanges: Bool
  ) -> QueryScope {
    QueryScope(model, view, variableCount: plan.variableCount) { number in
      if self.parent != nil { return self.object(number) }
      guard countsChanges, let object = self.registered[number]?.takeUnretainedValue(),
        object.hasChanges
      else { return nil }
      return object
    }
  }

  private func explanation(of plan: FetchPlan) throws -> FetchExplanation {
    if let parent { return try parent.explanation(of: plan) }
    let view = try currentView()
    let total = try plan.storages.reduce(0) { $0 + (try view.objects($1)?.count() ?? 0) }
    let path = try AccessPlanner(plan: plan, view: view, model: model).best()
    return FetchExplanation(plan, path, total: total)
  }

  private func log(
    _ plan: FetchPlan, _ write: (ContextLog.Fetch) throws -> Void
  ) throws {
    guard ContextLog.level > 0 else { return }
    let explanation = ContextLog.level > 3 ? try explanation(of: plan) : nil
    try write(ContextLog.Fetch(plan: plan, explanation: explanation))
  }

  // MARK: Prefetching

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
    for fault in faults.sorted(by: { $0.number < $1.number }) { fire(fault) }
    try requireReadable()
  }
}
