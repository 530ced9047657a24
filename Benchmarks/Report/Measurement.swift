/// The result of one workload with one engine.
struct Measurement {
  let workload: String
  let engine: String
  let unit: String
  let slices: Slices
  /// The rate as a share of the same workload without a writer, if that was measured too.
  var shareOfIdle: Double?
  /// Whether peers run this workload too.
  var isCompared = false
  /// Heartwood's rate as a share of this one, round by round; for a peer.
  var heartwoodShare: Spread?
  /// The latencies of single operations, if they were measured.
  var latencies: Latencies?
  /// Measurements over time, where useful.
  var curves: [Curve] = []
}

/// A quantity over another one, for a chart.
struct Curve: Encodable {
  /// The name, such as `log`.
  let name: String
  /// The quantity on the horizontal axis, and its unit.
  let horizontal: String
  /// The quantity on the vertical axis, and its unit.
  let vertical: String
  /// Pairs of both.
  let points: [[Double]]
}
