/// One keyspace in a snapshot: an ordered map from keys to bytes.
///
/// It holds its snapshot, and with it the generation. Any number of threads may use it
/// concurrently.
public struct KeyspaceReader: @unchecked Sendable {
  // @unchecked because the view in `reads` is a pointer into the snapshot, which is immutable.
  let snapshot: Snapshot
  @usableFromInline let reads: KeyspaceReads
  private let rowCount: UInt64

  init(snapshot: Snapshot, row: Catalog.Row) {
    self.snapshot = snapshot
    reads = KeyspaceReads(view: snapshot.state.view, root: row.root)
    rowCount = row.count
  }

  /// The number of keys.
  ///
  /// - Complexity: O(1), no page read.
  public func count() throws -> Int {
    try snapshot.requireCurrent()
    return Int(clamping: rowCount)
  }

  /// Calls `body` for every entry in a range of keys, in key order, until it returns false.
  ///
  /// The spans contain the encoded key (see ``Key/decode(_:as:)``) and the value; both are valid
  /// during the call only.
  ///
  /// - Parameters:
  ///   - lower: The first key to pass; `nil` starts at the first key.
  ///   - upper: The first key after the range; `nil` extends to the end.
  ///   - reversed: Whether to pass the same range from the last entry to the first.
  ///   - body: Called with each entry; returns whether to continue.
  /// - Complexity: Each page of the range is read once.
  public func forEach(
    from lower: Key? = nil, upTo upper: Key? = nil, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    try reads.forEach(from: lower, upTo: upper, reversed: reversed, savesKey: false, body)
  }

  /// Returns a cursor over this keyspace, before the first entry.
  public func cursor() -> Cursor { Cursor(reads, owner: .snapshot(snapshot)) }
}

extension Snapshot {
  /// Returns the keyspace with this name, or `nil` if this generation has none.
  ///
  /// - Throws: `corrupt` or `io` if the catalog cannot be read.
  /// - Complexity: One page read for each level of the catalog, commonly one.
  public func keyspace(_ name: String) throws -> KeyspaceReader? {
    guard let row = try Catalog.row(name, in: state.view) else { return nil }
    return KeyspaceReader(snapshot: self, row: row)
  }

  /// The names of all keyspaces, in order.
  public var keyspaceNames: [String] {
    get throws { try Catalog.rows(in: state.view).map(\.name) }
  }
}
