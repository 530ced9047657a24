import Foundation
import HeartwoodEngine

/// Point reads of a pinned generation while one thread commits and another checkpoints.
///
/// The readers' snapshot is older than everything the writer does, which is the case the store
/// promises not to slow down: its pages stay where they are, whatever is written beside them.
struct ReadsWhileWriting {
  let store: Store
  let rows: QuakeRows
  let readerCount: Int

  /// The rates of the readers and of the writer, in that order.
  func run(in harness: Harness) throws -> Harness.Outcome {
    let snapshot = try store.snapshot()
    let readers = (0..<readerCount).map { reader in
      IntegerReads(
        snapshot: snapshot, numbers: rows.shuffledNumbers,
        position: reader * rows.count / readerCount)
    }
    return try harness.run(
      [readers, [Commits(store, .normal, rows, seed: 7)]],
      background: [Checkpoints(store: store, pause: harness.seconds / 10)])
  }
}

/// Checkpoints, one after the other with a pause in between.
private struct Checkpoints: Work {
  let store: Store
  /// Seconds from the end of a checkpoint to the next.
  let pause: Double
  var hash: UInt64 = 0

  var warmUpTurnCount: Int { 0 }

  mutating func turn() throws -> Int {
    Thread.sleep(forTimeInterval: pause)
    try store.checkpoint()
    return 1
  }
}
