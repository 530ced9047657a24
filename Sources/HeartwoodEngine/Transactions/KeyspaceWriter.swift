/// A keyspace that can be read and changed in a write transaction.
///
/// A keyspace is an ordered map. Reads see the transaction's own changes. After the transaction's
/// closure has returned, any use of the keyspace traps.
public struct KeyspaceWriter {
  let session: WriteSession
  let keyspace: OpenKeyspace

  @usableFromInline var reads: KeyspaceReads {
    requireOpen()
    return KeyspaceReads(view: session.pages.view, root: keyspace.row.root)
  }

  func requireOpen() { keyspace.requireUsable() }

  /// Returns the number of keys.
  ///
  /// - Complexity: O(1), without a page read.
  public func count() throws -> Int {
    requireOpen()
    return Int(clamping: keyspace.row.count)
  }

  /// Calls `body` for every entry in a range of keys, in key order, until `body` returns `false`.
  ///
  /// `body` may change the keyspace, but must not remove it. The iteration includes entries that
  /// `body` adds after the current entry, and skips entries that `body` removes. The spans become
  /// invalid when `body` returns or makes a change.
  public func forEach(
    from lower: Key? = nil, upTo upper: Key? = nil, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    try reads.forEach(from: lower, upTo: upper, reversed: reversed, in: keyspace, body)
  }

  /// Returns a cursor over this keyspace, positioned before the first entry.
  public func cursor() -> Cursor { Cursor(reads, owner: .transaction(keyspace)) }

  func put(_ key: Bytes, _ value: Bytes) throws(StorageError) {
    requireOpen()
    try Limits.requireValue(byteCount: value.count)
    try session.changing { () throws(StorageError) in
      if try keyspace.writer.put(SearchKey(key), value) { keyspace.noteInserted() }
    }
  }
}
