import Heartwood
import HeartwoodEngine

/// `diff`: shows the objects that differ between two generations, value by value.
enum DiffCommand {
  private struct Document: Encodable {
    let from: UInt64
    let to: UInt64
    let changes: [Change]
  }

  private struct Change: Encodable {
    let id: String
    let operation: String
    let before: [String: ObjectValue]?
    let after: [String: ObjectValue]?
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    try StoreAccess.withStore(invocation.path, for: .reading) { store in
      let source = try StoreAccess.snapshot(of: store, at: invocation.required(.source), invocation)
      let target =
        try invocation[.target].map { try StoreAccess.snapshot(of: store, at: $0, invocation) }
        ?? store.snapshot()
      let before = try StoredObjects(store, at: source)
      let after = try StoredObjects(store, at: target)
      let changes = try before.changes(to: after)
      var all: [Change] = []
      for (ids, operation) in [
        (changes.inserted, "inserted"), (Set(changes.updated.keys), "updated"),
        (changes.deleted, "deleted"),
      ] {
        for id in ids.sorted(by: { $0.description < $1.description }) {
          let change = try Self.change(of: id, operation, before, after)
          switch RowFormat(invocation) {
          case .json: all.append(change)
          case .jsonLines: try output.line(try JSONText.line(of: change))
          case .table, .csv, .markdown: try write(change, output)
          }
        }
      }
      let (from, to) = (source.generation.frame, target.generation.frame)
      switch RowFormat(invocation) {
      case .json: try output.json(Document(from: from, to: to, changes: all))
      case .jsonLines: break
      case .table, .csv, .markdown:
        try output.line(
          "\(HumanText.count(changes.inserted.count)) inserted, "
            + "\(HumanText.count(changes.updated.count)) updated, "
            + "\(HumanText.count(changes.deleted.count)) deleted between generation \(from) and "
            + "generation \(to)")
      }
      try output.flush()
    }
  }

  /// Returns the values that an object has before and after a change; of an update, only those that
  /// differ.
  private static func change(
    of id: ManagedObjectID, _ operation: String, _ before: StoredObjects, _ after: StoredObjects
  ) throws -> Change {
    func values(_ objects: StoredObjects) throws -> [String: ObjectValue]? {
      try objects.values(of: id).map { Dictionary($0.map { ($0.name, $0.value) }) { $1 } }
    }
    var (old, new) = (try values(before), try values(after))
    if let first = old, let second = new {
      old = first.filter { name, value in second[name].map { !$0.isSame(as: value) } ?? true }
      new = second.filter { name, value in first[name].map { !$0.isSame(as: value) } ?? true }
    }
    return Change(id: id.shortText, operation: operation, before: old, after: new)
  }

  private static func write(_ change: Change, _ output: Output) throws {
    let sign = ["inserted": "+", "deleted": "-"][change.operation] ?? "~"
    try output.line("\(sign) \(QuotedText.escaped(change.id))")
    let names = Set((change.before ?? [:]).keys).union((change.after ?? [:]).keys).sorted()
    for name in names {
      func text(_ values: [String: ObjectValue]?) -> String? {
        values?[name].map { CellText($0).fitted(to: 60) }
      }
      let (old, new) = (text(change.before), text(change.after))
      let value = [old, new].compactMap(\.self).joined(separator: " -> ")
      try output.line("    \(QuotedText.escaped(name)): \(value)")
    }
  }
}
