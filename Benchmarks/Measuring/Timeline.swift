/// The activity of an engine's threads over time, excluding the windows of other engines.
struct Timeline {
  /// The activity between two samples.
  struct Moment {
    /// The total working time of the engine at the second sample, in seconds.
    let seconds: Double
    /// The operations per second of each group.
    let rates: [Double]
    /// A Boolean value that indicates whether a checkpoint ended between the two samples.
    let hasCheckpoint: Bool
    /// The disk space of the store at the second sample, in bytes, or `nil` if it is not measured.
    let byteCount: Int?
  }

  private(set) var moments: [Moment] = []
  /// The working time of the engine in all earlier windows, in seconds.
  private var earlier = 0.0
  private var last: (elapsed: Double, counts: [Int], checkpointCount: Int)?

  /// The minimum time between two samples, in seconds.
  ///
  /// Rates over a shorter time would be inaccurate, because operations are counted only at the end
  /// of a turn.
  private static let shortest = 0.02

  /// Adds a sample.
  ///
  /// - Parameters:
  ///   - elapsed: The time since the start of the current window, in seconds.
  ///   - counts: The number of operations of each group in all windows so far.
  ///   - checkpointCount: The number of checkpoints so far.
  ///   - byteCount: A closure that returns the disk space of the store, if it is measured.
  mutating func add(
    elapsed: Double, _ counts: [Int], _ checkpointCount: Int, _ byteCount: (() -> Int)? = nil
  ) {
    guard let last else {
      self.last = (elapsed, counts, checkpointCount)
      return
    }
    let duration = elapsed - last.elapsed
    guard duration >= Self.shortest else { return }
    moments.append(
      Moment(
        seconds: earlier + elapsed,
        rates: zip(counts, last.counts).map { Double($0 - $1) / duration },
        hasCheckpoint: checkpointCount > last.checkpointCount, byteCount: byteCount?()))
    self.last = (elapsed, counts, checkpointCount)
  }

  /// The curves of the read rate and the commit rate, and the times at which checkpoints ended.
  var curves: [Curve] {
    func curve(_ name: String, _ unit: String, _ points: [[Double]]) -> Curve {
      Curve(name: name, horizontal: "seconds", vertical: unit, points: points)
    }
    return [
      curve("reads", "reads/s", moments.map { [$0.seconds, $0.rates[0]] }),
      curve("commits", "commits/s", moments.map { [$0.seconds, $0.rates[1]] }),
      curve(
        "checkpoints", "",
        moments.filter(\.hasCheckpoint).map { [$0.seconds, 0] }),
      curve(
        "space", "bytes",
        moments.compactMap { moment in moment.byteCount.map { [moment.seconds, Double($0)] } }),
    ].filter { $0.name != "space" || !$0.points.isEmpty }
  }

  /// Ends the current window.
  ///
  /// The next sample starts a new window.
  mutating func endWindow() {
    earlier += last?.elapsed ?? 0
    last = nil
  }
}
