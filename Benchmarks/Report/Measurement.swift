/// The result of one workload with one engine.
struct Measurement {
  let workload: String
  let engine: String
  let unit: String
  let slices: Slices
  /// The rate divided by the rate of the same workload without a writer, if both were measured.
  var shareOfIdle: Double?
  /// A Boolean value that indicates whether peers also run this workload.
  var isCompared = false
  /// Heartwood's rate divided by this peer's rate in each round, or `nil` for Heartwood itself.
  var heartwoodShare: Spread?
  /// The latencies of single operations, if they were measured.
  var latencies: Latencies?
  /// The measurements over time, if the workload has any.
  var curves: [Curve] = []
}

/// A series of points that plots one quantity against another, for a chart.
struct Curve: Encodable {
  /// The name, such as `log`.
  let name: String
  /// The quantity on the horizontal axis, and its unit.
  let horizontal: String
  /// The quantity on the vertical axis, and its unit.
  let vertical: String
  /// The points, each with its horizontal and its vertical value.
  let points: [[Double]]
}
