package import HeartwoodEngine

/// Which call of a ``SimulatedDisk`` goes wrong, and how.
///
/// Calls that change something are numbered from 1. Run a workload once without a plan to learn how
/// many there are, then once for each of them with a plan.
package struct FaultPlan: Sendable, Equatable {
  /// The calls that are numbered.
  package enum CallKind: String, Sendable, CaseIterable {
    case write, setByteCount, sync, create, rename, remove, createDirectory, syncDirectory, punch

    /// Whether a full disk can be the reason for its failure.
    var needsSpace: Bool { ![.remove, .syncDirectory, .punch].contains(self) }
  }

  /// What happens instead of the call.
  package enum Outcome: Sendable, Equatable {
    /// Nothing, now and from then on: every later call fails too.
    case powerOff
    /// It throws an error of this kind.
    case failure(StorageError.Kind)
  }

  /// The number of the call that goes wrong; `nil` for none.
  package var call: Int?
  package var outcome: Outcome
  /// Whether all later calls go wrong in the same way.
  package var isLasting = false
  /// Whether the call takes effect in part: of a failing write a prefix arrives, of one that is cut
  /// off by the loss of power any of its sectors.
  package var leavesPart = false
  /// Whether a failing sync takes what was written for clean without having made it durable.
  package var dropsUnsynced = false
  /// The number of the read that fails once, counted from 1; `nil` for none.
  package var failingRead: Int?
  /// The number of the opening of a file that fails once, counted from 1; `nil` for none.
  package var failingOpen: Int?

  /// No faults.
  package init() { outcome = .powerOff }

  /// The power goes off at the call with this number.
  package static func powerCut(atCall call: Int, leavesPart: Bool = false) -> FaultPlan {
    var plan = FaultPlan()
    plan.call = call
    plan.leavesPart = leavesPart
    return plan
  }

  /// The call with this number fails.
  ///
  /// With the kind `.full`, calls that need no space go through.
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

  /// The opening of a file with this number fails once, for want of descriptors.
  package static func failingOpen(_ number: Int) -> FaultPlan {
    var plan = FaultPlan()
    plan.failingOpen = number
    return plan
  }

  /// What happens instead of a call; `nil` if it goes through.
  func outcome(ofCall number: Int, _ kind: CallKind) -> Outcome? {
    guard let call, number == call || (isLasting && number > call) else { return nil }
    if outcome == .failure(.diskFull), !kind.needsSpace { return nil }
    return outcome
  }
}
