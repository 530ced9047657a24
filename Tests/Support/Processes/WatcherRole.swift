import Foundation
import HeartwoodEngine

/// A process that commits and reads while other processes encounter errors.
///
/// The errors must not affect this process.
struct WatcherRole {
  private let own: WorkerAssignment

  init(_ own: WorkerAssignment) { self.own = own }

  func run() throws {
    let store = try Store(at: own.store, options: own.options)
    let ledger = Ledger(at: own.ledger)
    ledger.record(.opened)
    var number: UInt64 = 0
    while own.goesOn {
      number += 1
      let value = Array("\(number)".utf8)
      let generation = try store.write(durability: number % 2 == 0 ? .full : .normal) {
        try $0.keyspace("watched").put(own.index, value)
      }
      // Take a snapshot instead of requesting `generation`, which may have expired by now.
      let snapshot = try store.snapshot()
      guard try snapshot.keyspace("watched")?.get(own.index) == value else {
        throw SharedContent.Violation("commit \(number) is not visible")
      }
      ledger.record(.acknowledged, number, generation: generation.frame)
      usleep(2000)
    }
    let findings = try store.verify().findings
    guard findings.isEmpty else { throw SharedContent.Violation("\(findings)") }
    try store.close()
  }
}
