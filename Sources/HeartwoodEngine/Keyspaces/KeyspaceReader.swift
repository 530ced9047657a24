/// One keyspace in a snapshot: an ordered map from keys to bytes.
///
/// A reader retains its snapshot, and the snapshot keeps its generation live. Any number of threads
/// may use a reader concurrently.
public struct KeyspaceReader: @unchecked Sendable {
  // `@unchecked` is safe because the view in `reads` points into the snapshot, and the snapshot is
  // immutable.
  let snapshot: Snapshot
  @usableFromInline let reads: KeyspaceReads
  private let rowCount: UInt64

  init(snapshot: Snapshot, row: Catalog.Row) {
    self.snapshot = snapshot
    reads = KeyspaceReads(view: snapshot.state.view, root: row.root)
    rowCount = row.count
  }

  /// Returns the number of keys.
  ///
  /// - Complexity: O(1). No page is read.
  public func count() throws -> Int {
    try snapshot.requireCurrent()
    return Int(clamping: rowCount)
  }

  /// Calls `body` for every entry in a range of keys, in key order, until `body` returns `false`.
  ///
  /// The spans contain the encoded key (see ``Key/decode(_:as:)``) and the value. Both spans are
  /// valid only during the call.
  ///
  /// - Parameters:
  ///   - lower: The inclusive lower bound, or `nil` to start at the first key of the keyspace.
  ///   - upper: The exclusive upper bound, or `nil` to continue to the end of the keyspace.
  ///   - reversed: Whether to iterate from the last entry of the range to the first.
  ///   - body: A closure that is called with each entry, and returns whether to continue.
  /// - Complexity: Each page of the range is read once.
  public func forEach(
    from lower: Key? = nil, upTo upper: Key? = nil, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    try reads.forEach(from: lower, upTo: upper, reversed: reversed, in: nil, body)
  }

  /// Returns a cursor over this keyspace, positioned before the first entry.
  public func cursor() -> Cursor { Cursor(reads, owner: .snapshot(snapshot)) }
}

extension Snapshot {
  /// Returns the keyspace with the given name, or `nil` if it does not exist in this generation.
  ///
  /// - Throws: `corrupt` or `io` if the catalog cannot be read.
  /// - Complexity: One page read for each level of the catalog, which usually has one level.
  public func keyspace(_ name: String) throws -> KeyspaceReader? {
    guard let row = try Catalog.row(name, in: state.view) else { return nil }
    return KeyspaceReader(snapshot: self, row: row)
  }

  /// The names of all keyspaces, sorted by their UTF-8 bytes.
  public var keyspaceNames: [String] {
    get throws { try Catalog.rows(in: state.view).map(\.name) }
  }
}
