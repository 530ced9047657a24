import HeartwoodEngine

/// Runs several participants one step at a time, in an order that is given.
///
/// Each participant has a thread and stands for a process. Before each of its steps (a file
/// operation, a lock, a shared word) it asks whose turn it is, so that exactly one of them runs at
/// any time and the same order always does the same. Without instructions a participant runs until
/// it ends or cannot go on; each ``Switch`` names a step that another one takes instead.
package final class Schedule: @unchecked Sendable {
  // @unchecked because only the thread whose turn it is uses what changes, and turns are handed
  // over under a lock.

  /// A step that another participant takes than the one whose turn it would be.
  package struct Switch: Hashable, Sendable, CustomStringConvertible {
    package let step: Int
    package let participant: Int

    package init(_ step: Int, to participant: Int) {
      self.step = step
      self.participant = participant
    }

    package var description: String { "Switch(\(step), to: \(participant))" }
  }

  /// What a step looks at and changes that others can see; two steps can as well be taken the
  /// other way round if neither changes what the other one looks at or changes.
  package struct Operation: Sendable {
    let name: StaticString
    let target: String
    var reads: [UInt64] = []
    var writes: [UInt64] = []
  }

  /// A step that was taken.
  struct Step {
    let participant: Int
    let operation: Operation
    /// The participants that could have taken it, as bits.
    let candidates: UInt64
    /// Whether the one before it could not go on, so that taking turns was no choice.
    let isForced: Bool
    /// Preemptions up to it, itself among them.
    let preemptionCount: Int
    /// What had happened before it.
    let state: UInt64
  }

  private struct Participant {
    let process: ScheduledProcess
    let body: @Sendable (Schedule) throws -> Void
    let turn = Turn()
    var hasEnded = false
    var isDead = false
    /// What it has asked for in vain since somebody else took a step.
    var refused: Set<String> = []
    /// What it waits for.
    var awaited: Set<UInt64> = []
    /// Whether it has asked twice for the same, and nobody has given anything back since.
    var isBlocked = false
  }

  /// Where a thread waits for its turn; `isAdmitted` is guarded by `lock`.
  private final class Turn: @unchecked Sendable {
    // @unchecked because of that.
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

  /// Steps after which a run, or a process alone, is taken for one that never ends.
  static let stepLimit = 20_000
  /// How often in a row all may ask in vain: some ask a limited number of times.
  private static let vainLimit = 400

  private let switches: [Int: Int]
  private var participants: [Participant] = []
  private let end = Turn()
  private(set) var steps: [Step] = []
  private var decided: (participant: Int, candidates: UInt64, isForced: Bool)?
  private var isRunning = false
  private var vainCount = 0
  private var trace = Trace(participantCount: 0)
  /// What went wrong, in order.
  package private(set) var failures: [String] = []
  /// Whether somebody who should have gone on could not: the run is not the one that was asked for,
  /// because a participant went by the clock.
  package private(set) var isStray = false

  package init(_ switches: [Switch]) {
    self.switches = Dictionary(
      switches.map { ($0.step, $0.participant) }, uniquingKeysWith: { $1 })
  }

  package func fail(_ failure: String) { failures.append(failure) }

  package var participantCount: Int { participants.count }

  /// Tells what has happened, and not in which order if the order made no difference.
  package var outcome: UInt64 { trace.hash }

  /// The number of steps taken.
  package var stepCount: Int { steps.count }

  // MARK: Running

  /// Adds a participant; its number is how many there were.
  package func add(
    _ process: ScheduledProcess, _ body: @escaping @Sendable (Schedule) throws -> Void
  ) {
    process.join(self, as: participants.count)
    participants.append(Participant(process: process, body: body))
  }

  /// Runs all participants to their ends.
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

  /// The life of a participant's thread.
  private func live(_ number: Int) {
    participants[number].turn.await()
    participants[number].process.refresh()
    do {
      if waitForTurn(number, Operation(name: "begin", target: "")) {
        try participants[number].body(self)
      }
    } catch {
      // Of a process that was killed nobody sees an error.
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

  /// Takes a step when it is this participant's turn; false if it has been killed, and nothing it
  /// does has an effect any more.
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

  /// All that the rest of a run follows from, but for whose turn it is: what has happened, and who
  /// waits.
  private var state: UInt64 {
    let waiting = participants.indices.reduce(UInt64(0)) {
      $0 | (participants[$1].isBlocked ? 1 << UInt64($1) : 0)
    }
    return Trace.mix(trace.hash, waiting, UInt64(vainCount))
  }

  /// Chooses who takes the next step.
  private func decide(after current: Int?) {
    if steps.count >= Self.stepLimit { stop("\(steps.count) steps and no end") }
    var candidates = participants.indices.filter { isAble($0) }
    if candidates.isEmpty {
      // All have asked in vain; some of them ask a limited number of times and then go on.
      vainCount += 1
      if vainCount > Self.vainLimit { stop("all wait for each other") }
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

  /// Gives the turn to the one who was chosen.
  private func hand() {
    guard let decided else { return }
    participants[decided.participant].turn.give()
  }

  /// Ends a run that would not end by itself: everybody is killed.
  private func stop(_ failure: String) {
    if !participants.contains(where: \.isDead) || failures.isEmpty { fail(failure) }
    for number in participants.indices where !participants[number].hasEnded {
      participants[number].isDead = true
      participants[number].process.die()
    }
  }

  // MARK: What participants report

  /// The participant has asked for something that another one has.
  ///
  /// Many go on then; who asks for the same again waits for it.
  func recordRefusal(_ number: Int) {
    guard isRunning, let step = steps.last else { return }
    let request = "\(step.operation.name) \(step.operation.target)"
    participants[number].awaited.formUnion(step.operation.reads)
    participants[number].awaited.formUnion(step.operation.writes)
    if !participants[number].refused.insert(request).inserted {
      participants[number].isBlocked = true
    }
  }

  /// What these keys stand for was given back, and others may wait for it.
  func recordReturn(_ keys: [UInt64]) {
    vainCount = 0
    for number in participants.indices
    where participants[number].isBlocked && !participants[number].awaited.isDisjoint(with: keys) {
      participants[number].isBlocked = false
    }
  }

  /// Whatever others wait for may have been given back.
  func wakeAll() {
    vainCount = 0
    for number in participants.indices { participants[number].isBlocked = false }
  }

  // MARK: Killing

  /// Kills a participant at the step it is about to take; nothing happens if it has ended.
  ///
  /// Its locks are gone and what it does from here on has no effect: its thread unwinds, alone.
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
    // Whoever gave the turn back has chosen this participant for a step, which it takes.
    _ = waitForTurn(number, Operation(name: "go on", target: ""))
  }

  /// Whether a participant was killed.
  package func isDead(_ number: Int) -> Bool { participants[number].isDead }

  // MARK: Alternatives

  /// Which of the preemptions that a run allows are asked for.
  package enum Preemptions: Sendable {
    /// Those that can make a difference: before steps that race with another's.
    case distinct
    case all
  }

  /// A switch that leads to another order.
  package struct Alternative {
    package let change: Switch
    package let preemptionCount: Int
    /// The state it leads from and whom it leads to, on which the rest of that order depends.
    package let start: UInt64
  }

  /// Where the run itself has been, as alternatives would lead there, and after how many
  /// preemptions.
  package var starts: [(start: UInt64, preemptionCount: Int)] {
    steps.map { (Trace.mix($0.state, UInt64($0.participant), 0), $0.preemptionCount) }
  }

  /// The switches that lead to other orders; turns that are forced are always among them.
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

  /// The steps around a place, a line each.
  package func text(around stepIndices: [Int], distance: Int = 3) -> String {
    steps.indices.filter { index in stepIndices.contains { abs($0 - index) <= distance } }.map {
      let step = steps[$0]
      return "\($0): \(step.participant) \(step.operation.name) \(step.operation.target)"
    }.joined(separator: "\n")
  }
}
