import HeartwoodEngine
import HeartwoodTestSupport

/// The kind of storage and the options of a run's store.
struct ModelSetting: CustomStringConvertible {
  enum Storage {
    case files(StoreOptions.Access, StoreOptions.MaintenanceMode)
    /// A simulated disk, for runs in which processes die and the power is cut.
    case simulated(canPunch: Bool)
  }

  private static let all = [
    ModelSetting(storage: .files(.mapped, .inline), pageByteCount: 4096),
    ModelSetting(storage: .simulated(canPunch: true), pageByteCount: 4096),
    ModelSetting(storage: .files(.buffered, .inline), pageByteCount: 4096),
    ModelSetting(storage: .files(.mapped, .inline), pageByteCount: 65_536),
    ModelSetting(storage: .simulated(canPunch: false), pageByteCount: 4096),
    ModelSetting(storage: .files(.mapped, .background), pageByteCount: 4096),
    ModelSetting(storage: .files(.buffered, .background), pageByteCount: 65_536),
    ModelSetting(storage: .simulated(canPunch: true), pageByteCount: 65_536),
  ]

  let storage: Storage
  let pageByteCount: Int

  /// Returns the setting for a seed.
  ///
  /// Successive seeds use all settings in turn.
  static func of(seed: UInt64) -> ModelSetting { all[Int(seed % UInt64(all.count))] }

  var description: String { "\(storage), pages of \(pageByteCount)" }

  /// The options of the store, with limits so low that maintenance and log reclamation run often.
  var options: StoreOptions {
    var options = StoreOptions()
    options.pageByteCount = pageByteCount
    options.segmentByteCount = pageByteCount * (pageByteCount > 4096 ? 16 : 64)
    options.checkpointLogByteCount = options.segmentByteCount * 4
    options.reclaimLogByteCount = options.segmentByteCount * 2
    options.cacheByteCount = pageByteCount * 80
    // Transactions larger than this limit spill to the log.
    options.transactionMemoryByteCount = pageByteCount * 16
    if case .files(let access, let maintenance) = storage {
      options.access = access
      options.maintenance = maintenance
    }
    return options
  }
}

/// Performs random steps on one store, and keeps the expected contents of each of its generations.
final class ModelRun {
  /// A snapshot that is held, and the contents that it must have until it is released.
  struct Held {
    let snapshot: Snapshot
    let content: ReferenceContent
  }

  let setting: ModelSetting
  var random: SeededGenerator
  var fixture: StoreFixture
  /// The simulated disk, or `nil` if the store is in the file system of the machine.
  var disk: SimulatedDisk?
  /// The open store, or `nil` while the store is not open.
  var store: Store?

  /// The expected contents of the newest generation.
  var content = ReferenceContent()
  var newest = Generation(frame: 0)
  /// The expected contents of each generation that may still be readable.
  var history: [Generation: ReferenceContent] = [:]
  /// The generations that have expired and must never become readable again.
  var expired: Set<Generation> = []
  var held: [Held] = []
  /// The generation to which each name refers.
  var kept: [String: Generation] = [:]
  /// The number of the newest transaction that a power cut must not undo.
  var durableNumber = 0
  /// The number of transactions so far, including rolled-back transactions.
  var transactionCount = 0
  /// A Boolean value that indicates whether the power was cut and the store has not been opened
  /// since then.
  var isAfterPowerCut = false
  private var copyCount = 0

  init(seed: UInt64) throws {
    setting = ModelSetting.of(seed: seed)
    random = SeededGenerator(seed: seed)
    switch setting.storage {
    case .files:
      fixture = try .onDisk(setting.options)
    case .simulated(let canPunch):
      let disk = SimulatedDisk(seed: seed)
      disk.canPunch = canPunch
      fixture = .on(disk, setting.options)
      self.disk = disk
    }
    let store = try fixture.open()
    self.store = store
    newest = try store.snapshot().generation
    history[newest] = content
  }

  /// Performs a number of steps, and then releases everything and checks the remaining state.
  func run(stepCount: Int) throws {
    for number in 1...stepCount {
      let step = ModelStep.next(&random)
      do { try perform(step) } catch {
        throw ModelMismatch(description: "step \(number) (\(step)): \(error)")
      }
    }
    let store = try store ?? open()
    held = []
    for name in kept.keys.sorted() { try store.release(name) }
    kept = [:]
    try verify(store)
    try content.compareAll(store.snapshot())
    try store.close()
    self.store = nil
  }

  private func perform(_ step: ModelStep) throws {
    let store = try store ?? open()
    switch step {
    case .write: for _ in 0...random.below(4) { try write(store) }
    case .abandonedWrite: try abandonedWrite(store)
    case .emptyWrite: try emptyWrite(store)
    case .pin: try pin(store)
    case .unpin: if !held.isEmpty { held.remove(at: random.below(held.count)) }
    case .readNewest: try content.compareSome(store.snapshot(), &random)
    case .readHeld: try readHeld()
    case .readGiven: try readGiven(store)
    case .changes: try compareChanges(store)
    case .keep: try keep(store)
    case .release: try release(store)
    case .checkpoint: try checkpoint(store)
    case .compact: try compact(store)
    case .copy: try copy(store)
    case .verify: try verify(store)
    case .compareAll: try compareAll(store)
    case .reopen: try reopen(store)
    case .kill: try kill()
    case .cutPower: try cutPower()
    }
  }

  /// Returns a random snapshot that is already held, or a new one.
  func anyHeld(_ store: Store) throws -> Held {
    guard !held.isEmpty, random.isTrue(in256: 224) else {
      return Held(snapshot: try store.snapshot(), content: content)
    }
    return held[random.below(held.count)]
  }

  /// Records the contents of a generation that a commit has created.
  func record(_ generation: Generation, _ content: ReferenceContent) throws {
    try ModelMismatch.unless(
      generation > newest, "a commit created \(generation) after \(newest)")
    self.content = content
    newest = generation
    history[generation] = content
  }

  // MARK: Checking the complete store

  func verify(_ store: Store) throws {
    let report = try store.verify()
    try ModelMismatch.unless(report.findings.isEmpty, report.findings.joined(separator: "; "))
    try ModelMismatch.unless(
      report.entryCount == content.entryCount
        && report.keyspaceCount == content.keyspaces.count,
      "verification counted \(report.entryCount) entries in \(report.keyspaceCount) keyspaces")
    // Background maintenance pins the pages that it is writing back, so wait until maintenance has
    // released these pages.
    for _ in 0..<5000 where store.files.cache.pinnedCount > 0 {
      SystemThread.sleep(milliseconds: 1)
    }
    try ModelMismatch.unless(
      store.files.cache.pinnedCount == 0, "pages of the cache were not released")
    // X4. A concurrent maintenance run may remove pages from either index, but must not change any
    // entry.
    let state = try store.snapshot().state
    let read = try store.files.located(at: state.generation, isMapped: false).walk
    let checkpointed = store.files.counters.checkpointed
    try ModelMismatch.unless(
      state.index.frames(newerThan: checkpointed) == read.index.frames(newerThan: checkpointed),
      "the index of \(state.generation) differs from the log")
  }

  private func compareAll(_ store: Store) throws {
    let chosen = try anyHeld(store)
    try chosen.content.compareAll(chosen.snapshot)
  }

  private func copy(_ store: Store) throws {
    let source = try anyHeld(store)
    copyCount += 1
    let path = fixture.path + "-copy-\(copyCount)"
    try store.copy(source.snapshot, to: path)
    let copy = try Store(at: path, options: fixture.options, fileSystem: fixture.fileSystem)
    try source.content.compareAll(copy.snapshot())
    let report = try copy.verify()
    try ModelMismatch.unless(
      report.findings.isEmpty && report.freePageCount == 0 && report.logCommitCount == 0,
      "the copy is not sound: \(report)")
    try copy.write { try $0.keyspace("copy").put(1, [1]) }
    try copy.close()
    for name in try fixture.fileSystem.list(path) ?? [] {
      try fixture.fileSystem.remove(path + "/" + name)
    }
  }
}
