import HeartwoodEngine

/// A process that commits one transaction after the other, and notes each before and after.
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
      let store = try Store(at: own.store, options: own.options)
      ledger.note(.opened)
      while own.goesOn, !generator.isTrue(in256: 2) { try step(store) }
      let activity = store.statistics.activity
      ledger.note(
        .counted, UInt64(activity.logSyncs), generation: UInt64(activity.commits))
      try store.close()
    }
  }

  private mutating func step(_ store: Store) throws {
    let (acknowledged, intended) = (acknowledged, intended)
    var number: UInt64 = 0
    do {
      let done = try SharedContent.write(
        own.place, to: store, durability: own.durability, &generator
      ) { last in
        guard last >= acknowledged, last <= intended else {
          throw SharedContent.Violation(
            "writer \(own.place) finds \(last), acknowledged \(acknowledged), begun \(intended)")
        }
        number = last + 1
        ledger.note(.intent, number)
      }
      self.intended = max(intended, number)
      guard let done else { return }
      self.acknowledged = done.number
      ledger.note(.acknowledged, done.number, generation: done.generation.frame)
      guard generator.isTrue(in256: 16) else { return }
      let snapshot = try store.snapshot()
      guard snapshot.generation >= done.generation,
        try SharedContent.check(snapshot).lasts[own.place] == done.number
      else {
        throw SharedContent.Violation("writer \(own.place) does not see its \(done.number)")
      }
    } catch let error as StorageError where error.kind == .busy {
      ledger.note(.busy)
    }
  }
}
