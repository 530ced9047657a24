import Dispatch

extension ManagedObjectContext {
  /// Fetches the objects that match a request, using another thread to find the objects and read
  /// their rows.
  ///
  /// While the other thread works, the caller's thread is free, for example to run other tasks of
  /// its actor. Afterwards, the caller's thread creates the objects. The caller's thread does all
  /// of the work if unsaved changes must be included, if this is a child context, or if the sort
  /// descriptors compare anything other than stored values.
  ///
  /// ```swift
  /// let notes = try await container.viewContext.fetchAsync(FetchRequest<Note>())
  /// ```
  ///
  /// - Throws: The same errors as ``fetch(_:)``.
  /// - Complexity: The same as ``fetch(_:)``.
  public nonisolated(nonsending) func fetchAsync<M: ManagedObject>(
    _ request: FetchRequest<M>
  ) async throws -> [M] {
    if let storeContext = otherStoreContext(for: M.self) {
      return try await storeContext.fetchAsync(request)
    }
    guard let begun = try beginFetch(request) else { return try fetch(request) }
    let search = RemoteSearch(
      request: request, snapshot: begun, model: model, renumbered: renumbered.copy)
    let rows = try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try search.run() }) }
    }
    return try performAndWait { try finishFetch(request, rows, begun) }
  }

  /// Returns a snapshot that another thread can read, or `nil` if the caller's thread must run the
  /// fetch.
  private func beginFetch<M: ManagedObject>(_ request: FetchRequest<M>) throws -> Snapshot? {
    try performAndWait {
      try requireReadable()
      try mergeAutomatically()
      let needsObjects = try FetchPlan(request, model, renumbered).order == nil
      guard parent == nil, !needsObjects, !hasOwnChanges || !request.includesPendingChanges else {
        return nil
      }
      return try currentView().snapshot
    }
  }

  /// Creates objects for the rows read by another thread.
  ///
  /// If the context has changed in the meantime, the method fetches again instead.
  private func finishFetch<M: ManagedObject>(
    _ request: FetchRequest<M>, _ rows: [FoundRow], _ snapshot: Snapshot
  ) throws -> [M] {
    try requireReadable()
    guard !hasOwnChanges || !request.includesPendingChanges,
      try currentView().snapshot?.generation == snapshot.generation
    else { return try fetch(request) }
    let objects = try rows.compactMap { row -> M? in
      guard let storage = model.storage(of: row.number) else { return nil }
      return try row.record.span.bytes.withRecord(storage.layouts) { record in
        try materialize(row.number, storage, record) as? M
      }
    }
    try prefetch(for: request, objects)
    return objects
  }
}

/// A row read by another thread.
private struct FoundRow: Sendable {
  let number: ObjectNumber
  let record: [UInt8]
}

/// A fetch of saved rows that runs on another thread.
private struct RemoteSearch<M: ManagedObject>: @unchecked Sendable {
  // The conformance is `@unchecked`, because the compiler cannot verify that the key paths are
  // immutable and that no other code uses `renumbered`.
  let request: FetchRequest<M>
  let snapshot: Snapshot
  let model: StoreModel
  let renumbered: RenumberedObjects

  func run() throws -> [FoundRow] {
    let view = try StoreView(snapshot, model)
    let plan = try FetchPlan(request, model, renumbered)
    var search = try RowSearch(plan, view, model)
    search.skipOffset()
    let scope = QueryScope(model, view, variableCount: plan.variableCount) { _ in nil }
    var selection = CandidateSelection(search, .number, keepsKeys: false)
    try search.forEach(scope) { number, _, record in
      var candidate = ManagedObjectContext.Candidate(number: number)
      if selection.needsKeys { candidate.keys = try plan.order?.keys(number, scope) }
      return selection.add(candidate)
    }
    var found = selection.candidates
    plan.page(&found, areInOrder: selection.areInOrder, skippedCount: search.skippedCount)
    let page = found.map(\.number)
    var records: [ObjectNumber: [UInt8]] = [:]
    try RowSearch(plan.everything, of: page, view, model).forEach(scope) { number, _, record in
      records[number] = record.copy
      return true
    }
    return page.compactMap { number in
      records[number].map { FoundRow(number: number, record: $0) }
    }
  }
}
