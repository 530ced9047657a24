import HeartwoodEngine

/// The `keys` command, which lists the keyspaces of a store, or the keys of one keyspace.
enum KeysCommand {
  private struct Keyspaces: Encodable {
    struct Row: Encodable {
      let name: String
      let entryCount: Int
    }

    let generation: UInt64
    let keyspaces: [Row]
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    try StoreAccess.withStore(invocation.path, for: .reading) { store in
      let snapshot = try StoreAccess.snapshot(of: store, invocation)
      if let name = invocation[.keyspace] {
        let keyspace = try StoreAccess.keyspace(name, of: snapshot)
        try list(keyspace, name, of: snapshot, invocation, output)
      } else {
        try list(snapshot, invocation, output)
      }
      // Flush the output now, because buffered output would be lost if closing the store failed.
      try output.flush()
    }
  }

  private static func list(
    _ snapshot: Snapshot, _ invocation: Invocation, _ output: Output
  ) throws {
    let rows = try snapshot.keyspaceNames.map { name in
      Keyspaces.Row(name: name, entryCount: try snapshot.keyspace(name)?.count() ?? 0)
    }
    let shown = rows.prefix(invocation.limit ?? .max)
    if invocation.wantsJSON {
      return try output.json(
        Keyspaces(generation: snapshot.generation.frame, keyspaces: Array(shown)))
    }
    guard !shown.isEmpty else { return try output.line("no keyspaces") }
    var table = TextTable(["keyspace": .left, "entries": .right])
    for row in shown {
      table.append([QuotedText.escaped(row.name), HumanText.count(row.entryCount)])
    }
    try output.line(table.text())
  }

  private static func list(
    _ keyspace: KeyspaceReader, _ name: String, of snapshot: Snapshot, _ invocation: Invocation,
    _ output: Output
  ) throws {
    let walk = KeyspaceWalk(keyspace, from: invocation.from, limit: invocation.limit)
    guard invocation.wantsJSON else {
      return try walk.forEachKey { try output.line(KeyNotation.text(of: $0)) }
    }
    let document = EntryDocument(snapshot.generation, output)
    try document.begin()
    try document.begin(name, entryCount: try keyspace.count())
    try walk.forEachKey { try document.add(EntryDocument.Entry(key: $0, value: nil)) }
    try document.endKeyspace()
    try document.end()
  }
}
