extension KeyspaceWriter {
  /// Fills an empty keyspace from entries in strictly ascending key order, leaf by leaf.
  ///
  /// Several times faster than as many `put`s, and every page but the last is full.
  ///
  /// - Throws: `invalidArgument` if the keyspace is not empty or a key does not follow the one
  ///   before; `tooLarge` for a key or value over its limit. Then, or when the sequence's own code
  ///   throws, the transaction can only be given up.
  /// - Complexity: Each page of the new tree is written once.
  @inlinable
  public func load(sorted entries: some Sequence<(Key, [UInt8])>) throws {
    var loading = try SortedLoading(self)
    for (key, value) in entries { try loading.append(key, value) }
    try loading.finish()
  }
}

/// Entries on their way into an empty keyspace, one after the other.
///
/// Apart from the loop over them, which is compiled where it is used: for entries of unknown type
/// it takes as long as all the rest.
@usableFromInline
struct SortedLoading {
  private let session: WriteSession
  private let keyspace: OpenKeyspace
  private var builder: TreeBuilder
  private var count: UInt64 = 0

  @usableFromInline
  init(_ writer: KeyspaceWriter) throws {
    writer.requireOpen()
    let (session, keyspace) = (writer.session, writer.keyspace)
    guard keyspace.row.count == 0 else {
      throw StorageError(
        .invalidArgument,
        "Only an empty keyspace can be loaded; this one has "
          + "\(keyspace.row.count) keys. Use `put`.")
    }
    self.session = session
    self.keyspace = keyspace
    builder = try session.changing { () throws(StorageError) in
      try TreeBuilder(pages: session.pages, root: keyspace.row.root)
    }
  }

  @usableFromInline
  mutating func append(_ key: Key, _ value: [UInt8]) throws {
    try session.changing { () throws(StorageError) in
      try withSearchBytes(key) { key throws(StorageError) in
        try value.withBytes { value throws(StorageError) in
          try builder.append(key: SearchKey(key), value: value)
        }
      }
    }
    count += 1
  }

  @usableFromInline
  func finish() throws {
    try session.changing { () throws(StorageError) in
      try builder.finish()
      keyspace.row.count = count
      keyspace.hasNewCount = count > 0
    }
  }
}
