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
    var objects = try matches(plan, request)
    if !request.sortDescriptors.isEmpty {
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
    ContextLog.fetched(plan, result.map(\.number), model.space, start.duration(to: .now))
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
      total = try matchingNumbers(plan, request).count
    }
    let result = max(0, min(total - request.fetchOffset, request.fetchLimit ?? .max))
    ContextLog.counted(plan, result, start.duration(to: .now))
    return result
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
    guard request.sortDescriptors.isEmpty, request.relationshipKeyPathsForPrefetching.isEmpty else {
      return try fetch(request).map(\.number)
    }
    try requireReadable()
    try mergeAutomatically()
    let start = ContinuousClock.now
    let plan = try FetchPlan(request, model)
    let numbers = request.page(of: try matchingNumbers(plan, request))
    ContextLog.fetched(plan, numbers, model.space, start.duration(to: .now))
    return numbers
  }

  /// The numbers of the objects of a plan, in the order of ``matches(_:_:)``; objects are made only
  /// if there are some that were changed.
  private func matchingNumbers<M: ManagedObject>(
    _ plan: FetchPlan, _ request: FetchRequest<M>
  ) throws -> [ObjectNumber] {
    guard parent == nil, !hasChanges || !request.includesPendingChanges else {
      return try matches(plan, request).map(\.number)
    }
    let view = try currentView()
    let scope = scope(plan, view, countsChanges: false)
    var numbers: [ObjectNumber] = []
    for storage in plan.storages {
      try forEachRecord(plan, storage, view, scope) { number, _ in numbers.append(number) }
    }
    return numbers
  }

  /// The objects of a plan, in the order of their rows, then those that were not saved yet.
  private func matches<M: ManagedObject>(
    _ plan: FetchPlan, _ request: FetchRequest<M>
  ) throws -> [M] {
    try requireReadable()
    var result: [M] = []
    let countsChanges = request.includesPendingChanges && hasChanges
    let view = parent == nil ? try currentView() : nil
    let scope = scope(plan, view, countsChanges: countsChanges)
    // Who is not changed is as the plan has found already, if that was asked of what is here.
    let asksAll = parent != nil && countsChanges && plan.leavesObject
    func consider(_ object: ManagedObject) throws {
      guard let object = object as? M else { return }
      if asksAll || object.hasChanges {
        // As it is here, and not as its row is, which the plan has looked at.
        guard request.includesPendingChanges else { return result.append(object) }
        guard !object.isDeleted, try plan.holds(for: object, scope) else { return }
      }
      result.append(object)
    }
    if let parent {
      for original in try parent.matches(asksAll ? plan.everything : plan, request) {
        guard let object = object(original.number) else { continue }
        try consider(object)
      }
    } else if let view {
      for storage in plan.storages {
        try forEachRecord(plan, storage, view, scope) { number, record in
          if let object = try realise(number, storage, record) { try consider(object) }
        }
      }
    }
    guard countsChanges else { return result }
    // Objects whose rows do not match, but that do here.
    var seen = Set(result.map { ObjectIdentifier($0) })
    for object in updated.all + inserted.all {
      guard let object = object as? M, plan.includes(object), !object.isDeleted,
        seen.insert(ObjectIdentifier(object)).inserted, try plan.holds(for: object, scope)
      else { continue }
      result.append(object)
    }
    return result
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

  /// Calls `body` with every record that the conditions of a plan hold for.
  private func forEachRecord(
    _ plan: FetchPlan, _ storage: EntityStorage, _ view: StoreView, _ scope: QueryScope,
    _ body: (ObjectNumber, RecordView) throws -> Void
  ) throws {
    if let numbers = try plan.indexedNumbers(storage, view, model) {
      for number in numbers where number.entity == storage.number {
        try view.withRecord(number, storage) { record in
          if try plan.holds(for: record, storage, number, scope) { try body(number, record) }
        }
      }
      return
    }
    try view.objects(storage)?.forEach { key, value in
      let number = ObjectNumber(entity: storage.number, row: try key.lastKeyPart())
      try value.withRecord(storage.layouts) { record in
        if try plan.holds(for: record, storage, number, scope) { try body(number, record) }
      }
      return true
    }
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
