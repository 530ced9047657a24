import Heartwood
import HeartwoodEngine

/// The `diff` command, which shows the objects that differ between two generations, value by value.
enum DiffCommand {
  private struct Document: Encodable {
    let from: UInt64
    let to: UInt64
    let changes: [ObjectDifference]
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
      var all: [ObjectDifference] = []
      for ids in [changes.inserted, Set(changes.updated.keys), changes.deleted] {
        for id in ids.sorted(by: { $0.description < $1.description }) {
          let change = ObjectDifference(
            id, try before.values(of: id), try after.values(of: id))
          switch RowFormat(invocation) {
          case .json: all.append(change)
          case .jsonLines: try output.line(try JSONText.line(of: change))
          case .table, .csv, .markdown: try output.write(DifferenceText.of(change))
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
}
