import Foundation
package import HeartwoodEngine

/// A process that backs up the store, thins the backup, and checks the generations that it
/// restores.
package struct BackupRole {
  private let own: WorkerAssignment
  private var generator: SeededGenerator
  private let ledger: Ledger

  init(_ own: WorkerAssignment) {
    self.own = own
    generator = SeededGenerator(seed: own.seed)
    ledger = Ledger(at: own.ledger)
  }

  private var backup: Backup { Backup(at: own.backup) }

  mutating func run() throws {
    while own.goesOn {
      let store = try Store(at: own.store, options: own.options)
      ledger.record(.opened)
      while own.goesOn, !generator.isTrue(in256: 10) {
        do { try step(store) } catch let error as StorageError where error.kind == .busy {
          ledger.record(.busy)
        }
        usleep(UInt32(generator.below(20_000)))
      }
      try store.close()
    }
  }

  private mutating func step(_ store: Store) throws {
    switch generator.below(8) {
    case 0:
      var random = generator.forked()
      guard FileManager.default.fileExists(atPath: own.backup) else { return }
      try backup.thin { _ in random.isTrue(in256: 160) }
    case 1: try restore()
    default:
      let snapshot = try store.snapshot()
      let report = try store.backup(to: own.backup)
      guard report.generation >= snapshot.generation else {
        throw SharedContent.Violation("\(report.generation) is older than \(snapshot.generation)")
      }
      let content = try SharedContent.check(store.snapshot(at: report.generation))
      ledger.record(.backedUp, generation: report.generation.frame, hash: content.hash)
    }
  }

  private mutating func restore() throws {
    guard FileManager.default.fileExists(atPath: own.backup),
      let point = try backup.restorePoints().randomElement(using: &generator)
    else { return }
    try Self.check(point.generation, of: own)
  }

  /// Restores a generation, and checks that it matches the state that was backed up.
  package static func check(_ generation: Generation, of own: WorkerAssignment) throws {
    let path = own.directory + "/restored-\(getpid())"
    try Backup(at: own.backup).restore(generation, to: path)
    var options = StoreOptions()
    options.isReadOnly = true
    let restored = try Store(at: path, options: options)
    let snapshot = try restored.snapshot()
    guard snapshot.generation == generation else {
      throw SharedContent.Violation("\(snapshot.generation) was restored instead of \(generation)")
    }
    let hash = try SharedContent.check(snapshot).hash
    for record in Ledger.records(at: own.ledger)
    where record.kind == .backedUp && record.generation == generation.frame && record.hash != hash {
      throw SharedContent.Violation("\(generation) was not restored as it was backed up")
    }
    let findings = try restored.verify().findings
    guard findings.isEmpty else { throw SharedContent.Violation("\(findings)") }
    try restored.close()
    try FileManager.default.removeItem(atPath: path)
  }
}
