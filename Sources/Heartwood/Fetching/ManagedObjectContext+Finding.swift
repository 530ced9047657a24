extension ManagedObjectContext {
  /// The content that a fetch needs from each candidate.
  enum CandidateContent {
    case number
    case object
    case values([QueryTerm.Value])
  }

  /// An object found by a fetch.
  struct Candidate {
    let number: ObjectNumber
    /// The sort keys, or `nil` if they are not needed because the object was found in order.
    var keys: FetchOrder.Keys?
    /// The object, or `nil` if the fetch does not need it.
    var object: ManagedObject?
    /// The values, or an empty array if the fetch does not need them.
    var values: [StoredValue] = []
    /// A Boolean value that indicates whether the candidate has the requested content.
    var isComplete = false
  }

  /// Returns a candidate for each object that matches a plan.
  ///
  /// If the plan sorts by stored values, the candidates are in that order, and the plan's offset
  /// and limit apply.
  ///
  /// - Parameters:
  ///   - inOrder: Whether `body` is called in the order of the plan. If `false`, `body` is called
  ///     as soon as each object is found, without regard to the offset and the limit. If the
  ///     objects are found in the order of the plan, the parameter has no effect.
  ///   - body: A closure that is called with each object, or `nil` to return the objects. If there
  ///     is a closure, the method returns an empty array.
  func candidates(
    _ plan: FetchPlan, _ includesPendingChanges: Bool, _ content: CandidateContent,
    inOrder: Bool = false, consumedBy body: ((Candidate) throws -> Void)? = nil
  ) throws -> [Candidate] {
    try requireReadable()
    loadReturnedObjects()
    let countsChanges = includesPendingChanges && hasOwnChanges
    let view = parent == nil ? try currentView() : nil
    let hiding = countsChanges ? try objectsHidingDeletedObjects() : [:]
    let scope = try scope(plan, view, countsChanges: countsChanges, hiding: hiding)
    let pending = countsChanges ? Set(updated.all + inserted.all) : []
    var (found, areInOrder, skippedCount) = ([Candidate](), false, 0)
    if view != nil, let ranked = plan.rankedTextSearch, let limit = plan.limit, !countsChanges,
      hiding.isEmpty, plan.includesFamily(of: ranked, model)
    {
      found =
        try scope.textRun(ranked)?.top(limit).map { match in
          Candidate(
            number: match.number,
            keys: .init(values: .init([.double(-match.score)]), number: match.number))
        } ?? []
      areInOrder = true
    } else if let view {
      var search = try RowSearch(plan, view, model)
      if body == nil, !countsChanges, hiding.isEmpty { search.skipOffset() }
      skippedCount = search.skippedCount
      var selection = CandidateSelection(search, content, keepsKeys: countsChanges)
      let consumer =
        inOrder && (countsChanges || plan.isPage || !selection.areInOrder) ? nil : body
      try search.forEach(scope) { number, storage, record in
        if countsChanges, let object = registered[number]?.takeUnretainedValue(),
          object.hasChanges || pending.contains(object)
        {
          // Update the object's derived attributes from the row before evaluating the object.
          if !discardNoOpEdits(of: object) { _ = try materialize(number, storage, record) }
          if object.hasChanges || pending.contains(object) { return true }
        }
        if !hiding.isEmpty, hiding[number] != nil { return true }
        var candidate = Candidate(number: number)
        if selection.needsKeys { candidate.keys = try plan.order?.keys(number, scope) }
        if selection.completesAtOnce {
          try complete(&candidate, content, storage, record, scope)
        }
        guard let consumer else { return selection.add(candidate) }
        try consumer(candidate)
        return true
      }
      found = selection.candidates
      areInOrder = selection.areInOrder
    } else if let parent {
      found = try parent.candidates(
        plan, scope, includesPendingChanges: includesPendingChanges, content, for: self,
        omitting: pending, hidesObjects: !hiding.isEmpty)
    }
    var changed = countsChanges ? try pendingCandidates(pending, plan, content, scope, view) : []
    if parent == nil {
      changed += try hiding.values.filter { try plan.includes($0) && plan.holds(for: $0, scope) }
        .map { try candidate($0, plan, content, scope) }
    }
    if let body, !inOrder {
      for candidate in found + changed { try body(candidate) }
      return []
    }
    found += changed
    plan.page(&found, areInOrder: areInOrder && changed.isEmpty, skippedCount: skippedCount)
    if let view { try completeAll(&found, content, plan, view, scope) }
    guard let body else { return found }
    for candidate in found { try body(candidate) }
    return []
  }

  /// Returns the objects that were inserted or updated in this context and whose current values
  /// match a plan.
  ///
  /// - Parameter pending: The objects that had changes when the fetch began.
  private func pendingCandidates(
    _ pending: Set<ManagedObject>, _ plan: FetchPlan, _ content: CandidateContent,
    _ scope: QueryScope, _ view: StoreView?
  ) throws -> [Candidate] {
    let changed = updated.all + inserted.all
    let others = pending.subtracting(changed).sorted { $0.number < $1.number }
    return try (changed + others).compactMap { object in
      // An edited object is a fault only if the pinned generation had no row for it when it was
      // edited. Load the object, because it may have a row now. If not, it is treated as deleted.
      if object.isFault { fire(object) }
      guard plan.includes(object), object.source === self, !object.isDeleted else { return nil }
      var isMatch = try plan.holds(for: object, scope)
      // Check for changes again, because evaluating conditions may have discarded this object's
      // edits. In that case, evaluate the object as it is stored.
      if !object.hasChanges || discardNoOpEdits(of: object) {
        isMatch = try fillAgainIfStale(object, view) && plan.holds(for: object, scope)
      }
      return isMatch ? try candidate(object, plan, content, scope) : nil
    }
  }

  /// Rereads an unchanged object if necessary, and returns whether it exists in the store or the
  /// parent.
  private func fillAgainIfStale(_ object: ManagedObject, _ view: StoreView?) throws -> Bool {
    if let parent {
      guard let original = parent.relatableObject(object.number) else { return false }
      fillAgainIfStale(object, from: original)
      return true
    }
    guard let view, let storage = model.storage(of: object.number) else { return false }
    let isThere: Void? = try view.withRecord(object.number, storage) { record in
      _ = try materialize(object.number, storage, record)
    }
    return isThere != nil
  }

  /// Returns candidates for a fetch in a child of this context.
  ///
  /// The candidates are the objects that match the plan in this context. If the fetch includes the
  /// child's unsaved changes, objects that were changed in the child are omitted. This context's
  /// unsaved changes are always included, because a child reads its parent's objects in their
  /// current state (N-01).
  private func candidates(
    _ plan: FetchPlan, _ scope: QueryScope, includesPendingChanges: Bool,
    _ content: CandidateContent, for child: ManagedObjectContext,
    omitting pending: Set<ManagedObject>, hidesObjects: Bool
  ) throws -> [Candidate] {
    // An object that the child has not changed usually matches in the child if it matches in this
    // context. However, the result can differ if the conditions depend on other objects that the
    // child has changed, or if the child hides objects from relationships. In these cases, evaluate
    // the conditions again for every object.
    let reevaluatesAll =
      includesPendingChanges && child.hasOwnChanges && (plan.dependsOnOtherObjects || hidesObjects)
    let others = try candidates(
      reevaluatesAll ? plan.everything : plan.unordered, true, .object)
    return try others.compactMap { other -> Candidate? in
      guard let object = child.object(other.number) else { return nil }
      if pending.contains(object) { return nil }
      if object.hasChanges, !child.discardNoOpEdits(of: object) {
        guard !includesPendingChanges, let original = other.object else { return nil }
        var candidate = try candidate(original, plan, content, scope)
        candidate.object = object
        return candidate
      }
      if let original = other.object { child.fillAgainIfStale(object, from: original) }
      if reevaluatesAll, try !plan.holds(for: object, scope) { return nil }
      return try child.candidate(object, plan, content, scope)
    }
  }

  /// Returns a candidate that contains the sort keys and the requested content of an object in
  /// memory.
  private func candidate(
    _ object: ManagedObject, _ plan: FetchPlan, _ content: CandidateContent, _ scope: QueryScope
  ) throws -> Candidate {
    try scope.with(object) {
      var candidate = Candidate(number: object.number, object: object, isComplete: true)
      candidate.keys = try plan.order?.keys(object.number, scope)
      if case .values(let values) = content { candidate.values = try values.map { try $0(scope) } }
      return candidate
    }
  }

  /// Reads a candidate's requested content from the candidate's row.
  ///
  /// The row is the subject of `scope`.
  private func complete(
    _ candidate: inout Candidate, _ content: CandidateContent, _ storage: EntityStorage,
    _ record: RecordView, _ scope: QueryScope
  ) throws {
    switch content {
    case .number: break
    case .object: candidate.object = try materialize(candidate.number, storage, record)
    case .values(let values): candidate.values = try values.map { try $0(scope) }
    }
    candidate.isComplete = true
  }

  /// Reads the requested content of all candidates that do not have it yet.
  private func completeAll(
    _ candidates: inout [Candidate], _ content: CandidateContent, _ plan: FetchPlan,
    _ view: StoreView, _ scope: QueryScope
  ) throws {
    let positions = Dictionary(
      uniqueKeysWithValues: candidates.indices.filter { !candidates[$0].isComplete }
        .map { (candidates[$0].number, $0) })
    guard !positions.isEmpty else { return }
    let search = RowSearch(plan.everything, of: Array(positions.keys), view, model)
    try search.forEach(scope) { number, storage, record in
      if let position = positions[number] {
        try complete(&candidates[position], content, storage, record, scope)
      }
      return true
    }
  }

  /// Returns a scope for evaluating the conditions of a plan.
  ///
  /// The scope reads objects from their rows. If an object was changed in this context or a parent,
  /// or if its relationships omit objects deleted there, the scope reads it from memory instead.
  ///
  /// - Parameter hiding: The objects with relationships that omit objects deleted in this context.
  private func scope(
    _ plan: FetchPlan, _ view: StoreView?, countsChanges: Bool,
    hiding: [ObjectNumber: ManagedObject]
  ) throws -> QueryScope {
    var levels = [(context: self, hiding: hiding)]
    while let parent = levels[levels.count - 1].context.parent {
      levels.append((parent, try parent.objectsHidingDeletedObjects()))
    }
    let view = try view ?? root.currentView()
    return QueryScope(model, view, variableCount: plan.variableCount) { number in
      for (context, hiding) in levels where countsChanges || context !== self {
        if let object = context.changedObject(number) ?? hiding[number] { return object }
      }
      return nil
    }
  }

  /// Returns the object with the given number, or `nil` if the object is not registered or has no
  /// changes.
  ///
  /// If an object's values equal the values in its row, the object is treated as unchanged. A fetch
  /// then evaluates the row, which may be newer than the values in memory (C-05).
  private func changedObject(_ number: ObjectNumber) -> ManagedObject? {
    guard let object = registeredObject(parent == nil ? number : resolved(number)),
      object.hasChanges, !discardNoOpEdits(of: object)
    else { return nil }
    return object
  }

  /// The topmost parent of this context, or this context itself if it has no parent.
  var root: ManagedObjectContext { parent?.root ?? self }
}
