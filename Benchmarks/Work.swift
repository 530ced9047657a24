/// One thread's share of a workload: a loop cut into turns.
///
/// A turn is long enough that looking at the clock after it costs nothing beside it, and short
/// against a window of time. Each thread works on its own copy.
protocol Work: Sendable {
  /// Turns to do before the clock starts: touches what the workload will read.
  var warmUpTurnCount: Int { get }
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
