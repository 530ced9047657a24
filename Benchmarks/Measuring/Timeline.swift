/// The activity of an engine's threads over time, excluding the windows of other engines.
struct Timeline {
  /// The activity between two samples.
  struct Moment {
    /// The time for which the engine had worked in all windows when the second sample was taken.
    let seconds: Double
    /// The operations per second of each group.
    let rates: [Double]
    /// Whether a checkpoint ended between the two samples.
    let hasCheckpoint: Bool
  }

  private(set) var moments: [Moment] = []
  /// The time for which the engine worked in earlier windows.
  private var earlier = 0.0
  private var last: (elapsed: Double, counts: [Int], checkpointCount: Int)?

  /// The minimum time between two samples, in seconds.
  ///
  /// A shorter time would be inaccurate, because operations are counted only at the end of a turn.
  private static let shortest = 0.02

  /// Adds a sample, given the totals of all windows so far.
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

  /// The curves of the reading rate, the writing rate, and the ends of checkpoints.
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

  /// Records that the next sample belongs to another window.
  mutating func endWindow() {
    earlier += last?.elapsed ?? 0
    last = nil
  }
}
