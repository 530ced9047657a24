package import HeartwoodEngine

/// A plan that determines which call to a ``SimulatedDisk`` fails, and how.
///
/// Calls that change something are numbered from 1. To test every possible fault, first run a
/// workload without a plan to count these calls. Then run the workload once for each call, with a
/// plan that makes this call fail.
package struct FaultPlan: Sendable, Equatable {
  /// The kinds of calls that are numbered.
  package enum CallKind: String, Sendable, CaseIterable {
    case write, setByteCount, sync, create, rename, remove, createDirectory, syncDirectory, punch

    /// A Boolean value that indicates whether a call of this kind can fail because the disk is
    /// full.
    var needsSpace: Bool { ![.remove, .syncDirectory, .punch].contains(self) }
  }

  /// The effect of a fault.
  package enum Outcome: Sendable, Equatable {
    /// The power is cut, so this call and all later calls fail without effect.
    case powerOff
    /// The call throws an error of this kind.
    case failure(StorageError.Kind)
  }

  /// The number of the call that fails, or `nil` if no call fails.
  package var call: Int?
  package var outcome: Outcome
  /// A Boolean value that indicates whether all later calls fail in the same way.
  package var isLasting = false
  /// A Boolean value that indicates whether the failing call has a partial effect.
  ///
  /// If so, a failing write stores a prefix of its bytes, and a write interrupted by a power cut
  /// stores some of its sectors.
  package var leavesPart = false
  /// A Boolean value that indicates whether a failing sync marks the unsynced pages as clean
  /// without making them durable.
  package var dropsUnsynced = false
  /// The number of the read that fails, counted from 1, or `nil` if no read fails.
  package var failingRead: Int?
  /// The number of the `open` call that fails, counted from 1, or `nil` if none fails.
  package var failingOpen: Int?

  package init() { outcome = .powerOff }

  /// Returns a plan that cuts the power at the given call.
  package static func powerCut(atCall call: Int, leavesPart: Bool = false) -> FaultPlan {
    var plan = FaultPlan()
    plan.call = call
    plan.leavesPart = leavesPart
    return plan
  }

  /// Returns a plan in which the given call fails.
  ///
  /// If `kind` is `.diskFull`, calls that need no space succeed.
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

  package static func failingRead(_ number: Int) -> FaultPlan {
    var plan = FaultPlan()
    plan.failingRead = number
    return plan
  }

  /// Returns a plan in which only the given `open` call fails, as if no descriptors were left.
  package static func failingOpen(_ number: Int) -> FaultPlan {
    var plan = FaultPlan()
    plan.failingOpen = number
    return plan
  }

  /// Returns the planned outcome of a call, or `nil` if the call succeeds.
  func outcome(ofCall number: Int, _ kind: CallKind) -> Outcome? {
    guard let call, number == call || (isLasting && number > call) else { return nil }
    if outcome == .failure(.diskFull), !kind.needsSpace { return nil }
    return outcome
  }
}
