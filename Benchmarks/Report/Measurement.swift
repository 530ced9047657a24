/// The result of one workload with one engine.
struct Measurement {
  let workload: String
  let engine: String
  let unit: String
  let slices: Slices
  /// The rate as a share of the same workload without a writer, where that was measured too.
  var shareOfIdle: Double?
  /// Whether peers do this workload too.
  var isCompared = false
  /// Heartwood's rate as a share of this one, round by round; for a peer.
  var heartwoodShare: Spread?
  /// How long single operations took, where that was measured.
  var latencies: Latencies?
  /// What happened one after the other, where that says more.
  var curves: [Curve] = []
}

/// One quantity over another, as a chart shows it.
struct Curve: Encodable {
  /// What it is, such as `log`.
  let name: String
  /// What runs along the lower edge, and in which unit.
  let horizontal: String
  /// What rises, and in which unit.
  let vertical: String
  /// Pairs of both.
  let points: [[Double]]
}
