/// One thread's share of a workload: a loop divided into turns.
///
/// Each thread uses its own copy of the work. A turn is long enough that the cost of reading the
/// clock after it is negligible, but short compared with a window of time. When latencies are
/// measured, a turn is one operation.
protocol Work: Sendable {
  /// The number of warm-up turns, which load the data read by the workload.
  ///
  /// All engines must have the same hash after the warm-up turns. Different hashes mean that an
  /// engine has skipped rows.
  var warmUpTurnCount: Int { get }
  /// The number of operations in a turn. The last turn in a pass over the data can have fewer
  /// operations.
  var operationsPerTurn: Int { get set }
  /// Runs one turn, and returns the number of operations in it.
  mutating func turn() throws -> Int
  /// A hash of the results of all reads, for comparison with other engines.
  var hash: UInt64 { get }
}

/// A workload whose turns are steps of a walk through data.
protocol WalkingWork: Work {
  var walk: Walk { get set }
}

extension WalkingWork {
  var warmUpTurnCount: Int { walk.turnCount }
  var operationsPerTurn: Int {
    get { walk.step }
    set { walk.step = newValue }
  }
}

/// Returns the hash that results from folding `word` into `hash`.
@inline(__always)
func fold(_ hash: UInt64, _ word: UInt64) -> UInt64 {
  (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
}
