import HeartwoodEngine
import HeartwoodTestSupport

extension ModelRun {
  private static let keptNames = ["a", "b", "c", "Ä", "e"]

  // MARK: Named generations

  func keep(_ store: Store) throws {
    let name = Self.keptNames[random.below(Self.keptNames.count)]
    let chosen = try anyHeld(store)
    let generation = chosen.snapshot.generation
    let isTaken = kept[name].map { $0 != generation } ?? false
    do {
      try store.keep(generation, as: name)
      try ModelMismatch.unless(!isTaken, "\(name) was given to a second generation")
      kept[name] = generation
      durableNumber = max(durableNumber, chosen.content.number)
    } catch let error as StorageError where error.kind == .invalidArgument && isTaken {}
    try expectKept(store)
  }

  func release(_ store: Store) throws {
    let name = Self.keptNames[random.below(Self.keptNames.count)]
    try store.release(name)
    kept[name] = nil
    try expectKept(store)
  }

  /// Expects that every name still refers to its generation, and that the generation can be read.
  func expectKept(_ store: Store) throws {
    let found = try store.namedGenerations()
    try ModelMismatch.unless(found == kept, "the named generations are \(found), not \(kept)")
    for (_, generation) in kept.sorted(by: { $0.key < $1.key }) {
      guard let snapshot = try expectGiven(generation, store) else { continue }
      try history[generation]?.compareSome(snapshot, &random)
    }
  }

  // MARK: Maintenance

  func checkpoint(_ store: Store) throws {
    let result = try store.checkpoint()
    durableNumber = content.number
    let low = (held.map(\.snapshot.generation) + Array(kept.values)).min() ?? newest
    try ModelMismatch.unless(
      result.checkpointedGeneration == low || fixture.options.maintenance == .background,
      "the page file contains \(result.checkpointedGeneration), but \(low) is the oldest held")
    try expectBoundedLog(store)
    for generation in history.keys.sorted() where generation < newest {
      let isReadable = try expectGiven(generation, store) != nil
      try ModelMismatch.unless(
        !isReadable || isHeld(generation) || fixture.options.maintenance == .background,
        "\(generation) is not held, but is still readable after maintenance")
    }
    try expectKept(store)
  }

  /// Expects that the length of the log is within the bound of K3, and that the log is almost empty
  /// if no generations are held.
  private func expectBoundedLog(_ store: Store) throws {
    guard case .files = setting.storage else { return }
    let statistics = store.statistics
    try ModelMismatch.unless(statistics.canPunchHoles, "holes cannot be punched into files here")
    var bound = 4 * fixture.options.segmentByteCount
    if statistics.newestGeneration != statistics.checkpointedGeneration {
      bound = statistics.logByteBound ?? .max
    }
    try ModelMismatch.unless(
      statistics.logByteCount <= bound,
      "the log has \(statistics.logByteCount) bytes; its bound is \(bound)")
  }

  func compact(_ store: Store) throws {
    let isPinning = random.isTrue(in256: 128)
    let result = try store.compact(stepByteCount: setting.pageByteCount * (4 + random.below(60))) {
      _ in
      if isPinning { self.pinWhileCompacting(store) }
    }
    newest = store.statistics.newestGeneration
    history[newest] = content
    durableNumber = content.number
    try ModelMismatch.unless(
      result.pageCount <= result.pageCountBefore, "compaction added pages: \(result)")
    let report = try store.verify()
    try ModelMismatch.unless(report.findings.isEmpty, report.findings.joined(separator: "; "))
  }

  /// Takes a snapshot between two steps of a compaction.
  ///
  /// The compaction must not change the contents of the store.
  private func pinWhileCompacting(_ store: Store) {
    guard held.count < 14, let snapshot = try? store.snapshot() else { return }
    held.append(Held(snapshot: snapshot, content: content))
    history[snapshot.generation] = content
  }

  // MARK: Closing and opening

  /// Closes the store, so that it is reopened later.
  ///
  /// Snapshots that are held can still be read until they are released.
  func reopen(_ store: Store) throws {
    try store.close()
    do {
      _ = try store.snapshot()
      throw ModelMismatch(description: "a closed store returned a snapshot")
    } catch let error as StorageError where error.kind == .closed {}
    try readHeld()
    held = []
    self.store = nil
  }

  /// Kills the process, which loses nothing but its locks.
  func kill() throws {
    guard let disk else { return }
    try abandon(for: disk.killed())
  }

  /// Cuts the power, which may undo the newest commits if they are not durable.
  func cutPower() throws {
    guard let disk else { return }
    let mode = CrashMode.allCases[random.below(CrashMode.allCases.count)]
    try abandon(for: disk.crashed(.seeded(random.next(), mode)))
    isAfterPowerCut = true
  }

  /// Releases the store without closing it, and continues on another disk.
  private func abandon(for disk: SimulatedDisk) throws {
    held = []
    store = nil
    if case .simulated(let canPunch) = setting.storage { disk.canPunch = canPunch }
    self.disk = disk
    fixture = .on(disk, setting.options)
  }

  /// Opens the store, and compares all of its contents.
  func open() throws -> Store {
    let store = try fixture.open()
    self.store = store
    let snapshot = try store.snapshot()
    if isAfterPowerCut { try acceptLoss(snapshot) }
    isAfterPowerCut = false
    try expectNewest(store)
    durableNumber = content.number
    try verify(store)
    try content.compareAll(snapshot)
    try expectKept(store)
    return store
  }

  /// Adopts the generation that is left after a power cut, or throws if a durable commit is lost.
  private func acceptLoss(_ snapshot: Snapshot) throws {
    let number = try ModelTransaction.number(of: snapshot)
    guard number >= durableNumber,
      let retained = history.values.first(where: { $0.number == number })
    else {
      throw ModelMismatch(
        description: "transaction \(durableNumber) was durable, but \(number) is the newest")
    }
    for (generation, lost) in history where lost.number > number {
      history[generation] = nil
      expired.insert(generation)
    }
    content = retained
    newest = max(newest, snapshot.generation)
    history[newest] = content
  }
}
