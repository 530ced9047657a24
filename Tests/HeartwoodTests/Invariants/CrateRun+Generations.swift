import Heartwood

/// Steps that use the history or earlier generations.
extension CrateRun {
  func mergeHistory(_ workspace: CrateWorkspace) throws {
    guard workspace.isRoot else { return }
    workspace.touch()
    let transactions: [PersistentHistoryTransaction]
    do {
      transactions = try container.fetchHistory(after: workspace.token)
    } catch let error as ObjectGraphError where error.kind == .historyExpired {
      record("\(workspace.name): the history has expired")
      workspace.token = try container.currentHistoryToken
      return
    }
    let count = isTrue(onceIn: 3) ? transactions.count : below(transactions.count + 1)
    record("\(workspace.name): merge \(count) of \(transactions.count) transactions")
    // Merging advances a pinned context, but rereads only the objects that the transaction changed.
    if count > 0 { workspace.isStale = true }
    for transaction in transactions.prefix(count) {
      try workspace.context.mergeChanges(from: transaction)
      workspace.token = transaction.token
    }
  }

  func pin(_ workspace: CrateWorkspace) throws {
    guard workspace.isRoot else { return }
    let context = workspace.context
    workspace.touch()
    workspace.isStale = true
    if isTrue(onceIn: 3) {
      record("\(workspace.name): unpin")
      try context.setQueryGenerationFrom(nil)
    } else if isTrue(onceIn: 3), !context.automaticallyMergesChangesFromParent,
      let (name, _) = one(named)
    {
      record("\(workspace.name): pin to \(name)")
      try context.setQueryGenerationFrom(try container.keptGeneration(name))
    } else {
      record("\(workspace.name): pin to the newest generation")
      try context.setQueryGenerationFrom(.current)
    }
    workspace.notePin()
  }

  func deleteHistory() throws {
    guard let token = try container.currentHistoryToken else { return }
    record("delete the history")
    try container.deleteHistory(before: token)
  }

  // MARK: Named generations

  func nameGeneration() throws {
    let name = "name \(named.count)"
    record("keep the newest generation as \(name)")
    try container.keepGeneration(.current, as: name)
    named.append((name, try stored()))
  }

  private func token(_ name: String) throws -> QueryGenerationToken {
    let token = try container.keptGeneration(name)
    guard let token else {
      throw InvariantViolation(invariant: "names are kept", details: name)
    }
    return token
  }

  /// Compares a named generation with its earlier content, and with the newest generation.
  func compareGeneration(_ workspace: CrateWorkspace) throws {
    guard let (name, lines) = one(named) else { return }
    let token = try token(name)
    let (old, new) = (try container.newContext(pinnedTo: token), container.newContext())
    let found = try CrateText.lines(old, withDerived: true)
    try expect(
      found == lines, "named generations do not change",
      "\(name)\(CrateText.difference(lines, found))")
    let changes = try container.changes(from: token, to: .current)
    func linesByID(_ context: ManagedObjectContext) throws -> [ManagedObjectID: String] {
      let objects = try CrateText.objects(context)
      return Dictionary(
        uniqueKeysWithValues: objects.map {
          ($0.objectID, CrateText.line($0, withDerived: true))
        })
    }
    let (before, after) = (try linesByID(old), try linesByID(new))
    let inserted = Set(after.keys).subtracting(before.keys)
    let deleted = Set(before.keys).subtracting(after.keys)
    try expect(changes.inserted == inserted, "changes(from:to:) has all insertions", name)
    try expect(changes.deleted == deleted, "changes(from:to:) has all deletions", name)
    for (id, line) in before {
      guard let now = after[id], now != line, changes.updated[id] == nil else { continue }
      try expect(false, "changes(from:to:) has all updates", "\(name): \(line), now \(now)")
    }
    guard isTrue(onceIn: 3), workspace.isRoot else { return }
    record("\(workspace.name): merge the changes since \(name)")
    workspace.touch()
    workspace.isStale = true
    try workspace.context.mergeChanges(changes)
  }

  func revert() throws {
    guard let (name, lines) = one(named), isTrue(onceIn: 2) else { return }
    record("revert to \(name)")
    try container.revert(to: try token(name))
    let found = try stored()
    try expect(
      found == lines, "revert restores the content of the generation",
      "\(name)\(CrateText.difference(lines, found))")
    try checkStore()
    noteCommit(by: nil)
  }
}
