extension KeyspaceWriter {
  /// A copy of the value of an integer key as this transaction sees it, or `nil`.
  public func get(_ key: Int) throws -> [UInt8]? {
    try withSearchBytes(Int64(key)) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of an integer key to `body`, or returns `nil` if there is none.
  ///
  /// The span is valid during the call, and only until this transaction changes something.
  public func withValue<R>(_ key: Int, _ body: (RawSpan) throws -> R) throws -> R? {
    let located = try withSearchBytes(Int64(key)) { key throws(StorageError) in
      try reads.locate(key)
    }
    guard let located else { return nil }
    defer { located.release() }
    return try body(located.bytes.bytes)
  }

  /// Passes `range` of the value of an integer key to `body`, in pieces, in order; false if there
  /// is none.
  @discardableResult
  public func read(
    _ key: Int, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(Int64(key)) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  /// Sets the value of an integer key.
  ///
  /// - Throws: `tooLarge` for a key or value over its limit, before anything is changed.
  /// - Complexity: One page read for each level of the tree; one page more in the commit for each
  ///   leaf that changes.
  public func put(_ key: Int, _ value: [UInt8]) throws {
    try withSearchBytes(Int64(key)) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Sets the value of an integer key to the bytes of a span, which may be borrowed from this
  /// transaction.
  public func put(_ key: Int, _ value: RawSpan) throws {
    try withSearchBytes(Int64(key)) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Removes an integer key and its value; false if there was none.
  @discardableResult
  public func delete(_ key: Int) throws -> Bool {
    try withSearchBytes(Int64(key)) { key throws(StorageError) in try delete(key) }
  }

  /// A copy of the value of an integer key as this transaction sees it, or `nil`.
  public func get(_ key: Int64) throws -> [UInt8]? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of an integer key to `body`, or returns `nil` if there is none.
  ///
  /// The span is valid during the call, and only until this transaction changes something.
  public func withValue<R>(_ key: Int64, _ body: (RawSpan) throws -> R) throws -> R? {
    let located = try withSearchBytes(key) { key throws(StorageError) in
      try reads.locate(key)
    }
    guard let located else { return nil }
    defer { located.release() }
    return try body(located.bytes.bytes)
  }

  /// Passes `range` of the value of an integer key to `body`, in pieces, in order; false if there
  /// is none.
  @discardableResult
  public func read(
    _ key: Int64, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  /// Sets the value of an integer key.
  ///
  /// - Throws: `tooLarge` for a key or value over its limit, before anything is changed.
  /// - Complexity: One page read for each level of the tree; one page more in the commit for each
  ///   leaf that changes.
  public func put(_ key: Int64, _ value: [UInt8]) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Sets the value of an integer key to the bytes of a span, which may be borrowed from this
  /// transaction.
  public func put(_ key: Int64, _ value: RawSpan) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Removes an integer key and its value; false if there was none.
  @discardableResult
  public func delete(_ key: Int64) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try delete(key) }
  }

  /// A copy of the value of a string key as this transaction sees it, or `nil`.
  public func get(_ key: String) throws -> [UInt8]? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of a string key to `body`, or returns `nil` if there is none.
  ///
  /// The span is valid during the call, and only until this transaction changes something.
  public func withValue<R>(_ key: String, _ body: (RawSpan) throws -> R) throws -> R? {
    let located = try withSearchBytes(key) { key throws(StorageError) in
      try reads.locate(key)
    }
    guard let located else { return nil }
    defer { located.release() }
    return try body(located.bytes.bytes)
  }

  /// Passes `range` of the value of a string key to `body`, in pieces, in order; false if there is
  /// none.
  @discardableResult
  public func read(
    _ key: String, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  /// Sets the value of a string key.
  ///
  /// - Throws: `tooLarge` for a key or value over its limit, before anything is changed.
  /// - Complexity: One page read for each level of the tree; one page more in the commit for each
  ///   leaf that changes.
  public func put(_ key: String, _ value: [UInt8]) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Sets the value of a string key to the bytes of a span, which may be borrowed from this
  /// transaction.
  public func put(_ key: String, _ value: RawSpan) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Removes a string key and its value; false if there was none.
  @discardableResult
  public func delete(_ key: String) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try delete(key) }
  }

  /// A copy of the value of a key of bytes as this transaction sees it, or `nil`.
  public func get(_ key: [UInt8]) throws -> [UInt8]? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of a key of bytes to `body`, or returns `nil` if there is none.
  ///
  /// The span is valid during the call, and only until this transaction changes something.
  public func withValue<R>(_ key: [UInt8], _ body: (RawSpan) throws -> R) throws -> R? {
    let located = try withSearchBytes(key) { key throws(StorageError) in
      try reads.locate(key)
    }
    guard let located else { return nil }
    defer { located.release() }
    return try body(located.bytes.bytes)
  }

  /// Passes `range` of the value of a key of bytes to `body`, in pieces, in order; false if there
  /// is none.
  @discardableResult
  public func read(
    _ key: [UInt8], range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  /// Sets the value of a key of bytes.
  ///
  /// - Throws: `tooLarge` for a key or value over its limit, before anything is changed.
  /// - Complexity: One page read for each level of the tree; one page more in the commit for each
  ///   leaf that changes.
  public func put(_ key: [UInt8], _ value: [UInt8]) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Sets the value of a key of bytes to the bytes of a span, which may be borrowed from this
  /// transaction.
  public func put(_ key: [UInt8], _ value: RawSpan) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Removes a key of bytes and its value; false if there was none.
  @discardableResult
  public func delete(_ key: [UInt8]) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try delete(key) }
  }

  /// A copy of the value of a key of a span's bytes as this transaction sees it, or `nil`.
  public func get(_ key: RawSpan) throws -> [UInt8]? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of a key of a span's bytes to `body`, or returns `nil` if there is none.
  ///
  /// The span is valid during the call, and only until this transaction changes something.
  public func withValue<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    let located = try withSearchBytes(key) { key throws(StorageError) in
      try reads.locate(key)
    }
    guard let located else { return nil }
    defer { located.release() }
    return try body(located.bytes.bytes)
  }

  /// Passes `range` of the value of a key of a span's bytes to `body`, in pieces, in order; false
  /// if there is none.
  @discardableResult
  public func read(
    _ key: RawSpan, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  /// Sets the value of a key of a span's bytes.
  ///
  /// - Throws: `tooLarge` for a key or value over its limit, before anything is changed.
  /// - Complexity: One page read for each level of the tree; one page more in the commit for each
  ///   leaf that changes.
  public func put(_ key: RawSpan, _ value: [UInt8]) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Sets the value of a key of a span's bytes to the bytes of a span, which may be borrowed from
  /// this transaction.
  public func put(_ key: RawSpan, _ value: RawSpan) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Removes a key of a span's bytes and its value; false if there was none.
  @discardableResult
  public func delete(_ key: RawSpan) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try delete(key) }
  }

  /// A copy of the value of a key as this transaction sees it, or `nil`.
  public func get(_ key: Key) throws -> [UInt8]? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of a key to `body`, or returns `nil` if there is none.
  ///
  /// The span is valid during the call, and only until this transaction changes something.
  public func withValue<R>(_ key: Key, _ body: (RawSpan) throws -> R) throws -> R? {
    let located = try withSearchBytes(key) { key throws(StorageError) in
      try reads.locate(key)
    }
    guard let located else { return nil }
    defer { located.release() }
    return try body(located.bytes.bytes)
  }

  /// Passes `range` of the value of a key to `body`, in pieces, in order; false if there is none.
  @discardableResult
  public func read(
    _ key: Key, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in
      try reads.read(key, range: range, body)
    }.get()
  }

  /// Sets the value of a key.
  ///
  /// - Throws: `tooLarge` for a key or value over its limit, before anything is changed.
  /// - Complexity: One page read for each level of the tree; one page more in the commit for each
  ///   leaf that changes.
  public func put(_ key: Key, _ value: [UInt8]) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Sets the value of a key to the bytes of a span, which may be borrowed from this transaction.
  public func put(_ key: Key, _ value: RawSpan) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value) }
    }
  }

  /// Removes a key and its value; false if there was none.
  @discardableResult
  public func delete(_ key: Key) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try delete(key) }
  }
}
