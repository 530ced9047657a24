/// A generation that can be read because somebody holds it.
public struct LiveGeneration: Hashable, Sendable {
  /// Which one.
  public var generation: Generation
  /// How long ago it was committed, by the wall clock.
  public var age: Duration
  /// Snapshots of this process that show it.
  public var snapshotCount: Int
  /// The names it is kept by.
  public var names: [String]
  /// The processes that hold it, where known: this one, and others that have held it for about a
  /// second.
  public var holders: [StoreHolder]
  /// Bytes of log that nobody else needs: what its end would give back at the next pass, apart from
  /// what the page file can then take over.
  public var keptByteCount: Int
}

/// Finds out which generations are held, and what each of them costs.
struct HeldGenerations {
  let files: StoreFiles
  let table: GenerationTable
  let own: HolderEntry

  /// All of them, the oldest first.
  func all() throws(StorageError) -> [LiveGeneration] {
    let held = try generations()
    let survey = HolderSurvey(files: files, own: own)
    return try held.indices.map { position throws(StorageError) in
      try describe(
        held[position], before: held.indices.contains(position + 1) ? held[position + 1] : nil,
        survey)
    }
  }

  /// The oldest one; `nil` if none is held.
  func oldest() throws(StorageError) -> LiveGeneration? {
    let held = try generations()
    guard let first = held.first else { return nil }
    return try describe(
      first, before: held.count > 1 ? held[1] : nil, HolderSurvey(files: files, own: own))
  }

  private struct Held {
    let generation: FrameNumber
    let names: [String]
  }

  private func generations() throws(StorageError) -> [Held] {
    let words = files.words
    let kept = try KeptGenerations.read(files.log)
    var found = table.lockedGenerations
    let newest = max(words.committed, words.backfilled)
    found.formUnion(try files.locks.liveElsewhere(in: words.backfilled..<newest + 1))
    found.formUnion(kept.rows.values.map(\.generation))
    let decision = words.decision
    return found.filter(decision.isAlive).sorted().map { generation in
      Held(
        generation: generation,
        names: kept.rows.filter { $0.value.generation == generation }.map(\.key).sorted())
    }
  }

  private func describe(
    _ held: Held, before next: Held?, _ survey: HolderSurvey
  ) throws(StorageError) -> LiveGeneration {
    let own = try state(held.generation)
    let following = try next.map { next throws(StorageError) in try state(next.generation) }
    let index = following?.index ?? table.visible.index
    let backfilled = files.words.backfilled
    var count = 0
    own.index.forEach { page, frame in
      if frame > backfilled, index.frame(of: page) != frame { count += 1 }
    }
    let now = files.fileSystem.wallClockMilliseconds
    return LiveGeneration(
      generation: Generation(frame: held.generation),
      age: .milliseconds(now > own.time ? now - own.time : 0),
      snapshotCount: table.liveReferences[held.generation] ?? 0, names: held.names,
      holders: survey.holders(
        of: held.generation, isHeldHere: table.lockedGenerations.contains(held.generation)),
      keptByteCount: count << files.geometry.pageShift)
  }

  private func state(
    _ generation: FrameNumber
  ) throws(StorageError) -> (index: PageIndex, time: UInt64) {
    if let live = table.liveStates[generation] { return (live.index, live.point.time) }
    let found = try files.located(at: generation, isMapped: false)
    return (found.index, found.point.time)
  }
}

extension Store {
  /// The generations somebody holds: snapshots of this process, other processes, and kept names,
  /// the oldest first.
  ///
  /// - Throws: `closed`, `io`, or `corrupt` if the list of kept generations is damaged.
  /// - Complexity: For a generation that no snapshot of this process shows, the map and the log's
  ///   group headers are read.
  public func liveGenerations() throws -> [LiveGeneration] {
    try requireOpen()
    try table.requireActive()
    return try HeldGenerations(files: files, table: table, own: core.holder).all()
  }
}
