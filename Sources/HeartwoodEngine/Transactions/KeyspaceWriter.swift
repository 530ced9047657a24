/// One keyspace within a transaction: an ordered map that can be changed.
///
/// It sees the transaction's own changes. It must not be used after the transaction's closure;
/// doing so traps.
public struct KeyspaceWriter {
  let session: WriteSession
  let keyspace: OpenKeyspace

  /// Reads as of this moment of the transaction.
  var reads: KeyspaceReads {
    requireOpen()
    return KeyspaceReads(view: session.pages.view, root: keyspace.row.root)
  }

  func requireOpen() {
    session.requireOpen()
    precondition(!keyspace.isRemoved, "a keyspace was used after it was removed")
  }

  /// The number of keys.
  ///
  /// - Complexity: O(1), no page read.
  public func count() throws -> Int {
    requireOpen()
    return Int(clamping: keyspace.row.count)
  }

  /// Calls `body` for every entry in a range of keys, in key order, until it returns false.
  ///
  /// `body` may change the keyspace; entries it adds or removes ahead are seen. The spans are valid
  /// until it does.
  public func forEach(
    from lower: Key? = nil, upTo upper: Key? = nil, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    try reads.forEach(from: lower, upTo: upper, reversed: reversed, savesKey: true, body)
  }

  /// A cursor over this keyspace, in front of the first entry.
  public func cursor() -> Cursor { Cursor(reads, owner: .transaction(session.scope)) }

  /// Fills an empty keyspace from entries in strictly ascending key order, leaf by leaf.
  ///
  /// Several times faster than as many `put`s, and every page but the last is full.
  ///
  /// - Throws: `invalidArgument` if the keyspace is not empty or a key does not follow the one
  ///   before; `tooLarge` for a key or value over its limit. Then, or when the sequence's own code
  ///   throws, the transaction can only be given up.
  /// - Complexity: Each page of the new tree is written once.
  public func load(sorted entries: some Sequence<(Key, [UInt8])>) throws {
    requireOpen()
    guard keyspace.row.count == 0 else {
      throw StorageError(
        .invalidArgument,
        "Only an empty keyspace can be loaded; this one has "
          + "\(keyspace.row.count) keys. Use `put`.")
    }
    try session.changing { () throws(StorageError) in
      var builder = try TreeBuilder(pages: session.pages, root: keyspace.row.root)
      var count: UInt64 = 0
      for (key, value) in entries {
        try withSearchBytes(key) { key throws(StorageError) in
          try value.withBytes { value throws(StorageError) in
            try builder.append(key: SearchKey(key), value: value)
          }
        }
        try session.pages.makeRoom()
        count += 1
      }
      try builder.finish()
      keyspace.row.count = count
      keyspace.hasNewCount = count > 0
    }
  }

  func put(_ key: Bytes, _ value: Bytes) throws(StorageError) {
    requireOpen()
    guard value.count <= Limits.maxValueByteCount else {
      throw StorageError(
        .tooLarge,
        "The value has \(value.count) bytes; the limit is \(Limits.maxValueByteCount).")
    }
    try session.changing { () throws(StorageError) in
      if try keyspace.writer.put(SearchKey(key), value) {
        keyspace.row.count += 1
        keyspace.hasNewCount = true
      }
    }
  }

  func delete(_ key: Bytes) throws(StorageError) -> Bool {
    requireOpen()
    return try session.changing { () throws(StorageError) in
      guard try keyspace.writer.delete(SearchKey(key)) else { return false }
      keyspace.row.count -= 1
      keyspace.hasNewCount = true
      return true
    }
  }
}
