import Heartwood

/// The custom merge policy of the random graph, as a program would write it and as a reference.
enum CrewPolicy {
  /// The serial number of badges that the policy deletes.
  private static let unwantedSerial = 8

  /// Adds up changes of serial numbers, keeps the notes and mentors that others have set, and
  /// decides about deletions by class.
  static let policy = MergePolicy.custom { conflict in
    switch conflict.entityName {
    case "CrewTag" where conflict.isDeletedHere: conflict.isDeleted = false
    case "CrewTeam" where conflict.theirs == nil: conflict.isDeleted = true
    case "CrewBadge":
      guard case .integer(let mine)? = conflict.mine["serial"],
        case .integer(let base)? = conflict.base["serial"],
        case .integer(let theirs)? = conflict.theirs?["serial"]
      else { return }
      if mine == unwantedSerial { conflict.isDeleted = true }
      conflict.result["serial"] = .integer(theirs &+ mine &- base)
    case "CrewMember", "CrewChief":
      guard !conflict.isDeletedHere, let theirs = conflict.theirs else { return }
      conflict.result["note"] = theirs["note"]
      conflict.resultReferences["mentor"] = .some(conflict.theirReferences?["mentor"])
    default: break
    }
  }

  /// Returns whether an object that was deleted here and changed by others keeps its row.
  static func keeps(_ kind: CrewKind) -> Bool { kind == .tag }

  /// Returns whether the row of an object that was edited here and changed by others is deleted.
  static func deletes(_ mine: CrewRow, _ theirs: CrewRow?) -> Bool {
    switch mine.kind {
    case .team: theirs == nil
    case .badge: theirs != nil && mine[.serial] == .integer(unwantedSerial)
    case .member, .chief, .job, .tag: false
    }
  }

  /// Returns the value that the policy sets, or `nil` if it sets none.
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
