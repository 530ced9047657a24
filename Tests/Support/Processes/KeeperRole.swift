import Foundation
import HeartwoodEngine

/// A process that runs checkpoints and compactions, and keeps and releases named generations.
package struct KeeperRole {
  private let own: WorkerAssignment
  private var generator: SeededGenerator
  private let ledger: Ledger
  private var nextNumber: UInt64 = 0

  init(_ own: WorkerAssignment) {
    self.own = own
    generator = SeededGenerator(seed: own.seed)
    nextNumber = (Ledger.records(at: own.ledger).map(\.number).max() ?? 0) + 1
    ledger = Ledger(at: own.ledger)
  }

  /// Returns the generations that a ledger records as named and not as released, with the hashes of
  /// their contents.
  ///
  /// Each key is the number that identifies the name.
  package static func kept(by ledger: String) -> [UInt64: (generation: UInt64, hash: UInt64)] {
    var kept: [UInt64: (generation: UInt64, hash: UInt64)] = [:]
    for record in Ledger.records(at: ledger) {
      if record.kind == .kept { kept[record.number] = (record.generation, record.hash) }
      if record.kind == .releaseIntent { kept[record.number] = nil }
    }
    return kept
  }

  mutating func run() throws {
    while own.goesOn {
      let store = try own.openStore()
      ledger.record(.opened)
      try checkKept(store)
      while own.goesOn, !generator.isTrue(in256: 6) {
        do { try step(store) } catch let error as StorageError where error.kind == .busy {
          ledger.record(.busy)
        }
      }
      try store.close()
    }
  }

  private func checkKept(_ store: Store) throws {
    for (number, kept) in Self.kept(by: own.ledger) {
      let snapshot = try store.snapshot(at: Generation(frame: kept.generation))
      guard try SharedContent.check(snapshot).hash == kept.hash else {
        throw SharedContent.Violation("\(kept.generation), kept as \(number), has changed")
      }
    }
  }

  private mutating func step(_ store: Store) throws {
    switch generator.below(20) {
    case 0..<11:
      try store.checkpoint()
      ledger.record(.checkpointed)
      usleep(UInt32(generator.below(20_000)))
    case 11..<14:
      try keep(store)
    case 14..<17:
      guard let (number, _) = Self.kept(by: own.ledger).randomElement(using: &generator)
      else { return }
      ledger.record(.releaseIntent, number)
      try store.release("keeper-\(own.index)-\(number)")
    case 17:
      try store.compact()
    case 18:
      let findings = try store.verify().findings
      guard findings.isEmpty else { throw SharedContent.Violation("\(findings)") }
    default:
      try checkKept(store)
    }
  }

  private mutating func keep(_ store: Store) throws {
    guard Self.kept(by: own.ledger).count < 3 else { return }
    let snapshot = try store.snapshot()
    let hash = try SharedContent.check(snapshot).hash
    let generation = snapshot.generation
    ledger.record(.keepIntent, nextNumber, generation: generation.frame, hash: hash)
    try store.keep(generation, as: "keeper-\(own.index)-\(nextNumber)")
    ledger.record(.kept, nextNumber, generation: generation.frame, hash: hash)
    nextNumber += 1
  }
}
