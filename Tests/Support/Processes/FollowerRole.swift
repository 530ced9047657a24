import Foundation
import HeartwoodEngine

/// A process that keeps a replica up to date with the backup (index 0), or reads the replica (any
/// other index).
package struct FollowerRole {
  private let own: WorkerAssignment
  private var generator: SeededGenerator
  private let ledger: Ledger
  /// Snapshots of the replica, with the hashes of their contents.
  private var held: [(snapshot: Snapshot, hash: UInt64)] = []

  init(_ own: WorkerAssignment) {
    self.own = own
    generator = SeededGenerator(seed: own.seed)
    ledger = Ledger(at: own.ledger)
  }

  mutating func run() throws {
    while own.goesOn {
      usleep(UInt32(generator.below(20_000)))
      guard FileManager.default.fileExists(atPath: own.replica + "/pages") || own.index == 0,
        let points = try? Backup(at: own.backup).restorePoints(), !points.isEmpty
      else { continue }
      if own.index == 0 { try follow() } else { try read() }
    }
  }

  private mutating func follow() throws {
    let replica: Replica
    do {
      replica = try Replica(
        at: own.replica, following: Backup(at: own.backup), own.options)
    } catch let error as StorageError where error.isOfMissingFile { return }
    while own.goesOn, !generator.isTrue(in256: 20) {
      do { try replica.advance() } catch let error as StorageError where error.isOfMissingFile {}
      let reader = try Store(at: own.replica, options: readerOptions)
      try check(reader.snapshot())
      try reader.close()
      usleep(UInt32(generator.below(10_000)))
    }
    try replica.close()
  }

  private mutating func read() throws {
    let reader = try Store(at: own.replica, options: readerOptions)
    while own.goesOn, !generator.isTrue(in256: 10) {
      let snapshot = try reader.snapshot()
      let hash = try check(snapshot)
      if held.count < 3, generator.isTrue(in256: 64) { held.append((snapshot, hash)) }
      if let old = held.randomElement(using: &generator) {
        guard try SharedContent.check(old.snapshot).hash == old.hash else {
          throw SharedContent.Violation("\(old.snapshot.generation) has changed")
        }
        if generator.isTrue(in256: 64) { held.removeFirst() }
      }
      usleep(UInt32(generator.below(5000)))
    }
    held = []
    try reader.close()
  }

  private var readerOptions: StoreOptions {
    var options = own.options
    options.isReadOnly = true
    return options
  }

  @discardableResult
  private func check(_ snapshot: Snapshot) throws -> UInt64 {
    let content = try SharedContent.check(snapshot)
    ledger.record(
      .read, generation: snapshot.generation.frame, hash: content.hash, lasts: content.lasts)
    return content.hash
  }
}

extension StorageError {
  /// A Boolean value that indicates whether the error may have been caused by thinning the backup.
  ///
  /// Thinning can remove files that another process is about to read.
  fileprivate var isOfMissingFile: Bool {
    [.corrupt, .notAStore, .generationExpired].contains(kind)
      && (file?.contains("full-") == true || file?.contains("delta-") == true
        || file?.hasSuffix("/backup") == true)
  }
}
