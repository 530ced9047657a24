/// A generation that stays readable because a process holds it or because it has a name.
public struct LiveGeneration: Hashable, Sendable {
  /// The generation itself.
  public var generation: Generation
  /// The time since the generation was committed, according to the wall clock.
  public var age: Duration
  /// The number of snapshots of the generation in this process.
  public var snapshotCount: Int
  /// The names under which the generation is kept.
  public var names: [String]
  /// The processes known to hold the generation.
  ///
  /// The list contains this process if it holds the generation, and any other processes that have
  /// held the generation for about a second or longer.
  public var holders: [StoreHolder]
  /// The number of log bytes that only this generation retains.
  ///
  /// Once the generation is released, the next maintenance run frees these bytes. If the generation
  /// was the oldest live one, the run can also write back newer pages and free more log space.
  public var retainedByteCount: Int
}

/// The held generations and the log space that each of them retains.
struct HeldGenerations {
  let files: StoreFiles
  let table: GenerationTable
  let own: HolderEntry

  func oldest(_ count: Int = .max) throws(StorageError) -> [LiveGeneration] {
    let held = try generations()
    guard !held.isEmpty else { return [] }
    let survey = HolderSurvey(files: files, own: own)
    return try held.indices.prefix(count).map { position throws(StorageError) in
      try describe(
        held[position], before: position + 1 < held.count ? held[position + 1] : nil, survey)
    }
  }

  /// Returns the held generations in ascending order.
  func frames() throws(StorageError) -> [FrameNumber] { try generations().map(\.generation) }

  private struct Held {
    let generation: FrameNumber
    let names: [String]
  }

  private func generations() throws(StorageError) -> [Held] {
    let counters = files.counters
    let named = try NamedGenerations.read(files.log)
    var found = table.lockedGenerations
    // Read `checkpointed` only once, and before `committed`, because another process may raise both
    // counters in the meantime. A range whose lower bound exceeds its upper bound would trap.
    let checkpointed = counters.checkpointed
    let newest = max(checkpointed, counters.committed)
    found.formUnion(try files.locks.liveElsewhere(in: checkpointed..<newest + 1))
    found.formUnion(named.rows.values.map(\.generation))
    let decision = counters.decision
    return found.filter(decision.isAlive).sorted().map { generation in
      Held(
        generation: generation,
        names: named.rows.filter { $0.value.generation == generation }.map(\.key).sorted())
    }
  }

  private func describe(
    _ held: Held, before next: Held?, _ survey: HolderSurvey
  ) throws(StorageError) -> LiveGeneration {
    let own = try table.located(at: held.generation)
    let following = try next.map { next throws(StorageError) in
      try table.located(at: next.generation).index
    }
    let index = following ?? table.visible.index
    let checkpointed = files.counters.checkpointed
    var count = 0
    own.index.forEach { page, frame in
      if frame > checkpointed, index.frame(of: page) != frame { count += 1 }
    }
    let now = files.fileSystem.wallClockMilliseconds
    return LiveGeneration(
      generation: Generation(frame: held.generation),
      age: .milliseconds(now > own.point.time ? now - own.point.time : 0),
      snapshotCount: table.liveReferences[held.generation] ?? 0, names: held.names,
      holders: survey.holders(
        of: held.generation, isHeldHere: table.lockedGenerations.contains(held.generation)),
      retainedByteCount: count << files.geometry.pageShift)
  }
}

extension Store {
  /// Returns the generations that have a name or are held by a process, oldest first.
  ///
  /// - Throws: `corrupt` if the list of named generations is corrupt, or `closed`, `suspended` or
  ///   `io`.
  /// - Complexity: For each generation that has no snapshot in this process, reads the map of
  ///   retained frames and the log's group headers.
  public func liveGenerations() throws -> [LiveGeneration] {
    try requireOpen()
    try table.requireActive()
    return try HeldGenerations(files: files, table: table, own: core.holder).oldest()
  }
}
