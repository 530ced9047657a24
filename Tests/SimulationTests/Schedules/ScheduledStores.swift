import HeartwoodEngine
import HeartwoodTestSupport

/// One run of a scenario: a new store, its participants, and their observations.
///
/// Every transaction writes its number to several keyspaces, so that each generation can be checked
/// by itself. A reader that begins after a commit has been acknowledged must see this commit.
final class ScheduledStores: @unchecked Sendable {
  // @unchecked because only the participant whose turn it is uses the variables.
  private let scenario: ScheduleScenario
  private let memory = MemoryFileSystem()
  private let schedule: Schedule
  private var options = StoreOptions()
  private var stores: [Int: Store] = [:]
  private var snapshots: [Snapshot] = []
  private var processes: [ScheduledProcess] = []
  private var numbers: [Generation: Int] = [:]
  private var acknowledged: [Int] = []
  private var newestAcknowledged: Int

  private init(_ scenario: ScheduleScenario, _ schedule: Schedule) {
    self.scenario = scenario
    self.schedule = schedule
    newestAcknowledged = scenario.preparedCount
    options.segmentByteCount = options.pageByteCount * 8
    options.checkpointLogByteCount = 0
    options.cacheByteCount = 0
    options.busyTimeout = .seconds(600)
    options.maintenance = .inline
  }

  /// Runs a scenario in the given order, and returns the schedule, which contains the failures.
  static func run(_ scenario: ScheduleScenario, _ switches: [Schedule.Switch]) -> Schedule {
    let schedule = Schedule(switches)
    let stores = ScheduledStores(scenario, schedule)
    do { try stores.run() } catch { schedule.fail("\(error)") }
    return schedule
  }

  private struct Mismatch: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// A process that has the store open, but is not a participant of the schedule.
  private struct Bystander {
    let process: ScheduledProcess
    let store: Store

    init(_ memory: MemoryFileSystem, _ options: StoreOptions) throws {
      let process = ScheduledProcess(memory)
      self.process = process
      store = try process.alone { try StoreFixture.on(process, options).open() }
    }

    func alone<R>(_ body: (Store) throws -> R) throws -> R { try process.alone { try body(store) } }
  }

  // MARK: Preparing and finishing

  private func run() throws {
    let ground = try prepare()
    for (number, role) in scenario.roles.enumerated() {
      let process = ScheduledProcess(memory)
      processes.append(process)
      if role.opensBefore {
        stores[number] = try process.alone { try StoreFixture.on(process, options).open() }
      }
      schedule.add(process) { [unowned self] _ in try act(role, number) }
    }
    if !scenario.isOpenElsewhere { try ground.alone { try $0.close() } }
    schedule.run()
    guard schedule.failures.isEmpty else { return }
    try finish(ground)
  }

  private func prepare() throws -> Bystander {
    let ground = try Bystander(memory, options)
    try ground.alone { store in
      var others: [Snapshot] = []
      for number in 1...scenario.preparedCount {
        let generation = try write(store, by: ground.process, .full)
        numbers[generation] = number
        if scenario.held.contains(number) { snapshots.append(try store.snapshot()) }
        if scenario.released.contains(number) { others.append(try store.snapshot()) }
        if scenario.passAfter == number {
          try store.checkpoint()
          others = []
        }
      }
    }
    acknowledged = []
    return ground
  }

  /// Checks the store after the schedule has ended.
  ///
  /// Generations that are held must be unchanged, even if they are read from the files again. When
  /// all processes have closed the store, a checkpoint must empty the log, and no lock may be left.
  private func finish(_ ground: Bystander) throws {
    let other = try Bystander(memory, options)
    for process in processes + [ground.process] { process.refresh() }
    for snapshot in snapshots {
      _ = try content(snapshot)
      _ = try other.alone { try content($0.snapshot(at: snapshot.generation)) }
    }
    snapshots = []
    for (number, store) in stores.sorted(by: { $0.key < $1.key })
    where !schedule.isDead(number) {
      try processes[number].alone { try store.close() }
    }
    stores = [:]
    if scenario.isOpenElsewhere { try ground.alone { try $0.close() } }
    try other.alone { store in
      let maintenance = try store.checkpoint()
      let newest = try store.snapshot().generation
      guard maintenance.blockingGeneration == nil, maintenance.checkpointedGeneration == newest
      else {
        throw Mismatch(
          "the last maintenance run stops at \(maintenance.checkpointedGeneration), "
            + "the newest is \(newest)"
        )
      }
      try store.close()
    }
    try Bystander(memory, options).alone { store in
      try expectSound(store)
      try store.close()
    }
    let names = try memory.list("/store") ?? []
    guard names.count(where: { $0.hasPrefix("wal-") }) <= 4 else {
      throw Mismatch("the last maintenance run has left \(names.sorted())")
    }
    guard let locks = try memory.open("/store/locks", .write),
      try locks.lockedByOthers(in: 0..<UInt64.max) == nil
    else { throw Mismatch("a lock was not released") }
  }

  private func expectSound(_ store: Store) throws {
    let findings = try store.verify().findings
    guard findings.isEmpty else { throw Mismatch("\(findings)") }
    let number = try content(store.snapshot())
    let killedCount = scenario.roles.indices.count { schedule.isDead($0) }
    let certain = scenario.preparedCount + acknowledged.count
    guard certain...(certain + killedCount) ~= number, Set(acknowledged).count == acknowledged.count
    else {
      throw Mismatch("transaction \(number) is the newest; acknowledged: \(acknowledged)")
    }
  }

  // MARK: Content

  /// Commits a transaction that writes its number to several keyspaces, and that allocates and
  /// frees pages.
  @discardableResult
  private func write(
    _ store: Store, by process: ScheduledProcess, _ durability: StoreOptions.Durability
  ) throws -> Generation {
    var number = 0
    let generation = try store.write(durability: durability) { transaction in
      number = try Self.number(transaction.keyspace("a").get(0)) + 1
      try transaction.keyspace("a").put(0, Self.value(number))
      try transaction.keyspace("b").put(0, Self.value(number))
      if number % 2 == 0 { try transaction.keyspace("c").put(0, Self.value(number)) }
      if number % 3 == 2 {
        try transaction.keyspace("d").put(0, Self.value(number))
        try transaction.keyspace("d").put(1, Self.value(number))
      } else if number % 3 == 0 {
        try transaction.removeKeyspace("d")
      }
    }
    try process.acknowledge()
    try record(generation, number)
    acknowledged.append(number)
    newestAcknowledged = max(newestAcknowledged, number)
    return generation
  }

  private static func value(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(number), count: 2500)
  }

  private static func number(_ value: [UInt8]?) -> Int { value.map { Int($0[0]) } ?? 0 }

  private func record(_ generation: Generation, _ number: Int) throws {
    guard numbers[generation] ?? number == number else {
      throw Mismatch("generation \(generation) has \(number), but had \(numbers[generation] ?? 0)")
    }
    numbers[generation] = number
  }

  /// Returns the number that a keyspace of a snapshot contains.
  private func number(_ snapshot: Snapshot, _ name: String, _ key: Int = 0) throws -> Int {
    Self.number(try snapshot.keyspace(name)?.get(key))
  }

  /// Returns the number of the transaction that a snapshot shows, and throws if its contents are
  /// incomplete.
  @discardableResult
  private func content(_ snapshot: Snapshot, first: Int? = nil) throws -> Int {
    let number = try first ?? self.number(snapshot, "a")
    let large = number % 3 == 2 ? number : 0
    let found = try [
      self.number(snapshot, "b"), self.number(snapshot, "c"), self.number(snapshot, "d", 0),
      self.number(snapshot, "d", 1),
    ]
    guard found == [number, number - number % 2, large, large] else {
      throw Mismatch("\(snapshot.generation) has \(number) and \(found)")
    }
    try record(snapshot.generation, number)
    return number
  }

  // MARK: Roles

  private func act(_ role: ScheduleScenario.Role, _ number: Int) throws {
    switch role {
    case .writer(let count, let durability):
      for _ in 0..<count { try write(store(number), by: processes[number], durability) }
    case .reader: try read(number)
    case .checkpointer(let count):
      for _ in 0..<count { try store(number).checkpoint() }
    case .housekeeper(let count):
      for _ in 0..<count {
        try write(store(number), by: processes[number], .full)
        try store(number).checkpoint()
      }
    case .pinner(let transaction): try pin(transaction, number)
    case .keeper: try keep(number)
    case .observer: _ = try store(number).statistics
    case .opener(let commits):
      let store = try StoreFixture.on(processes[number], options).open()
      try content(snapshot(store, number))
      guard commits else {
        stores[number] = store
        return
      }
      try write(store, by: processes[number], .full)
      try store.close()
    case .killer(let victim): schedule.kill(victim, by: number)
    }
  }

  private func store(_ number: Int) throws -> Store {
    guard let store = stores[number] else { throw Mismatch("participant \(number) has no store") }
    return store
  }

  /// Returns a snapshot of the newest generation.
  ///
  /// - Throws: An error if the snapshot lacks a commit that was acknowledged before the snapshot
  ///   was requested.
  private func snapshot(_ store: Store, _ number: Int) throws -> Snapshot {
    try processes[number].checkAcknowledged()
    let acknowledged = newestAcknowledged
    let snapshot = try store.snapshot()
    let found = try self.number(snapshot, "a")
    guard found >= acknowledged else {
      throw Mismatch("a snapshot shows \(found), but \(acknowledged) was acknowledged before")
    }
    return snapshot
  }

  /// Takes two snapshots, and reads the rest of the first one only after the second one.
  ///
  /// A snapshot must not change, and a later snapshot must not be older.
  private func read(_ number: Int) throws {
    let store = try store(number)
    let first = try snapshot(store, number)
    let seen = try self.number(first, "a")
    let second = try snapshot(store, number)
    guard try content(second) >= seen else { throw Mismatch("a later snapshot is older") }
    try content(first, first: seen)
    snapshots += [first, second]
  }

  private func pin(_ transaction: Int, _ number: Int) throws {
    guard let generation = numbers.first(where: { $0.value == transaction })?.key else {
      throw Mismatch("there is no transaction \(transaction)")
    }
    do {
      let snapshot = try store(number).snapshot(at: generation)
      guard try content(snapshot) == transaction else { throw Mismatch("a wrong transaction") }
      snapshots.append(snapshot)
    } catch let error as StorageError
      where error.kind == .generationExpired && !scenario.held.contains(transaction)
    {}
  }

  private func keep(_ number: Int) throws {
    let store = try store(number)
    let held = try snapshot(store, number)
    let generation = held.generation
    try write(store, by: processes[number], .normal)
    try store.keep(generation, as: "k")
    _ = consume held
    let kept = try store.snapshot(at: generation)
    try content(kept)
    try store.release("k")
    try content(kept)
  }
}

extension ScheduleScenario.Role {
  /// A Boolean value that indicates whether a participant with this role opens the store before the
  /// schedule begins.
  fileprivate var opensBefore: Bool {
    switch self {
    case .opener, .killer: false
    default: true
    }
  }
}
