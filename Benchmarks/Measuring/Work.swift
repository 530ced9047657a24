/// One thread's share of a workload: a loop cut into turns.
///
/// Each thread works on its own copy. A turn is so long that looking at the clock after it costs
/// nothing beside it, and short against a window of time; a turn of one operation is for those who
/// want to know how long each takes.
protocol Work: Sendable {
  /// Turns to do before the clock starts: touches what the workload will read.
  ///
  /// All engines find the same in them, so that their hashes tell whether somebody skips rows.
  var warmUpTurnCount: Int { get }
  /// Operations of a turn; fewer where the data ends.
  var operationsPerTurn: Int { get set }
  /// Does one turn and says how many operations it was.
  mutating func turn() throws -> Int
  /// What the reads found, folded together: proof that nothing was skipped.
  var hash: UInt64 { get }
}

/// Folds one more word into a hash.
@inline(__always)
func fold(_ hash: UInt64, _ word: UInt64) -> UInt64 {
  (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
}
