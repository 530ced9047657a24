// One overload for each kind of key, none generic over keys: a generic call across a module
// boundary costs more than the read. `withValue` alone is inlined into the caller, for its closure.

extension KeyspaceReader {
  /// A copy of the value of an integer key, or `nil` if there is none.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way cannot be trusted or read; `tooLarge` for a
  ///   value longer than ``Store`` copies at once, and for a key over its limit.
  /// - Complexity: One page read for each level of the tree.
  public func get(_ key: Int) throws -> [UInt8]? {
    try withSearchBytes(Int64(key)) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of an integer key to `body`, or returns `nil` if there is none.
  ///
  /// A value that fits a page is read where it lies; the span is valid during the call only.
  ///
  /// - Throws: As ``get(_:)-(Int)``, or what `body` throws.
  @inlinable
  public func withValue<R>(_ key: Int, _ body: (RawSpan) throws -> R) throws -> R? {
    guard let found = try locate(key) else { return nil }
    defer { found.release() }
    return try body(found.bytes.bytes)
  }

  /// Passes `range` of the value of an integer key to `body`, in pieces, in order; false if there
  /// is none.
  ///
  /// - Throws: `invalidArgument` if the range is not within the value.
  @discardableResult
  public func read(
    _ key: Int, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(Int64(key)) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  @usableFromInline
  func locate(_ key: Int) throws(StorageError) -> LocatedValue? {
    try withSearchBytes(Int64(key)) { key throws(StorageError) in try reads.locate(key) }
  }

  /// A copy of the value of an integer key, or `nil` if there is none.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way cannot be trusted or read; `tooLarge` for a
  ///   value longer than ``Store`` copies at once, and for a key over its limit.
  /// - Complexity: One page read for each level of the tree.
  public func get(_ key: Int64) throws -> [UInt8]? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of an integer key to `body`, or returns `nil` if there is none.
  ///
  /// A value that fits a page is read where it lies; the span is valid during the call only.
  ///
  /// - Throws: As ``get(_:)-(Int64)``, or what `body` throws.
  @inlinable
  public func withValue<R>(_ key: Int64, _ body: (RawSpan) throws -> R) throws -> R? {
    guard let found = try locate(key) else { return nil }
    defer { found.release() }
    return try body(found.bytes.bytes)
  }

  /// Passes `range` of the value of an integer key to `body`, in pieces, in order; false if there
  /// is none.
  ///
  /// - Throws: `invalidArgument` if the range is not within the value.
  @discardableResult
  public func read(
    _ key: Int64, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  @usableFromInline
  func locate(_ key: Int64) throws(StorageError) -> LocatedValue? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.locate(key) }
  }

  /// A copy of the value of a string key, or `nil` if there is none.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way cannot be trusted or read; `tooLarge` for a
  ///   value longer than ``Store`` copies at once, and for a key over its limit.
  /// - Complexity: One page read for each level of the tree.
  public func get(_ key: String) throws -> [UInt8]? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of a string key to `body`, or returns `nil` if there is none.
  ///
  /// A value that fits a page is read where it lies; the span is valid during the call only.
  ///
  /// - Throws: As ``get(_:)-(String)``, or what `body` throws.
  @inlinable
  public func withValue<R>(_ key: String, _ body: (RawSpan) throws -> R) throws -> R? {
    guard let found = try locate(key) else { return nil }
    defer { found.release() }
    return try body(found.bytes.bytes)
  }

  /// Passes `range` of the value of a string key to `body`, in pieces, in order; false if there is
  /// none.
  ///
  /// - Throws: `invalidArgument` if the range is not within the value.
  @discardableResult
  public func read(
    _ key: String, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  @usableFromInline
  func locate(_ key: String) throws(StorageError) -> LocatedValue? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.locate(key) }
  }

  /// A copy of the value of a key of bytes, or `nil` if there is none.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way cannot be trusted or read; `tooLarge` for a
  ///   value longer than ``Store`` copies at once, and for a key over its limit.
  /// - Complexity: One page read for each level of the tree.
  public func get(_ key: [UInt8]) throws -> [UInt8]? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of a key of bytes to `body`, or returns `nil` if there is none.
  ///
  /// A value that fits a page is read where it lies; the span is valid during the call only.
  ///
  /// - Throws: As ``get(_:)-([UInt8])``, or what `body` throws.
  @inlinable
  public func withValue<R>(_ key: [UInt8], _ body: (RawSpan) throws -> R) throws -> R? {
    guard let found = try locate(key) else { return nil }
    defer { found.release() }
    return try body(found.bytes.bytes)
  }

  /// Passes `range` of the value of a key of bytes to `body`, in pieces, in order; false if there
  /// is none.
  ///
  /// - Throws: `invalidArgument` if the range is not within the value.
  @discardableResult
  public func read(
    _ key: [UInt8], range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  @usableFromInline
  func locate(_ key: [UInt8]) throws(StorageError) -> LocatedValue? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.locate(key) }
  }

  /// A copy of the value of a key of a span's bytes, or `nil` if there is none.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way cannot be trusted or read; `tooLarge` for a
  ///   value longer than ``Store`` copies at once, and for a key over its limit.
  /// - Complexity: One page read for each level of the tree.
  public func get(_ key: RawSpan) throws -> [UInt8]? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of a key of a span's bytes to `body`, or returns `nil` if there is none.
  ///
  /// A value that fits a page is read where it lies; the span is valid during the call only.
  ///
  /// - Throws: As ``get(_:)-(RawSpan)``, or what `body` throws.
  @inlinable
  public func withValue<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    guard let found = try locate(key) else { return nil }
    defer { found.release() }
    return try body(found.bytes.bytes)
  }

  /// Passes `range` of the value of a key of a span's bytes to `body`, in pieces, in order; false
  /// if there is none.
  ///
  /// - Throws: `invalidArgument` if the range is not within the value.
  @discardableResult
  public func read(
    _ key: RawSpan, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  @usableFromInline
  func locate(_ key: RawSpan) throws(StorageError) -> LocatedValue? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.locate(key) }
  }

  /// A copy of the value of a key, or `nil` if there is none.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way cannot be trusted or read; `tooLarge` for a
  ///   value longer than ``Store`` copies at once, and for a key over its limit.
  /// - Complexity: One page read for each level of the tree.
  public func get(_ key: Key) throws -> [UInt8]? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of a key to `body`, or returns `nil` if there is none.
  ///
  /// A value that fits a page is read where it lies; the span is valid during the call only.
  ///
  /// - Throws: As ``get(_:)-(Key)``, or what `body` throws.
  @inlinable
  public func withValue<R>(_ key: Key, _ body: (RawSpan) throws -> R) throws -> R? {
    guard let found = try locate(key) else { return nil }
    defer { found.release() }
    return try body(found.bytes.bytes)
  }

  /// Passes `range` of the value of a key to `body`, in pieces, in order; false if there is none.
  ///
  /// - Throws: `invalidArgument` if the range is not within the value.
  @discardableResult
  public func read(
    _ key: Key, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  @usableFromInline
  func locate(_ key: Key) throws(StorageError) -> LocatedValue? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.locate(key) }
  }
}
