import HeartwoodEngine
import HeartwoodTestSupport

/// A step of a run.
enum ModelStep: CaseIterable {
  /// Several successive transactions.
  case write
  /// A transaction that changes something and then throws.
  case abandonedWrite
  /// A transaction without changes.
  case emptyWrite
  case pin
  case unpin
  case readNewest
  case readHeld
  /// Requests a random earlier generation, which may have expired.
  case readGiven
  case changes
  case keep
  case release
  case checkpoint
  case compact
  case copy
  case verify
  case compareAll
  case reopen
  /// Kills the process and opens the store in another process, on the simulated disk only.
  case kill
  /// Cuts the power, on the simulated disk only.
  case cutPower

  /// The relative frequency of this step.
  private var weight: Int {
    switch self {
    case .write: 44
    case .pin: 18
    case .readHeld: 16
    case .unpin: 8
    case .readNewest, .readGiven, .changes, .abandonedWrite: 5
    case .checkpoint: 4
    case .keep, .release, .emptyWrite: 3
    case .verify, .compareAll, .compact, .reopen, .kill, .cutPower: 1
    case .copy: 1
    }
  }

  private static let choices = allCases.flatMap { Array(repeating: $0, count: $0.weight) }

  static func next(_ random: inout SeededGenerator) -> ModelStep {
    choices[random.below(choices.count)]
  }
}

// MARK: Writing and pinning

extension ModelRun {
  private func transaction() -> ModelTransaction {
    transactionCount += 1
    var transaction = ModelTransaction(
      pageByteCount: setting.pageByteCount, random: random.forked(), content: content)
    transaction.content.number = transactionCount
    return transaction
  }

  func write(_ store: Store) throws {
    var change = transaction()
    let durability: StoreOptions.Durability = random.isTrue(in256: 64) ? .full : .normal
    let operationCount = random.isTrue(in256: 12) ? 120 : 1 + random.below(12)
    let generation = try store.write(durability: durability) {
      try change.run(&$0, operationCount: operationCount)
    }
    try record(generation, change.content)
    if durability == .full { durableNumber = transactionCount }
  }

  func abandonedWrite(_ store: Store) throws {
    var change = transaction()
    do {
      try store.write {
        try change.run(&$0, operationCount: 1 + random.below(30))
        throw ModelTransaction.Abandoned()
      }
    } catch is ModelTransaction.Abandoned {}
    try expectNewest(store)
  }

  func emptyWrite(_ store: Store) throws {
    let generation = try store.write { transaction in
      try ModelMismatch.unless(
        try transaction.keyspaceNames == content.names, "the keyspaces are not \(content.names)")
    }
    try ModelMismatch.unless(generation == newest, "an empty write created \(generation)")
  }

  func expectNewest(_ store: Store) throws {
    let found = try store.snapshot().generation
    try ModelMismatch.unless(found == newest, "\(found) is the newest, not \(newest)")
  }

  func pin(_ store: Store) throws {
    held.append(Held(snapshot: try store.snapshot(), content: content))
    try expectNewest(store)
    if held.count > 14 { held.remove(at: random.below(held.count)) }
  }

  // MARK: Reading

  func readHeld() throws {
    guard !held.isEmpty else { return }
    let chosen = held[random.below(held.count)]
    try chosen.content.compareSome(chosen.snapshot, &random)
  }

  func readGiven(_ store: Store) throws {
    let generations = history.keys.sorted()
    let generation = generations[random.below(generations.count)]
    if let snapshot = try expectGiven(generation, store) {
      let shown = history[generation] ?? ReferenceContent()
      try shown.compareSome(snapshot, &random)
      if held.count < 14 { held.append(Held(snapshot: snapshot, content: shown)) }
    }
    for lost in expired.sorted().suffix(3) { _ = try expectGiven(lost, store) }
  }

  /// Requests a generation, and returns its snapshot, or `nil` if it has expired.
  ///
  /// - Throws: An error if the generation has expired although it is held, or is readable although
  ///   it had expired earlier.
  @discardableResult
  func expectGiven(_ generation: Generation, _ store: Store) throws -> Snapshot? {
    do {
      let snapshot = try store.snapshot(at: generation)
      try ModelMismatch.unless(
        !expired.contains(generation), "\(generation) had expired, but is readable")
      return snapshot
    } catch let error as StorageError where error.kind == .generationExpired {
      try ModelMismatch.unless(!isHeld(generation), "\(generation) is held, but has expired")
      expired.insert(generation)
      history[generation] = nil
      return nil
    }
  }

  /// Returns whether a generation is held, has a name, or is the newest generation.
  func isHeld(_ generation: Generation) -> Bool {
    generation == newest || kept.values.contains(generation)
      || held.contains { $0.snapshot.generation == generation }
  }

  func compareChanges(_ store: Store) throws {
    let (source, target) = (try anyHeld(store), try anyHeld(store))
    var found: [StoreChange] = []
    try store.changes(from: source.snapshot, to: target.snapshot) { found.append($0) }
    let expected = source.content.changes(to: target.content)
    try ModelMismatch.unless(
      found == expected,
      "\(found.count) changes from \(source.snapshot.generation) to"
        + " \(target.snapshot.generation), not \(expected.count)")
  }
}
