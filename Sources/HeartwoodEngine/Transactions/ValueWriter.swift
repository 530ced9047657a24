/// A writer that stores a value in chunks, for use in the closure of
/// ``KeyspaceWriter/put(_:byteCount:_:)``.
///
/// A writer cannot be copied or kept for later use.
public struct ValueWriter: ~Copyable {
  private let session: WriteSession
  private let keyspace: OpenKeyspace
  private let byteCount: Int
  /// The number of savepoints that were open when this writer was created.
  private let savepointCount: Int
  private var givenByteCount = 0
  /// The bytes appended so far to a value that is small enough to be stored in its leaf.
  private var collected: [UInt8] = []
  /// The writer of overflow pages, or `nil` if the value is stored in its leaf.
  private var overflow: OverflowWriter?

  init(
    session: WriteSession, keyspace: OpenKeyspace, key: Bytes, byteCount: Int
  ) throws(StorageError) {
    self.session = session
    self.keyspace = keyspace
    self.byteCount = byteCount
    savepointCount = session.pages.savepoints.count
    let fitsInline = NodeLayout.fitsInline(
      keyCount: key.count, valueCount: byteCount, pageByteCount: session.pages.view.pageByteCount)
    if fitsInline {
      collected.reserveCapacity(byteCount)
    } else {
      overflow = try session.changing { () throws(StorageError) in
        try OverflowWriter(pages: session.pages, tree: keyspace.row.root.tree, length: byteCount)
      }
    }
  }

  /// Appends the bytes of a span to the value.
  ///
  /// - Precondition: The same savepoints are open as when this writer was created.
  /// - Throws: `invalidArgument` if more bytes are written than were declared; in that case,
  ///   nothing is appended. Throws `io` or `diskFull` if a page cannot be allocated or spilled to
  ///   the log. After either of these two errors, the transaction can only be rolled back.
  /// - Complexity: Writes each page of the value once, during or before the commit.
  public mutating func append(_ bytes: RawSpan) throws {
    try bytes.withBytes { bytes throws(StorageError) in try append(bytes) }
  }

  /// Appends bytes to the value.
  ///
  /// - Precondition: The same savepoints are open as when this writer was created.
  /// - Throws: The same errors as ``append(_:)-(RawSpan)``.
  public mutating func append(_ bytes: [UInt8]) throws {
    try bytes.withBytes { bytes throws(StorageError) in try append(bytes) }
  }

  /// Traps if the number of open savepoints has changed since this writer was created.
  ///
  /// Otherwise, a rollback could undo only part of the value.
  private func requireSameSavepoint() {
    precondition(
      session.pages.savepoints.count == savepointCount,
      "A value was started in one savepoint and continued in another. Write the complete value "
        + "within one savepoint.")
  }

  private mutating func append(_ chunk: Bytes) throws(StorageError) {
    session.requireOpen()
    requireSameSavepoint()
    guard chunk.count <= byteCount - givenByteCount else {
      throw StorageError(
        .invalidArgument,
        "The value is longer than declared: a chunk of \(chunk.count) bytes does not fit in the "
          + "remaining \(byteCount - givenByteCount) of \(byteCount) bytes. Pass the exact length "
          + "of the value to `put`.")
    }
    if overflow == nil { collected.append(contentsOf: chunk.buffer) }
    try session.changing { () throws(StorageError) in try overflow?.append(chunk) }
    givenByteCount += chunk.count
  }

  /// Stores the completed value under the given key.
  ///
  /// The method throws `invalidArgument` if the value is shorter than declared.
  mutating func finish(under key: Bytes, in writer: KeyspaceWriter) throws(StorageError) {
    precondition(
      writer.keyspace === keyspace,
      "A value writer was replaced with the writer of another keyspace. Use each writer only in "
        + "the closure that receives it.")
    requireSameSavepoint()
    guard givenByteCount == byteCount else {
      try discard()
      throw StorageError(
        .invalidArgument,
        "The value ended after \(givenByteCount) of the declared \(byteCount) bytes. Pass the "
          + "exact length of the value to `put`.")
    }
    guard let overflow else {
      return try collected.withBytes { value throws(StorageError) in try writer.put(key, value) }
    }
    try session.changing { () throws(StorageError) in
      if try keyspace.writer.put(SearchKey(key), overflow.finish()) { keyspace.noteInserted() }
    }
  }

  mutating func discard() throws(StorageError) {
    requireSameSavepoint()
    try session.changing { () throws(StorageError) in try overflow?.discard() }
    overflow = nil
  }
}
