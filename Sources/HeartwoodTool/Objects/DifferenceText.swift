import Heartwood

/// The differences between two states of an object, as readable text.
enum DifferenceText {
  private static let valueWidth = 60
  /// The maximum number of added and removed members to show for a relationship.
  private static let memberLimit = 20

  /// Returns a line for the object, followed by a line for each value that differs.
  static func of(_ change: ObjectDifference) -> String {
    let sign = ["inserted": "+", "deleted": "-"][change.operation] ?? "~"
    var text = "\(sign) \(QuotedText.escaped(change.id))\n"
    let names = Set((change.before ?? [:]).keys).union((change.after ?? [:]).keys).sorted()
    for name in names {
      let value = value(change.before?[name], change.after?[name])
      text += "    \(QuotedText.escaped(name)): \(value)\n"
    }
    return text
  }

  private static func value(_ before: ObjectValue?, _ after: ObjectValue?) -> String {
    if case .objects(let before)? = before, case .objects(let after)? = after {
      return members(before, after)
    }
    return [before, after].compactMap { value in
      value.map { CellText($0).fitted(to: valueWidth) }
    }.joined(separator: " -> ")
  }

  private static func members(_ before: [ManagedObjectID], _ after: [ManagedObjectID]) -> String {
    let (old, new) = (Set(before), Set(after))
    let changes =
      after.filter { !old.contains($0) }.map { "+" + $0.shortText }
      + before.filter { !new.contains($0) }.map { "-" + $0.shortText }
    guard !changes.isEmpty else { return "changed order" }
    let rest = changes.count - memberLimit
    return changes.prefix(memberLimit).map(QuotedText.escaped).joined(separator: " ")
      + (rest > 0 ? " and \(HumanText.count(rest)) more" : "")
  }
}
