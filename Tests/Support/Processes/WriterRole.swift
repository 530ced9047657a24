import HeartwoodEngine

/// A process that commits one transaction after another, and records each of them before and after
/// the commit.
struct WriterRole {
  private let own: WorkerAssignment
  private var generator: SeededGenerator
  private let ledger: Ledger
  private var acknowledged: UInt64 = 0
  private var intended: UInt64 = 0

  init(_ own: WorkerAssignment) {
    self.own = own
    generator = SeededGenerator(seed: own.seed)
    for record in Ledger.records(at: own.ledger) {
      if record.kind == .acknowledged { acknowledged = max(acknowledged, record.number) }
      if record.kind == .intent { intended = max(intended, record.number) }
    }
    ledger = Ledger(at: own.ledger)
  }

  mutating func run() throws {
    while own.goesOn {
      let store = try own.openStore()
      ledger.record(.opened)
      while own.goesOn, !generator.isTrue(in256: 2) { try step(store) }
      let activity = store.statistics.activity
      ledger.record(
        .counted, UInt64(activity.logSyncCount), generation: UInt64(activity.commitCount))
      try store.close()
    }
  }

  private mutating func step(_ store: Store) throws {
    let (acknowledged, intended) = (acknowledged, intended)
    var number: UInt64 = 0
    do {
      let done = try SharedContent.write(
        own.index, to: store, durability: own.durability, &generator
      ) { last in
        guard last >= acknowledged, last <= intended else {
          throw SharedContent.Violation(
            "writer \(own.index) found commit \(last), but acknowledged commit \(acknowledged) and "
              + "began commit \(intended)")
        }
        number = last + 1
        ledger.record(.intent, number)
      }
      self.intended = max(intended, number)
      guard let done else { return }
      self.acknowledged = done.number
      ledger.record(.acknowledged, done.number, generation: done.generation.frame)
      guard generator.isTrue(in256: 16) else { return }
      let snapshot = try store.snapshot()
      guard snapshot.generation >= done.generation,
        try SharedContent.check(snapshot).lasts[own.index] == done.number
      else {
        throw SharedContent.Violation("writer \(own.index) does not see its commit \(done.number)")
      }
    } catch let error as StorageError where error.kind == .busy {
      ledger.record(.busy)
    }
  }
}
