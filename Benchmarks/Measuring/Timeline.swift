/// The activity of an engine's threads over time, excluding the windows of other engines.
struct Timeline {
  /// The activity between two samples.
  struct Moment {
    /// The total working time of the engine in seconds, at the second sample.
    let seconds: Double
    /// The operations per second of each group.
    let rates: [Double]
    /// Whether a checkpoint ended between the two samples.
    let hasCheckpoint: Bool
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
  mutating func add(elapsed: Double, _ counts: [Int], _ checkpointCount: Int) {
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
        hasCheckpoint: checkpointCount > last.checkpointCount))
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
    ]
  }

  /// Ends the current window.
  ///
  /// The next sample belongs to a new window.
  mutating func endWindow() {
    earlier += last?.elapsed ?? 0
    last = nil
  }
}
