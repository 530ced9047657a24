import Foundation

/// Runs work on threads of its own that start together, and measures windows of time.
///
/// Every window ends for each thread at the end of its current turn, so the rate of a thread is
/// exact however long its turns are. All threads run before the first window begins and until the
/// last one has ended.
struct Harness {
  let name: String
  let seconds: Double
  let progress: Progress

  /// An odd number, so that the median is one that was measured.
  static let windowCount = 7

  /// What a run brought: slices for each group of measured threads, and the hash of all reads.
  struct Outcome {
    let groups: [Slices]
    let hash: UInt64
  }

  /// Measures the groups side by side; the work in `background` runs along unmeasured.
  func run(_ groups: [[any Work]], background: [any Work] = []) throws -> Outcome {
    let measured = groups.joined().map { Runner($0) }
    let runners = measured + background.map { Runner($0) }
    let crew = Crew(count: runners.count)
    progress.show(name, fraction: 0)
    for runner in runners {
      let thread = Thread { runner.run(in: crew) }
      thread.name = "bench \(name)"
      thread.start()
    }
    crew.startTogether()
    let windows = sample(measured, crew)
    crew.stopAndWait()
    if let failure = crew.failure { throw failure }
    let hash = runners.reduce(0) { fold($0, $1.hash) }
    return Outcome(groups: slices(of: groups.map(\.count), in: windows), hash: hash)
  }

  /// What each measured thread did in one window.
  private typealias Window = [(operationCount: Int, seconds: Double)]

  private func sample(_ runners: [Runner], _ crew: Crew) -> [Window] {
    var windows: [Window] = []
    // Every window runs from the end of a turn to the end of a turn.
    var marks = runners.map { _ in Runner.Mark() }
    guard waitForTurns(of: runners, after: marks, crew) else { return windows }
    marks = runners.map(\.mark)
    let begin = ContinuousClock.now
    for number in 1...Self.windowCount {
      let end = begin + .seconds(seconds * Double(number) / Double(Self.windowCount))
      sleep(until: end, since: begin)
      guard waitForTurns(of: runners, after: marks, crew) else { return windows }
      let next = runners.map(\.mark)
      windows.append(
        zip(marks, next).map { earlier, later in
          (later.operationCount - earlier.operationCount, (later.time - earlier.time).inSeconds)
        })
      marks = next
    }
    return windows
  }

  /// Waits until every thread has ended another turn, however long; false if one failed.
  private func waitForTurns(
    of runners: [Runner], after marks: [Runner.Mark], _ crew: Crew
  ) -> Bool {
    while zip(runners, marks).contains(where: { $0.mark.turnCount == $1.turnCount }) {
      if crew.failure != nil { return false }
      Thread.sleep(forTimeInterval: 0.0002)
    }
    return true
  }

  private func sleep(until end: ContinuousClock.Instant, since begin: ContinuousClock.Instant) {
    while true {
      let now = ContinuousClock.now
      guard now < end else { return }
      progress.show(name, fraction: (now - begin).inSeconds / seconds)
      Thread.sleep(forTimeInterval: min(0.1, (end - now).inSeconds))
    }
  }

  private func slices(of threadCounts: [Int], in windows: [Window]) -> [Slices] {
    var first = 0
    return threadCounts.map { threadCount in
      let threads = first..<first + threadCount
      first += threadCount
      return Slices(
        rates: windows.map { window in
          window[threads].reduce(0) { $0 + Double($1.operationCount) / $1.seconds }
        },
        operationCount: windows.reduce(0) { sum, window in
          window[threads].reduce(sum) { $0 + $1.operationCount }
        },
        threadCount: threadCount)
    }
  }
}
