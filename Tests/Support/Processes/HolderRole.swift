import HeartwoodEngine

/// A process that does nothing but hold the newest generation and, if its assignment says so, the
/// writer lock.
struct HolderRole {
  private let own: WorkerAssignment

  init(_ own: WorkerAssignment) { self.own = own }

  func run() throws {
    let store = try Store(at: own.store, options: own.options)
    let ledger = Ledger(at: own.ledger)
    let snapshot = try store.snapshot()
    if own.staysWriter {
      try store.write { _ in wait(ledger, snapshot) }
    } else {
      wait(ledger, snapshot)
    }
    withExtendedLifetime(snapshot) {}
    try store.close()
  }

  private func wait(_ ledger: Ledger, _ snapshot: Snapshot) {
    ledger.record(.opened, generation: snapshot.generation.frame)
    while own.goesOn { SystemThread.sleep(milliseconds: 2) }
  }
}
