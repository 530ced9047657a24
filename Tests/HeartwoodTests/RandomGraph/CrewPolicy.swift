import Heartwood

/// The custom merge policy of the random graph, and a model of its decisions for the reference.
enum CrewPolicy {
  /// The serial number of badges that the policy deletes.
  private static let unwantedSerial = 8

  /// The policy, written as a program would write it.
  ///
  /// The policy adds up the changes to serial numbers, and keeps the notes and mentors that another
  /// context has saved. It decides about deletions by class.
  static let policy = MergePolicy.custom { conflict in
    switch conflict.entityName {
    case "CrewTag" where conflict.isDeletedHere: conflict.isDeleted = false
    case "CrewTeam" where conflict.theirs == nil: conflict.isDeleted = true
    case "CrewBadge":
      guard case .integer(let mine)? = conflict.mine["stamp.serial"],
        case .integer(let base)? = conflict.base["stamp.serial"],
        case .integer(let theirs)? = conflict.theirs?["stamp.serial"]
      else { return }
      if mine == unwantedSerial { conflict.isDeleted = true }
      conflict.result["stamp.serial"] = .integer(theirs &+ mine &- base)
    case "CrewMember", "CrewChief":
      guard !conflict.isDeletedHere, let theirs = conflict.theirs else { return }
      conflict.result["note"] = theirs["note"]
      conflict.resultReferences["mentor"] = .some(conflict.theirReferences?["mentor"])
    default: break
    }
  }

  /// Returns whether an object keeps its row if it was deleted here and changed by another context.
  static func keeps(_ kind: CrewKind) -> Bool { kind == .tag }

  /// Returns whether an object is deleted if it was edited here and changed by another context.
  static func deletes(_ mine: CrewRow, _ theirs: CrewRow?) -> Bool {
    switch mine.kind {
    case .team: theirs == nil
    case .badge: theirs != nil && mine[.serial] == .integer(unwantedSerial)
    case .member, .chief, .job, .tag: false
    }
  }

  /// Returns the value that the policy sets for an attribute, or `nil` if it sets none.
  static func value(
    _ field: CrewField, _ base: CrewRow, _ mine: CrewRow, _ theirs: CrewRow
  ) -> CrewValue? {
    switch field {
    case .note: return theirs[.note]
    case .serial:
      guard case .integer(let mine) = mine[.serial], case .integer(let base) = base[.serial],
        case .integer(let theirs) = theirs[.serial]
      else { return nil }
      return .integer(theirs &+ mine &- base)
    default: return nil
    }
  }
}
