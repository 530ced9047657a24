import HeartwoodEngine

/// Runs several participants one step at a time, in a given order.
///
/// Each participant has its own thread and simulates a process. Before each step (a file operation,
/// a lock, or an access to a shared counter), the participant waits for its turn. Exactly one
/// participant runs at any time, so the same order always gives the same result. By default, a
/// participant runs until it ends or is blocked. Each ``Switch`` names a step that another
/// participant takes instead.
package final class Schedule: @unchecked Sendable {
  // @unchecked because only the thread whose turn it is uses the variables, and the turn is passed
  // under a lock.

  /// A step taken by a participant that would not take the step by default.
  package struct Switch: Hashable, Sendable, CustomStringConvertible {
    package let step: Int
    package let participant: Int

    package init(_ step: Int, to participant: Int) {
      self.step = step
      self.participant = participant
    }

    package var description: String { "Switch(\(step), to: \(participant))" }
  }

  /// The state that a step reads and changes, limited to state that other participants can observe.
  ///
  /// Two steps are independent if neither of them changes something that the other reads or
  /// changes.
  package struct Operation: Sendable {
    let name: StaticString
    let target: String
    var reads: [UInt64] = []
    var writes: [UInt64] = []
  }

  /// A completed step.
  struct Step {
    let participant: Int
    let operation: Operation
    /// The participants that could have taken the step, as a bit set.
    let candidates: UInt64
    /// A Boolean value that indicates whether a necessary switch precedes this step.
    ///
    /// A switch is necessary if the previous participant could not continue.
    let isForced: Bool
    /// The number of preemptions up to and including this step.
    let preemptionCount: Int
    /// The state of the run before the step.
    let state: UInt64
  }

  private struct Participant {
    let process: ScheduledProcess
    let body: @Sendable (Schedule) throws -> Void
    let turn = Turn()
    var hasEnded = false
    var isDead = false
    /// The requests that have failed since another participant last took a step.
    var refused: Set<String> = []
    /// The keys of the locks that the participant waits for.
    var awaited: Set<UInt64> = []
    /// A Boolean value that indicates whether the same request has failed twice and no awaited lock
    /// has been released since.
    var isBlocked = false
  }

  /// A condition variable on which a thread waits for its turn.
  private final class Turn: @unchecked Sendable {
    // @unchecked because `lock` protects the state.
    private let lock = Lock()
    private var isAdmitted = false

    func give() {
      lock.withLock {
        isAdmitted = true
        lock.wakeAll()
      }
    }

    func await() {
      lock.withLock {
        while !isAdmitted { lock.wait() }
        isAdmitted = false
      }
    }
  }

  /// The number of steps after which a run, or a process that runs alone, is considered endless.
  static let stepLimit = 20_000
  /// The number of successive rounds in which the requests of all participants may fail before the
  /// run is stopped.
  ///
  /// The number is large because some participants repeat a failed request several times before
  /// they continue with something else.
  private static let vainLimit = 400

  private let switches: [Int: Int]
  private var participants: [Participant] = []
  private let end = Turn()
  private(set) var steps: [Step] = []
  private var decided: (participant: Int, candidates: UInt64, isForced: Bool)?
  private var isRunning = false
  private var vainCount = 0
  private var trace = Trace(participantCount: 0)
  /// The failures, oldest first.
  package private(set) var failures: [String] = []
  /// A Boolean value that indicates whether a requested switch was impossible because a participant
  /// depended on the clock.
  ///
  /// A stray run does not follow the requested order.
  package private(set) var isStray = false

  package init(_ switches: [Switch]) {
    self.switches = Dictionary(
      switches.map { ($0.step, $0.participant) }, uniquingKeysWith: { $1 })
  }

  package func fail(_ failure: String) { failures.append(failure) }

  package var participantCount: Int { participants.count }

  /// A hash of the history, equal for histories that differ only in the order of independent steps.
  package var outcome: UInt64 { trace.hash }

  /// The number of steps taken.
  package var stepCount: Int { steps.count }

  // MARK: Running

  /// Adds a participant.
  ///
  /// Participants are numbered from 0, in the order in which they are added.
  package func add(
    _ process: ScheduledProcess, _ body: @escaping @Sendable (Schedule) throws -> Void
  ) {
    process.join(self, as: participants.count)
    participants.append(Participant(process: process, body: body))
  }

  /// Runs all participants until all of them have ended.
  package func run() {
    isRunning = true
    trace = Trace(participantCount: participants.count)
    let threads = participants.indices.map { number in
      SystemThread { [self] in live(number) }
    }
    decide(after: nil)
    hand()
    end.await()
    isRunning = false
    for thread in threads { thread?.join() }
    for participant in participants { participant.process.leaveSchedule() }
  }

  /// Runs the body of a participant on its thread.
  private func live(_ number: Int) {
    participants[number].turn.await()
    participants[number].process.refresh()
    do {
      if waitForTurn(number, Operation(name: "begin", target: "")) {
        try participants[number].body(self)
      }
    } catch {
      // Ignore errors from a participant that was killed.
      if !participants[number].isDead { fail("participant \(number): \(error)") }
    }
    participants[number].hasEnded = true
    participants[number].process.flush()
    wakeAll()
    decided = nil
    if participants.allSatisfy(\.hasEnded) { return end.give() }
    decide(after: nil)
    hand()
  }

  /// Waits for the participant's turn and takes a step.
  ///
  /// - Returns: `false` if the participant has been killed; its calls must then have no effect.
  func waitForTurn(_ number: Int, _ operation: Operation) -> Bool {
    guard isRunning else { return true }
    guard !participants[number].isDead else { return false }
    if decided?.participant != number {
      decide(after: number)
      if decided?.participant != number {
        participants[number].process.flush()
        hand()
        participants[number].turn.await()
        guard !participants[number].isDead else { return false }
        participants[number].process.refresh()
      }
    }
    guard let decided else { return false }
    self.decided = nil
    if steps.last?.participant != number {
      participants[number].refused = []
      participants[number].awaited = []
    }
    let isPreemption = !decided.isForced && switches[steps.count] != nil
    steps.append(
      Step(
        participant: number, operation: operation, candidates: decided.candidates,
        isForced: decided.isForced,
        preemptionCount: (steps.last?.preemptionCount ?? 0) + (isPreemption ? 1 : 0),
        state: state))
    trace.append(number, operation)
    return true
  }

  /// A hash of the history and of the set of blocked participants.
  ///
  /// Together with the participant whose turn it is, this state determines the rest of a run.
  private var state: UInt64 {
    let waiting = participants.indices.reduce(UInt64(0)) {
      $0 | (participants[$1].isBlocked ? 1 << UInt64($1) : 0)
    }
    return Trace.mix(trace.hash, waiting, UInt64(vainCount))
  }

  /// Chooses the participant that takes the next step.
  private func decide(after current: Int?) {
    if steps.count >= Self.stepLimit { stop("no end after \(steps.count) steps") }
    var candidates = participants.indices.filter { isAble($0) }
    if candidates.isEmpty {
      // All participants are blocked. Let them try again, because some of them repeat a request
      // only a limited number of times and then continue.
      vainCount += 1
      if vainCount > Self.vainLimit { stop("all participants wait for each other") }
      for number in participants.indices { participants[number].isBlocked = false }
      candidates = participants.indices.filter { isAble($0) }
    }
    let isForced = current.map { !candidates.contains($0) } ?? true
    let usual =
      isForced ? candidates.first { $0 > current ?? -1 } ?? candidates.first ?? 0 : current ?? 0
    var chosen = usual
    if let wanted = switches[steps.count] {
      if candidates.contains(wanted) {
        chosen = wanted
      } else {
        isStray = true
      }
    }
    let bits = candidates.reduce(UInt64(0)) { $0 | 1 << UInt64($1) }
    decided = (chosen, bits, isForced)
  }

  private func isAble(_ number: Int) -> Bool {
    !participants[number].hasEnded && !participants[number].isBlocked
  }

  /// Passes the turn to the chosen participant.
  private func hand() {
    guard let decided else { return }
    participants[decided.participant].turn.give()
  }

  /// Records a failure and kills all participants, because the run would not end by itself.
  private func stop(_ failure: String) {
    if !participants.contains(where: \.isDead) || failures.isEmpty { fail(failure) }
    for number in participants.indices where !participants[number].hasEnded {
      participants[number].isDead = true
      participants[number].process.die()
    }
  }

  // MARK: Reports from participants

  /// Records that the last request of a participant failed because another participant holds a
  /// lock.
  ///
  /// The participant is blocked if it repeats the request before another participant has taken a
  /// step. Most participants continue with something else instead.
  func recordRefusal(_ number: Int) {
    guard isRunning, let step = steps.last else { return }
    let request = "\(step.operation.name) \(step.operation.target)"
    participants[number].awaited.formUnion(step.operation.reads)
    participants[number].awaited.formUnion(step.operation.writes)
    if !participants[number].refused.insert(request).inserted {
      participants[number].isBlocked = true
    }
  }

  /// Records that the locks with the given keys were released, which unblocks the participants that
  /// wait for them.
  func recordReturn(_ keys: [UInt64]) {
    vainCount = 0
    for number in participants.indices
    where participants[number].isBlocked && !participants[number].awaited.isDisjoint(with: keys) {
      participants[number].isBlocked = false
    }
  }

  /// Unblocks all participants, because any of the locks that they wait for may have been released.
  func wakeAll() {
    vainCount = 0
    for number in participants.indices { participants[number].isBlocked = false }
  }

  // MARK: Killing

  /// Kills a participant at the next step, unless it has already ended.
  ///
  /// The locks of the victim are released, and its later calls have no effect. The victim's thread
  /// then runs alone until it has unwound.
  package func kill(_ victim: Int, by number: Int) {
    let operation = Operation(
      name: "kill", target: "participant \(victim)",
      writes: [ScheduledProcess.lifeKey(victim), ScheduledProcess.anyLockKey])
    guard waitForTurn(number, operation), !participants[victim].hasEnded else { return }
    participants[victim].isDead = true
    participants[victim].process.die()
    wakeAll()
    decided = (victim, 0, true)
    hand()
    participants[number].turn.await()
    participants[number].process.refresh()
    // The turn has returned to this participant, so use it to take a step.
    _ = waitForTurn(number, Operation(name: "go on", target: ""))
  }

  /// Returns whether a participant has been killed.
  package func isDead(_ number: Int) -> Bool { participants[number].isDead }

  // MARK: Alternatives

  /// The kinds of preemptions that are tried.
  package enum Preemptions: Sendable {
    /// Only preemptions before a step that races with a later step of another participant.
    ///
    /// No other preemption can make a difference.
    case distinct
    case all
  }

  /// A switch that produces a different order.
  package struct Alternative {
    package let change: Switch
    package let preemptionCount: Int
    /// A hash of the state before the switch and of the participant that takes the step, which
    /// together determine the rest of the order.
    package let start: UInt64
  }

  /// The states from which this run continued, each with the number of preemptions up to that
  /// state.
  package var starts: [(start: UInt64, preemptionCount: Int)] {
    steps.map { (Trace.mix($0.state, UInt64($0.participant), 0), $0.preemptionCount) }
  }

  /// Returns the switches that produce different orders.
  ///
  /// Switches away from a blocked participant are always included.
  package func alternatives(_ preemptions: Preemptions) -> [Alternative] {
    let races = Races(steps, participantCount: participants.count)
    var result: [Alternative] = []
    var before = 0
    for (index, step) in steps.enumerated() {
      if step.isForced || preemptions == .all || races.isFirst[index] {
        for other in participants.indices
        where other != step.participant && step.candidates >> UInt64(other) & 1 == 1 {
          result.append(
            Alternative(
              change: Switch(index, to: other), preemptionCount: before + (step.isForced ? 0 : 1),
              start: Trace.mix(step.state, UInt64(other), 0)))
        }
      }
      before = step.preemptionCount
    }
    return result
  }

  // MARK: Messages

  /// Returns the steps near the given steps as text, with one step per line.
  package func text(around stepIndices: [Int], distance: Int = 3) -> String {
    steps.indices.filter { index in stepIndices.contains { abs($0 - index) <= distance } }.map {
      let step = steps[$0]
      return "\($0): \(step.participant) \(step.operation.name) \(step.operation.target)"
    }.joined(separator: "\n")
  }
}
