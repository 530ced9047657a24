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
    let rest = objects.dropFirst(request.fetchOffset)
    let result = Array(request.fetchLimit.map { rest.prefix(max(0, $0)) } ?? rest)
    for keyPath in request.relationshipKeyPathsForPrefetching {
      try prefetch(keyPath, plan.entity, result)
    }
    ContextLog.fetched(plan, result.count, start.duration(to: .now))
    return result
  }

  /// How many objects a request asks for.
  ///
  /// - Throws: As ``fetch(_:)``.
  /// - Complexity: No row is read if there is no predicate and nothing was changed.
  public func count<M: ManagedObject>(for request: FetchRequest<M>) throws -> Int {
    try requireReadable()
    let plan = try FetchPlan(request, model)
    let total: Int
    if parent == nil, plan.isEverything, !hasChanges || !request.includesPendingChanges {
      let view = try currentView()
      total = try plan.storages.reduce(0) { $0 + (try view.objects($1)?.count() ?? 0) }
    } else {
      total = try matches(plan, request).count
    }
    return max(0, min(total - request.fetchOffset, request.fetchLimit ?? .max))
  }

  /// The IDs of the objects a request asks for, as ``fetch(_:)`` would find them.
  public func fetchObjectIDs<M: ManagedObject>(
    _ request: FetchRequest<M>
  ) throws -> [ManagedObjectID] {
    try fetch(request).map(\.objectID)
  }

  // MARK: Finding

  /// The objects of a plan, in the order of their rows, then those that were not saved yet.
  private func matches<M: ManagedObject>(
    _ plan: FetchPlan, _ request: FetchRequest<M>
  ) throws -> [M] {
    try requireReadable()
    var result: [M] = []
    let countsChanges = request.includesPendingChanges
    func consider(_ object: ManagedObject) throws {
      guard let object = object as? M else { return }
      if object.isDeleted || object.isUpdated || object.isInserted {
        // As it is here, and not as its row is, which the plan has looked at.
        guard countsChanges else { return result.append(object) }
        guard !object.isDeleted, try plan.holds(for: object) else { return }
      } else if !plan.terms.isWhole {
        guard try plan.holds(for: object) else { return }
      }
      result.append(object)
    }
    if let parent {
      for original in try parent.matches(plan, request) {
        guard let object = object(original.number) else { continue }
        try consider(object)
      }
    } else {
      let view = try currentView()
      for storage in plan.storages { try forEachCandidate(plan, storage, view, consider) }
    }
    guard countsChanges, hasChanges else { return result }
    // Objects whose rows do not match, but that do here.
    var seen = Set(result.map { ObjectIdentifier($0) })
    for object in updated.all + inserted.all {
      guard let object = object as? M, plan.includes(object), !object.isDeleted,
        seen.insert(ObjectIdentifier(object)).inserted, try plan.holds(for: object)
      else { continue }
      result.append(object)
    }
    return result
  }

  /// Calls `body` with the object of every row that the conditions of a plan hold for.
  private func forEachCandidate(
    _ plan: FetchPlan, _ storage: EntityStorage, _ view: StoreView,
    _ body: (ManagedObject) throws -> Void
  ) throws {
    if let numbers = try plan.indexedNumbers(storage, view, model) {
      for number in numbers where number.entity == storage.number {
        let object: ManagedObject?? = try view.withRecord(number, storage) { record in
          try plan.holds(for: record, storage) ? realise(number, storage, record) : nil
        }
        if case .some(.some(let object)) = object { try body(object) }
      }
      return
    }
    try view.objects(storage)?.forEach { key, value in
      let number = ObjectNumber(entity: storage.number, row: try key.lastKeyPart())
      let object = try value.withRecord(storage.layouts) { record in
        try plan.holds(for: record, storage) ? realise(number, storage, record) : nil
      }
      if let object { try body(object) }
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
