/// What the threads of an engine did one moment after the other, its windows put side by side.
struct Timeline {
  /// What happened between two looks.
  struct Moment {
    /// Time that the engine has worked until the end of the moment.
    let seconds: Double
    /// Operations per second of each group.
    let rates: [Double]
    /// Whether a checkpoint has ended.
    let hasCheckpoint: Bool
  }

  private(set) var moments: [Moment] = []
  /// Time that the engine worked in windows that are over.
  private var earlier = 0.0
  private var last: (elapsed: Double, counts: [Int], checkpointCount: Int)?

  /// Looks are farther apart than this, because threads count a turn when it has ended.
  private static let shortest = 0.02

  /// Takes down what all windows have brought so far.
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

  /// What the groups did: readers, then the writer; and when a checkpoint had ended.
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

  /// The next moment belongs to another window.
  mutating func endWindow() {
    earlier += last?.elapsed ?? 0
    last = nil
  }
}
