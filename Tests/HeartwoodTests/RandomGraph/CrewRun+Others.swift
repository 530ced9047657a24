import Foundation
import Heartwood

extension CrewRun {
  /// Adopts the changes that other processes saved, or the content of a store that was just opened.
  func adopt() throws {
    for object in try CrewAccess.all(containers[0].newContext())
    where tagsByID[object.objectID] == nil {
      try name(newTag(), object)
    }
    let found = try stored()
    for row in found.rows.values where row.kind.isMember { tokens.insert(row[.token]) }
    // If a store was just opened, its history may lack earlier transactions.
    let isNew = historyToken == nil
    let new = try containers[0].fetchHistory(after: historyToken)
    historyToken = try containers[0].currentHistoryToken
    var written: [Int: Set<String>] = [:]
    for change in new.flatMap(\.changes) {
      // An object without a tag was both created and deleted since the last call.
      guard let tag = tagsByID[change.objectID] else { continue }
      var names: Set<String> = ["inserted or deleted"]
      if case .update(let updated) = change.kind {
        names = updated.subtracting(["search", "jobCount", "size"])
      }
      written[tag, default: []].formUnion(names)
    }
    let difference = store.adopt(
      found, written: Set(written.filter { !$0.value.isEmpty }.keys))
    transactions[store.generation, default: []] += new
    record("others have saved: \(difference)")
    if !isNew { try expectWritten(written, difference) }
  }

  /// Expects the history to report all changes by other processes.
  private func expectWritten(_ written: [Int: Set<String>], _ difference: CrewDifference) throws {
    for tag in difference.inserted.union(difference.deleted) where written[tag] == nil {
      throw CrewMismatch("the history does not name \(tag), which others created or deleted")
    }
    for (tag, all) in difference.updated {
      // Clearing a reference whose target was deleted does not require a write.
      let names = all.subtracting(["mentor"])
      let reported = written[tag] ?? []
      guard reported.contains("inserted or deleted") || reported.isSuperset(of: names) else {
        throw CrewMismatch(
          "the history says of \(tag) \(reported), but others changed \(names)")
      }
    }
  }
}
