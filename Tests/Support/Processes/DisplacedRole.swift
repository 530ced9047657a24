import Foundation
import HeartwoodEngine

/// A process that commits to a store whose directory or files are deleted, moved or replaced.
///
/// The process records each commit, and each attempt that was rejected because the files were
/// replaced. After the first rejection, no commit may succeed.
struct DisplacedRole {
  private let own: WorkerAssignment

  init(_ own: WorkerAssignment) { self.own = own }

  func run() throws {
    let store = try Store(at: own.store, options: own.options)
    let ledger = Ledger(at: own.ledger)
    ledger.record(.opened)
    var number: UInt64 = 0
    var wasRefused = false
    while own.goesOn {
      number += 1
      do {
        let generation = try store.write(durability: number % 2 == 0 ? .full : .normal) {
          let value = [UInt8](repeating: UInt8(number & 255), count: 3000)
          try $0.keyspace("own").put(own.index, Array("\(number)".utf8))
          try $0.keyspace("rest").put(own.index << 32 | Int(number % 50), value)
        }
        guard !wasRefused else { throw SharedContent.Violation("commit \(number) was not refused") }
        ledger.record(.acknowledged, number, generation: generation.frame)
      } catch let error as StorageError where error.kind == .foreignStore {
        wasRefused = true
        ledger.record(.refused, number)
      }
      usleep(1000)
    }
    do { try store.close() } catch let error as StorageError {
      guard error.kind == .foreignStore, wasRefused else { throw error }
    }
  }
}
