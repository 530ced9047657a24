/// One thread's share of a workload: a loop divided into turns.
///
/// Each thread works on its own copy. A turn is so long that the cost of reading the clock after it
/// is negligible, and short compared with a window of time. Turns of one operation are for
/// measuring latencies.
protocol Work: Sendable {
  /// The number of turns before the measurement, which load the data that the workload reads.
  ///
  /// All engines have the same results in them, so that their hashes show whether one of them skips
  /// rows.
  var warmUpTurnCount: Int { get }
  /// The number of operations of a turn; fewer at the end of the data.
  var operationsPerTurn: Int { get set }
  /// Runs one turn and returns its number of operations.
  mutating func turn() throws -> Int
  /// The results of the reads, folded together: proof that none was skipped.
  var hash: UInt64 { get }
}

/// Folds one more word into a hash.
@inline(__always)
func fold(_ hash: UInt64, _ word: UInt64) -> UInt64 {
  (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
}
