extension KeyspaceWriter {
  /// Bulk-loads an empty keyspace from entries sorted in strictly ascending key order.
  ///
  /// Loading is several times faster than calling `put` for each entry. A bulk load fills every
  /// page except the last one.
  ///
  /// - Throws: `invalidArgument` if the keyspace is not empty or a key is not greater than the
  ///   previous key, or `tooLarge` if a key or a value exceeds its limit. After an error, the
  ///   transaction can only be rolled back.
  /// - Complexity: Each page of the new tree is written once.
  @inlinable
  public func load(sorted entries: some Sequence<(Key, [UInt8])>) throws {
    try load { loader in
      for (key, value) in entries { try loader.append(key, value.span.bytes) }
    }
  }

  /// Bulk-loads an empty keyspace with the entries that `body` appends.
  ///
  /// The entries must be in strictly ascending key order.
  ///
  /// ```swift
  /// try transaction.keyspace("numbers").load { loader in
  ///   for number in 0..<1_000_000 { try loader.append(number, bytes.span.bytes) }
  /// }
  /// ```
  ///
  /// Unlike ``load(sorted:)``, this method accepts values that are not in arrays, so it allocates
  /// no memory per entry. Several keyspaces can be loaded at the same time by nesting the closures.
  ///
  /// - Precondition: Within `body`, no other code uses the keyspace, and no savepoint begins.
  /// - Throws: `invalidArgument` if the keyspace is not empty, or any error that `body` throws.
  ///   After an error, the transaction can only be rolled back.
  /// - Complexity: Each page of the new tree is written once.
  public func load(_ body: (inout KeyspaceLoader) throws -> Void) throws {
    try fill(KeyspaceLoader(self, isEmpty: true), body)
  }

  /// Appends entries after the last key of the keyspace.
  ///
  /// `body` must pass the entries to the loader in strictly ascending key order. This method works
  /// like ``load(_:)``, but the keyspace may already have entries.
  ///
  /// - Precondition: The same as for ``load(_:)``.
  /// - Throws: Any error that `body` throws. After an error, the transaction can only be rolled
  ///   back.
  /// - Complexity: Writes each new page once, and rewrites the leaf that was previously the last
  ///   one.
  public func append(_ body: (inout KeyspaceLoader) throws -> Void) throws {
    try fill(KeyspaceLoader(self, isEmpty: false), body)
  }

  private func fill(
    _ loader: consuming KeyspaceLoader, _ body: (inout KeyspaceLoader) throws -> Void
  ) throws {
    var loader = loader
    defer { keyspace.isLoading = false }
    do { try body(&loader) } catch {
      // Abort the load, so that the transaction cannot commit an incomplete tree.
      try? loader.abort()
      throw error
    }
    try loader.finish()
  }
}

/// A bulk load in progress.
///
/// The closures of ``KeyspaceWriter/load(_:)`` and ``KeyspaceWriter/append(_:)`` receive a loader,
/// which can be used only within the closure.
public struct KeyspaceLoader: ~Copyable {
  private let session: WriteSession
  private let keyspace: OpenKeyspace
  private var builder: TreeBuilder
  private var count: UInt64

  /// Creates a loader that begins a bulk load of a keyspace.
  ///
  /// If `isEmpty` is true, the keyspace must be empty.
  init(_ writer: KeyspaceWriter, isEmpty: Bool) throws {
    writer.requireOpen()
    let (session, keyspace) = (writer.session, writer.keyspace)
    guard !isEmpty || keyspace.row.count == 0 else {
      throw StorageError(
        .invalidArgument,
        "Only an empty keyspace can be bulk-loaded, but this one already has keys (count: "
          + "\(keyspace.row.count)). To add more, use `append` or `put`.")
    }
    let builder = try session.changing { () throws(StorageError) in
      isEmpty
        ? try TreeBuilder(pages: session.pages, root: keyspace.row.root)
        : try TreeBuilder(continuing: keyspace.row.root, pages: session.pages)
    }
    keyspace.isLoading = true
    self.session = session
    self.keyspace = keyspace
    self.builder = builder
    count = keyspace.row.count
  }

  /// Appends a key and its value.
  ///
  /// The value may be borrowed from this transaction.
  ///
  /// - Throws: `invalidArgument` if the key is not greater than the previous key, or `tooLarge` if
  ///   the key or the value exceeds its limit. After an error, the transaction can only be rolled
  ///   back.
  @inlinable
  public mutating func append<K: LookupKey & ~Escapable>(_ key: K, _ value: RawSpan) throws {
    try key.encoded { key throws(StorageError) in try add(key, value) }
  }

  @usableFromInline
  mutating func add(_ key: borrowing EncodedKey, _ value: RawSpan) throws(StorageError) {
    let key = key.bytes
    let isAppended = value.withBytes { builder.appendInPlace(key: SearchKey(key), value: $0) }
    if !isAppended { try appendToNewLeaf(key, value) }
    count += 1
  }

  /// Appends an entry to a new leaf.
  ///
  /// The method writes full pages to the log while they are still in the processor's caches.
  @inline(never)
  private mutating func appendToNewLeaf(_ key: Bytes, _ value: RawSpan) throws(StorageError) {
    try session.changing { () throws(StorageError) in
      try value.withBytes { value throws(StorageError) in
        try builder.append(key: SearchKey(key), value: value)
      }
      try session.pages.makeRoom(above: Self.memoryByteCount / session.pages.view.pageByteCount)
    }
  }

  /// The maximum size in bytes of the loaded pages that are kept in memory.
  private static let memoryByteCount = 1 << 20

  func finish() throws {
    try session.changing { () throws(StorageError) in
      try builder.finish()
      // If no entries were added, leave `hasNewCount` unchanged, because an earlier change in this
      // transaction may have set it.
      guard keyspace.row.count != count else { return }
      keyspace.row.count = count
      keyspace.hasNewCount = true
    }
  }

  /// Always throws an error, so that the transaction cannot be committed.
  func abort() throws {
    try session.changing { () throws(StorageError) in
      throw StorageError(
        .invalidArgument,
        "A bulk load failed, but its error was caught, so the transaction cannot be committed. "
          + "Rethrow errors from bulk loads, and run the transaction again.")
    }
  }
}
