/// A movable position in a keyspace for reading entries in ascending or descending key order.
///
/// A cursor is not `Sendable`: only one thread at a time may use it. A transaction's cursor
/// reflects the transaction's changes. After a change, the cursor uses its current key to find its
/// position again. Do not use a cursor after the transaction's closure has returned, after its
/// keyspace has been removed, or while the keyspace is being bulk-loaded.
public final class Cursor {
  enum Owner {
    case snapshot(Snapshot)
    case transaction(KeyspaceScope)
  }

  private let reads: KeyspaceReads
  private let owner: Owner
  private let cursor: TreeCursor
  private var isPositioned = false

  init(_ reads: KeyspaceReads, owner: Owner) {
    self.reads = reads
    self.owner = owner
    var savesKey = false
    if case .transaction = owner { savesKey = true }
    cursor = TreeCursor(view: reads.view, root: reads.root, savesKey: savesKey)
  }

  // Release the leaf before the stored properties are destroyed, because releasing it uses memory
  // that `owner` keeps alive, and `owner` may be destroyed before `cursor`.
  deinit { cursor.releaseLeaf() }

  /// Traps if the transaction has ended, or if the cursor's keyspace was removed or is being
  /// bulk-loaded.
  ///
  /// The method throws `forked` in a child process, or `generationExpired` if the generation
  /// expired when the store was suspended.
  private func checkMove() throws(StorageError) {
    check()
    try reads.view.requireCurrent()
  }

  /// Checks that the cursor may still be used, and marks it as positioned.
  private func begin() throws(StorageError) {
    try checkMove()
    isPositioned = true
  }

  private func check() {
    if case .transaction(let keyspace) = owner { keyspace.requireUsable() }
  }

  /// Moves to the first entry whose key is at least `key`, or returns `false` if there is none.
  @discardableResult
  public func seek(_ key: Key) throws -> Bool {
    try begin()
    return try withSearchBytes(key) { key throws(StorageError) in
      try cursor.seek(SearchKey(key))
    }
  }

  /// Moves to the last entry whose key is less than `key`, or returns `false` if there is none.
  @discardableResult
  public func seek(before key: Key) throws -> Bool {
    try begin()
    return try withSearchBytes(key) { key throws(StorageError) in
      try cursor.seekBefore(SearchKey(key))
    }
  }

  /// Moves to the first entry, or returns `false` if the keyspace is empty.
  @discardableResult
  public func moveToFirst() throws -> Bool {
    try begin()
    return try cursor.moveToFirst()
  }

  /// Moves to the last entry, or returns `false` if the keyspace is empty.
  @discardableResult
  public func moveToLast() throws -> Bool {
    try begin()
    return try cursor.moveToLast()
  }

  /// Moves to the next entry, or to the first entry if the cursor has not been positioned yet.
  ///
  /// The method returns `false` if there is no such entry.
  @discardableResult
  public func moveToNext() throws -> Bool {
    if !isPositioned { return try moveToFirst() }
    try checkMove()
    return try cursor.moveToNext()
  }

  /// Moves to the previous entry, or to the last entry if the cursor has not been positioned yet.
  ///
  /// The method returns `false` if there is no such entry.
  @discardableResult
  public func moveToPrevious() throws -> Bool {
    if !isPositioned { return try moveToLast() }
    try checkMove()
    return try cursor.moveToPrevious()
  }

  /// A Boolean value that indicates whether the cursor is positioned at an entry.
  public var isValid: Bool {
    check()
    return isPositioned && reads.view.isCurrent && cursor.isValid
  }

  /// The encoded key of the current entry, or `nil` if the cursor is not at an entry.
  public var key: [UInt8]? { isValid ? cursor.key.copied() : nil }

  /// A copy of the current entry's value, or `nil` if the cursor is not at an entry.
  ///
  /// - Throws: `tooLarge` if the value is too long to be copied, `corrupt` if a page of the value
  ///   is corrupt, or `io` if a page cannot be read.
  public var value: [UInt8]? {
    get throws {
      try checkMove()
      guard let found = try cursor.value() else { return nil }
      guard found.isOverflow else { return found.value.copied() }
      return try reads.copiedValue(found.value)
    }
  }

  /// Passes the current entry's encoded key and value to `body`, and returns the result of `body`.
  ///
  /// The method returns `nil` if the cursor is not at an entry. A value that fits in a page is not
  /// copied. The spans are valid only during the call. In a transaction, the spans also become
  /// invalid when the transaction makes a change.
  ///
  /// - Throws: `tooLarge` if the value is too long to be copied, `corrupt` if a page of the value
  ///   is corrupt, `io` if a page cannot be read, or any error that `body` throws.
  /// - Complexity: No page reads if the value is stored in the leaf.
  public func withEntry<R>(_ body: (_ key: RawSpan, _ value: RawSpan) throws -> R) throws -> R? {
    try checkMove()
    guard let found = try cursor.value() else { return nil }
    guard found.isOverflow else {
      return try body(cursor.key.buffer.bytes, found.value.buffer.bytes)
    }
    return try reads.large(found.value).use { try body(cursor.key.buffer.bytes, $0) }
  }
}
