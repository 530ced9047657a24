package import HeartwoodEngine

/// The fault of one call of a ``SimulatedDisk``.
///
/// Calls that change something are numbered from 1. Run a workload once without a plan to count
/// them, then once for each of them with a plan.
package struct FaultPlan: Sendable, Equatable {
  /// The kinds of numbered calls.
  package enum CallKind: String, Sendable, CaseIterable {
    case write, setByteCount, sync, create, rename, remove, createDirectory, syncDirectory, punch

    /// Whether the call can fail because the disk is full.
    var needsSpace: Bool { ![.remove, .syncDirectory, .punch].contains(self) }
  }

  /// The outcome of the call.
  package enum Outcome: Sendable, Equatable {
    /// No effect, now and from then on: every later call fails too.
    case powerOff
    /// An error of this kind.
    case failure(StorageError.Kind)
  }

  /// The number of the faulty call; `nil` for none.
  package var call: Int?
  package var outcome: Outcome
  /// Whether all later calls fail in the same way.
  package var isLasting = false
  /// Whether the call has part of its effect: a failing write writes a prefix, one at a power cut
  /// any of its sectors.
  package var leavesPart = false
  /// Whether a failing sync marks the written pages as clean without making them durable.
  package var dropsUnsynced = false
  /// The number of the read that fails once, counted from 1; `nil` for none.
  package var failingRead: Int?
  /// The number of the file opening that fails once, counted from 1; `nil` for none.
  package var failingOpen: Int?

  /// No faults.
  package init() { outcome = .powerOff }

  /// The power is cut at the call with this number.
  package static func powerCut(atCall call: Int, leavesPart: Bool = false) -> FaultPlan {
    var plan = FaultPlan()
    plan.call = call
    plan.leavesPart = leavesPart
    return plan
  }

  /// The call with this number fails.
  ///
  /// With the kind `.diskFull`, calls that need no space succeed.
  package static func failure(
    _ kind: StorageError.Kind, atCall call: Int, isLasting: Bool = false, leavesPart: Bool = false,
    dropsUnsynced: Bool = false
  ) -> FaultPlan {
    var plan = FaultPlan()
    plan.call = call
    plan.outcome = .failure(kind)
    plan.isLasting = isLasting
    plan.leavesPart = leavesPart
    plan.dropsUnsynced = dropsUnsynced
    return plan
  }

  /// The read with this number fails once.
  package static func failingRead(_ number: Int) -> FaultPlan {
    var plan = FaultPlan()
    plan.failingRead = number
    return plan
  }

  /// The file opening with this number fails once, for lack of descriptors.
  package static func failingOpen(_ number: Int) -> FaultPlan {
    var plan = FaultPlan()
    plan.failingOpen = number
    return plan
  }

  /// Returns the outcome of a call; `nil` if it succeeds.
  func outcome(ofCall number: Int, _ kind: CallKind) -> Outcome? {
    guard let call, number == call || (isLasting && number > call) else { return nil }
    if outcome == .failure(.diskFull), !kind.needsSpace { return nil }
    return outcome
  }
}
