/// A value found in a tree, with the page or buffer to release after use.
///
/// The type is trivial, so that reading one value involves no reference counting.
@usableFromInline
struct LocatedValue {
  @usableFromInline let bytes: UnsafeRawBufferPointer
  /// The page to release after use, or `nil` if the page is mapped or the value was copied.
  let reference: PageReference?
  /// A copy of the value if the value spans several pages, or `nil` otherwise.
  let copy: Unmanaged<ByteBlock>?
  let view: PageView

  /// Passes the value's bytes to `body`, and then releases the value's page or copy.
  @inlinable
  func use<R>(_ body: (RawSpan) throws -> R) rethrows -> R {
    defer { release() }
    return try body(bytes.bytes)
  }

  @usableFromInline
  func release() {
    if let reference { view.release(reference) }
    copy?.release()
  }
}

/// The read operations on one tree, in one state of the store, for snapshots and transactions.
@usableFromInline
package struct KeyspaceReads {
  let view: PageView
  let root: TreeRoot

  @inline(__always)
  private func find(_ key: borrowing EncodedKey) throws(StorageError) -> FoundValue? {
    try TreeReader(view: view, root: root).find(SearchKey(key.bytes))
  }

  /// Finds the value of an encoded key, or returns `nil` if the key does not exist.
  ///
  /// The caller must release the value.
  @usableFromInline
  func locate(_ key: borrowing EncodedKey) throws(StorageError) -> LocatedValue? {
    guard let found = try find(key) else { return nil }
    if found.isOverflow { return try overflow(found) }
    return LocatedValue(
      bytes: found.value.buffer, reference: found.reference, copy: nil, view: view)
  }

  @inline(never)
  private func overflow(_ found: FoundValue) throws(StorageError) -> LocatedValue {
    defer { view.release(found.reference) }
    return try large(found.value)
  }

  /// Returns the large value that a leaf cell refers to, copying the value only if it spans several
  /// pages.
  func large(_ cell: Bytes) throws(StorageError) -> LocatedValue {
    let reference = try OverflowReference(cell, in: view)
    if let page = try Overflow(view: view, tree: root.tree).inPlace(reference) {
      return LocatedValue(
        bytes: page.value.buffer, reference: page.reference, copy: nil, view: view)
    }
    let block = try copy(reference)
    defer { block.keep() }
    return LocatedValue(
      bytes: block.bytes.bytes.buffer, reference: nil, copy: Unmanaged.passRetained(block),
      view: view)
  }

  private func copy(_ reference: OverflowReference) throws(StorageError) -> ByteBlock {
    guard reference.length <= Limits.maxCopiedValueByteCount else {
      throw StorageError(
        .tooLarge,
        "The value is \(reference.length) bytes long, but at most "
          + "\(Limits.maxCopiedValueByteCount) bytes can be copied at once. Read the value in "
          + "chunks or by range.")
    }
    return try Overflow(view: view, tree: root.tree).copy(reference)
  }

  func copiedValue(_ cell: Bytes) throws(StorageError) -> [UInt8] {
    let block = try copy(try OverflowReference(cell, in: view))
    defer { block.keep() }
    return block.bytes.bytes.copied()
  }

  @usableFromInline
  func get(_ key: borrowing EncodedKey) throws(StorageError) -> [UInt8]? {
    guard let found = try locate(key) else { return nil }
    defer { found.release() }
    return [UInt8](found.bytes)
  }

  @usableFromInline
  func valueByteCount(_ key: borrowing EncodedKey) throws(StorageError) -> Int? {
    guard let found = try find(key) else { return nil }
    defer { view.release(found.reference) }
    return try found.isOverflow
      ? OverflowReference(found.value, in: view).length : found.value.count
  }

  /// Passes the value of `key` to `body`, page by page.
  ///
  /// If `range` is not `nil`, the method passes only the bytes in this range.
  ///
  /// If `body` throws, the method returns the error as a failure, because the method itself can
  /// throw only storage errors. If the complete value is read, the method checks its hash after the
  /// last chunk.
  @usableFromInline
  func read(
    _ key: borrowing EncodedKey, _ range: Range<Int>?, _ body: (RawSpan) throws -> Void
  ) throws(StorageError) -> Result<Bool, any Error> {
    guard let found = try find(key) else { return .success(false) }
    defer { view.release(found.reference) }
    var failure: (any Error)?
    func pass(_ chunk: Bytes) throws(StorageError) {
      do { try body(chunk.buffer.bytes) } catch {
        failure = error
        throw StorageError(
          .invalidArgument,
          "The read was stopped, because the closure that receives the value's bytes threw an "
            + "error. Fix the cause of that error, then read the value again.")
      }
    }
    do throws(StorageError) {
      if found.isOverflow {
        let reference = try OverflowReference(found.value, in: view)
        let overflow = Overflow(view: view, tree: root.tree)
        if let range {
          try Self.check(range, reference.length)
          try overflow.read(reference, from: range.lowerBound, count: range.count, pass)
        } else {
          try overflow.forEachChunk(reference, pass)
        }
      } else {
        let range = range ?? 0..<found.value.count
        try Self.check(range, found.value.count)
        if !range.isEmpty { try pass(found.value.slice(range.lowerBound, range.count)) }
      }
    } catch {
      if let failure { return .failure(failure) }
      throw error
    }
    return .success(true)
  }

  private static func check(_ range: Range<Int>, _ count: Int) throws(StorageError) {
    guard range.lowerBound >= 0, range.upperBound <= count else {
      throw StorageError(
        .invalidArgument,
        "The range \(range) is not within the value, which is \(count) bytes long. Use a range "
          + "within 0..<\(count).")
    }
  }

  /// Calls `body` for every entry in a range of keys, until `body` returns `false`.
  ///
  /// `keyspace` is a transaction's keyspace, which `body` may change but not remove, or `nil` for a
  /// snapshot.
  func forEach(
    from lower: Key?, upTo upper: Key?, reversed: Bool, in keyspace: KeyspaceScope?,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    let cursor = TreeCursor(view: view, root: root, savesKey: keyspace != nil)
    var isValid = try Self.start(cursor, lower, upper, reversed: reversed)
    let bound = reversed ? lower : upper
    let block = ByteBlock(count: (bound?.bytes.count ?? 0) + 8)
    defer { block.keep() }
    bound?.bytes.withBytes {
      block.bytes.copy($0, to: 0)
      block.bytes.store64(0, $0.count)
    }
    let end = bound.map { block.bytes.bytes.slice(0, $0.bytes.count) }
    if keyspace == nil, !reversed {
      while isValid, try passLeaf(cursor, before: end.map { SearchKey($0) }, body) {
        isValid = try cursor.moveToNext()
      }
      return
    }
    while isValid, end.map({ (cursor.key.compare($0) >= 0) == reversed }) ?? true,
      try pass(cursor, body)
    {
      keyspace?.requireUsable()
      isValid = reversed ? try cursor.moveToPrevious() : try cursor.moveToNext()
    }
  }

  /// Calls `body` with each entry in the cursor's leaf that sorts before `end`.
  ///
  /// The result is `true` if the caller should continue with the next leaf.
  @inline(__always)
  private func passLeaf(
    _ cursor: TreeCursor, before end: SearchKey?,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws -> Bool {
    try cursor.passLeaf(before: end) { key, found in
      if found.isOverflow { return try passOverflow(key, found.value, body) }
      return try body(key.buffer.bytes, found.value.buffer.bytes)
    }
  }

  static func start(
    _ cursor: TreeCursor, _ lower: Key?, _ upper: Key?, reversed: Bool
  ) throws(StorageError) -> Bool {
    if reversed {
      guard let upper else { return try cursor.moveToLast() }
      return try withSearchBytes(upper) { key throws(StorageError) in
        try cursor.seekBefore(SearchKey(key))
      }
    }
    guard let lower else { return try cursor.moveToFirst() }
    return try withSearchBytes(lower) { key throws(StorageError) in
      try cursor.seek(SearchKey(key))
    }
  }

  @inline(__always)
  private func pass(
    _ cursor: TreeCursor, _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws -> Bool {
    guard let found = try cursor.value() else { return true }
    if found.isOverflow { return try passOverflow(cursor.key, found.value, body) }
    return try body(cursor.key.buffer.bytes, found.value.buffer.bytes)
  }

  @inline(never)
  private func passOverflow(
    _ key: Bytes, _ cell: Bytes, _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws -> Bool {
    try large(cell).use { try body(key.buffer.bytes, $0) }
  }
}
