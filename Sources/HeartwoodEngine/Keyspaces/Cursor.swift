/// A position in a keyspace that moves in both directions.
///
/// Not Sendable: one thread at a time. A cursor of a transaction sees the transaction's changes:
/// after a change it finds its position again by key. It must not be used after the transaction's
/// closure.
public final class Cursor {
  enum Owner {
    case snapshot(Snapshot)
    case transaction(TransactionScope)
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

  /// Traps if the transaction has ended; throws `forked` in a child of the process that created the
  /// cursor, and `generationExpired` if the store was suspended since.
  private func checkMove() throws(StorageError) {
    check()
    try reads.view.requireCurrent()
  }

  /// Prepares for a new position.
  private func begin() throws(StorageError) {
    try checkMove()
    isPositioned = true
  }

  private func check() {
    if case .transaction(let scope) = owner { scope.requireOpen() }
  }

  /// Moves to the first key that is not less than `key`; returns false if there is none.
  @discardableResult
  public func seek(_ key: Key) throws -> Bool {
    try begin()
    return try withSearchBytes(key) { key throws(StorageError) in
      try cursor.seek(SearchKey(key))
    }
  }

  /// Moves to the last key that is less than `key`; returns false if there is none.
  @discardableResult
  public func seek(before key: Key) throws -> Bool {
    try begin()
    return try withSearchBytes(key) { key throws(StorageError) in
      try cursor.seekBefore(SearchKey(key))
    }
  }

  /// Moves to the first entry; returns false if the keyspace is empty.
  @discardableResult
  public func moveToFirst() throws -> Bool {
    try begin()
    return try cursor.moveToFirst()
  }

  /// Moves to the last entry; returns false if the keyspace is empty.
  @discardableResult
  public func moveToLast() throws -> Bool {
    try begin()
    return try cursor.moveToLast()
  }

  /// Moves to the next entry, or to the first if the cursor is new; returns false at the end.
  @discardableResult
  public func moveToNext() throws -> Bool {
    if !isPositioned { return try moveToFirst() }
    try checkMove()
    return try cursor.moveToNext()
  }

  /// Moves to the previous entry, or to the last if the cursor is new; returns false at the start.
  @discardableResult
  public func moveToPrevious() throws -> Bool {
    if !isPositioned { return try moveToLast() }
    try checkMove()
    return try cursor.moveToPrevious()
  }

  /// Whether the cursor is at an entry.
  public var isValid: Bool { isPositioned && reads.view.isCurrent && cursor.isValid }

  /// The encoded key of the current entry, or `nil`.
  public var key: [UInt8]? {
    check()
    return isValid ? cursor.key.copied() : nil
  }

  /// A copy of the value of the current entry, or `nil`.
  ///
  /// - Throws: `tooLarge` for a value over the limit of copies; `corrupt` or `io`.
  public var value: [UInt8]? {
    get throws {
      try checkMove()
      guard isValid, let found = try cursor.value() else { return nil }
      guard found.isOverflow else { return found.value.copied() }
      return try reads.copiedValue(found.value)
    }
  }

  /// Passes the encoded key and the value of the current entry to `body`, or returns `nil` if the
  /// cursor is at no entry.
  ///
  /// A value that fits a page is not copied. The spans are valid during the call only, and in a
  /// transaction until it changes something.
  ///
  /// - Throws: `tooLarge` for a value over the limit of copies; `corrupt` or `io`; any error of
  ///   `body`.
  /// - Complexity: No page read for a value that is in its leaf.
  public func withEntry<R>(_ body: (_ key: RawSpan, _ value: RawSpan) throws -> R) throws -> R? {
    try checkMove()
    guard isValid, let found = try cursor.value() else { return nil }
    guard found.isOverflow else {
      return try body(cursor.key.buffer.bytes, found.value.buffer.bytes)
    }
    return try reads.large(found.value).use { try body(cursor.key.buffer.bytes, $0) }
  }
}
