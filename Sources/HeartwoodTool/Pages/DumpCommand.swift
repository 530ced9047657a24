import HeartwoodEngine

/// The `dump` command, which shows entries with their values.
enum DumpCommand {
  /// The number of rows whose columns are aligned with each other.
  ///
  /// Aligning all rows would require keeping them in memory, and a store can be larger than memory.
  private static let rowsInTable = 256
  /// The number of bytes to which values in a JSON document are truncated, unless complete values
  /// are requested.
  private static let byteCountInJSON = 100
  /// The minimum width of the value column, regardless of the length of the keys.
  private static let minValueWidth = 20

  static func run(_ invocation: Invocation, _ output: Output) throws {
    try StoreAccess.withStore(invocation.path, for: .reading) { store in
      let snapshot = try StoreAccess.snapshot(of: store, invocation)
      let names = try invocation[.keyspace].map { [$0] } ?? snapshot.keyspaceNames
      if invocation.wantsJSON {
        try writeDocument(names, snapshot, invocation, output)
      } else {
        try writeTables(names, snapshot, invocation, output)
      }
      // Flush the output now, because buffered output would be lost if closing the store failed.
      try output.flush()
    }
  }

  private static func writeDocument(
    _ names: [String], _ snapshot: Snapshot, _ invocation: Invocation, _ output: Output
  ) throws {
    let document = EntryDocument(snapshot.generation, output)
    try document.begin()
    for name in names {
      let keyspace = try StoreAccess.keyspace(name, of: snapshot)
      let walk = KeyspaceWalk(keyspace, from: invocation.from, limit: invocation.limit)
      try document.begin(name, entryCount: try keyspace.count())
      try walk.forEachEntry(upTo: invocation.has(.full) ? nil : byteCountInJSON) { key, value in
        try document.add(EntryDocument.Entry(key: key, value: value))
      }
      try document.endKeyspace()
    }
    try document.end()
  }

  private static func writeTables(
    _ names: [String], _ snapshot: Snapshot, _ invocation: Invocation, _ output: Output
  ) throws {
    if names.isEmpty { try output.line("no keyspaces") }
    for (position, name) in names.enumerated() {
      let keyspace = try StoreAccess.keyspace(name, of: snapshot)
      if position > 0 { try output.line() }
      try output.line(
        "\(QuotedText.escaped(name)) (\(HumanText.count(try keyspace.count(), "entry")))")
      var rows: [(key: String, value: ShownValue)] = []
      let walk = KeyspaceWalk(keyspace, from: invocation.from, limit: invocation.limit)
      // Read four bytes of the value per terminal column. This usually suffices to fill the line,
      // because a Unicode scalar takes at most four bytes in UTF-8.
      let byteLimit = invocation.has(.full) ? nil : output.width * 4
      try walk.forEachEntry(upTo: byteLimit) { key, value in
        rows.append((KeyNotation.text(of: key), value))
        // Complete values can be large, so write each value as soon as it is read.
        guard rows.count == rowsInTable || invocation.has(.full) else { return }
        try write(rows, isFull: invocation.has(.full), output)
        rows = []
      }
      try write(rows, isFull: invocation.has(.full), output)
    }
  }

  private static func write(
    _ rows: [(key: String, value: ShownValue)], isFull: Bool, _ output: Output
  ) throws {
    let sizes = rows.map { HumanText.size($0.value.byteCount) }
    // Limit the width, so that one long key does not push all values to the right.
    let keyWidth = min(rows.map(\.key.count).max() ?? 0, output.width / 3)
    let sizeWidth = sizes.map(\.count).max() ?? 0
    for (row, size) in zip(rows, sizes) {
      let start = "  \(row.key.padded(to: keyWidth))  \(size.leftPadded(to: sizeWidth))  "
      let width = max(output.width - start.count, minValueWidth)
      try output.line(start + row.value.text(width: isFull ? nil : width))
    }
  }
}
