import Foundation
import HeartwoodEngine

/// A process that makes small `.full` commits as fast as it can, once a file named `go` exists.
struct CommitterRole {
  private let own: WorkerAssignment

  init(_ own: WorkerAssignment) { self.own = own }

  func run() throws {
    var options = StoreOptions()
    options.busyTimeout = .seconds(60)
    let store = try Store(at: own.store, options: options)
    let ledger = Ledger(at: own.ledger)
    ledger.record(.opened)
    while !FileManager.default.fileExists(atPath: own.directory + "/go") { usleep(1000) }
    var number = 0
    while own.goesOn {
      try store.write { try $0.keyspace("small-\(own.index)").put(number, [1, 2, 3, 4]) }
      number += 1
    }
    let activity = store.statistics.activity
    ledger.record(.counted, UInt64(activity.logSyncCount), generation: UInt64(activity.commitCount))
    try store.close()
  }
}
