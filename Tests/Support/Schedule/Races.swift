/// The races of a run: steps of two participants of which one changes what the other touches, while
/// nothing in between makes the second wait for the first.
///
/// Only if two steps race does a preemption before the first lead to another trace; races that
/// arise then lead on (C. Flanagan and P. Godefroid, *Dynamic Partial-Order Reduction for Model
/// Checking Software*, POPL 2005).
struct Races {
  /// For each step, whether a later step of another participant races with it.
  private(set) var isFirst: [Bool]
  private let participantCount: Int
  /// For each step, in a row for each participant: the number of that participant's steps that
  /// precede it or are it.
  private var clocks: [Int32]
  private var ordinals: [Int32]
  private var keys: [UInt64: Key] = [:]

  /// The last step that changed something, and the steps that have read it since.
  private struct Key {
    var write: Int?
    var reads: [Int] = []
  }

  init(_ steps: [Schedule.Step], participantCount: Int) {
    self.participantCount = participantCount
    isFirst = Array(repeating: false, count: steps.count)
    clocks = Array(repeating: 0, count: steps.count * participantCount)
    ordinals = Array(repeating: 0, count: steps.count)
    var last: [Int?] = Array(repeating: nil, count: participantCount)
    for (index, step) in steps.enumerated() {
      var earlier: [Int] = []
      for key in step.operation.reads {
        if let write = keys[key]?.write { earlier.append(write) }
        keys[key, default: Key()].reads.append(index)
      }
      for key in step.operation.writes {
        if let known = keys[key] {
          if let write = known.write { earlier.append(write) }
          earlier += known.reads
        }
        keys[key] = Key(write: index)
      }
      add(index, step.participant, after: last[step.participant], earlier, steps)
      last[step.participant] = index
    }
  }

  private mutating func add(
    _ index: Int, _ participant: Int, after previous: Int?, _ earlier: [Int],
    _ steps: [Schedule.Step]
  ) {
    if let previous { merge(previous, into: index) }
    // From the latest on: steps that precede a later one do not race.
    for other in earlier.sorted(by: >) {
      let owner = steps[other].participant
      guard clocks[index * participantCount + owner] < ordinals[other], owner != participant
      else { continue }
      isFirst[other] = true
      merge(other, into: index)
    }
    clocks[index * participantCount + participant] += 1
    ordinals[index] = clocks[index * participantCount + participant]
  }

  private mutating func merge(_ other: Int, into index: Int) {
    for participant in 0..<participantCount {
      let cell = index * participantCount + participant
      clocks[cell] = max(clocks[cell], clocks[other * participantCount + participant])
    }
  }
}
