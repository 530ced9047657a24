/// Finds the races between the steps of a run.
///
/// Two steps of different participants race if one step changes state that the other step reads or
/// changes, and if no step in between makes the second step wait for the first. A preemption can
/// produce a different trace only if it comes before the first step of a race. Races that occur
/// only in the new trace produce further traces (C. Flanagan and P. Godefroid, *Dynamic
/// Partial-Order Reduction for Model Checking Software*, POPL 2005).
struct Races {
  /// For each step, `true` if a later step of another participant races with it.
  private(set) var isFirst: [Bool]
  private let participantCount: Int
  /// The concatenated vector clocks of all steps.
  ///
  /// The entry for a step and a participant is the number of that participant's steps that happen
  /// before the step, including the step itself.
  private var clocks: [Int32]
  private var ordinals: [Int32]
  private var keys: [UInt64: Key] = [:]

  /// The last step that changed the value of a key, and the steps that have read the value since.
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
    // Visit the latest steps first. A step does not race with the step at `index` if it happens
    // before a step that has already been visited.
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
