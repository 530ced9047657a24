/// An open RocksDB database.
///
/// The type is `@unchecked Sendable` because RocksDB synchronises threads itself.
final class RocksDBDatabase: @unchecked Sendable {
  fileprivate let library: RocksDBLibrary
  fileprivate let handle: RocksDBLibrary.Handle
  private let normal: RocksDBLibrary.Handle
  private let durable: RocksDBLibrary.Handle

  /// Opens a database, creating it if it does not exist.
  init(_ library: RocksDBLibrary, path: String) throws {
    self.library = library
    let options = try library.makeOptions()
    normal = try library.require(library.createWriteOptions())
    durable = try library.require(library.createWriteOptions())
    library.setSync(durable, 1)
    handle = try library.require(try library.checked { library.open(options, path, $0) })
  }

  deinit {
    library.close(handle)
    library.destroyWriteOptions(normal)
    library.destroyWriteOptions(durable)
  }

  /// Writes an entry.
  ///
  /// The log is synced only if `isDurable` is true.
  @inline(__always)
  func put(_ key: [UInt8], _ value: RawSpan, isDurable: Bool) throws {
    let options = isDurable ? durable : normal
    try key.withUnsafeBytes { key in
      try value.withUnsafeBytes { value in
        try library.checked {
          library.put(
            handle, options, key.baseAddress, key.count, value.baseAddress, value.count, $0)
        }
      }
    }
  }

  /// Atomically writes the changes that `body` makes.
  func write(isDurable: Bool, _ body: (RocksDBBatch) throws -> Void) throws {
    let batch = RocksDBBatch(library, try library.require(library.createBatch()))
    defer { library.destroyBatch(batch.handle) }
    try body(batch)
    try library.checked { library.write(handle, isDurable ? durable : normal, batch.handle, $0) }
  }

  /// Compacts all levels and waits for the end of the compaction.
  func compact() { library.compactRange(handle, nil, 0, nil, 0) }
}

/// Changes that are written together.
struct RocksDBBatch: EntryWriter {
  private let library: RocksDBLibrary
  fileprivate let handle: RocksDBLibrary.Handle

  fileprivate init(_ library: RocksDBLibrary, _ handle: RocksDBLibrary.Handle) {
    self.library = library
    self.handle = handle
  }

  func put(_ key: [UInt8], _ value: RawSpan) {
    key.withUnsafeBytes { key in
      value.withUnsafeBytes { value in
        library.batchPut(handle, key.baseAddress, key.count, value.baseAddress, value.count)
      }
    }
  }

  func remove(_ key: [UInt8]) {
    key.withUnsafeBytes { library.batchDelete(handle, $0.baseAddress, $0.count) }
  }
}

/// A reader of a database that uses either a snapshot or the newest state.
///
/// The type is `@unchecked Sendable` because only the thread of one `Work` uses it.
final class RocksDBReader: @unchecked Sendable {
  private let database: RocksDBDatabase
  private let library: RocksDBLibrary
  private let options: RocksDBLibrary.Handle
  private let snapshot: RocksDBLibrary.Handle?
  /// The iterator of a snapshot, which is created when it is first used.
  private var iterator: RocksDBLibrary.Handle?

  init(_ database: RocksDBDatabase, isPinned: Bool) throws {
    self.database = database
    library = database.library
    options = try library.require(library.createReadOptions())
    snapshot = isPinned ? try library.require(library.createSnapshot(database.handle)) : nil
    if let snapshot { library.setSnapshot(options, snapshot) }
  }

  deinit {
    if let iterator { library.destroyIterator(iterator) }
    library.destroyReadOptions(options)
    if let snapshot { library.releaseSnapshot(database.handle, snapshot) }
  }

  /// Calls `body` with the value of a key, or returns `nil` if the key does not exist.
  @inline(__always)
  func withRow<R>(_ key: [UInt8], _ body: (RawSpan) throws -> R) throws -> R? {
    let slice = try key.withUnsafeBytes { key in
      try library.checked {
        library.getPinned(database.handle, options, key.baseAddress, key.count, $0)
      }
    }
    guard let slice else { return nil }
    defer { library.destroySlice(slice) }
    var count = 0
    let start = library.sliceValue(slice, &count)
    return try body(UnsafeRawBufferPointer(start: start, count: count).bytes)
  }

  /// Calls `body` with each key that is at least `key`, and with its value, until `body` returns
  /// `false`.
  @inline(__always)
  func forEach(from key: [UInt8], _ body: (RawSpan, RawSpan) throws -> Bool) throws {
    let iterator = try library.require(
      self.iterator ?? library.createIterator(database.handle, options))
    if snapshot != nil { self.iterator = iterator }
    defer { if snapshot == nil { library.destroyIterator(iterator) } }
    key.withUnsafeBytes { library.seek(iterator, $0.baseAddress, $0.count) }
    while library.isValid(iterator) != 0 {
      var (keyByteCount, byteCount) = (0, 0)
      let keyStart = library.iteratorKey(iterator, &keyByteCount)
      let start = library.iteratorValue(iterator, &byteCount)
      let found = UnsafeRawBufferPointer(start: keyStart, count: keyByteCount)
      let value = UnsafeRawBufferPointer(start: start, count: byteCount)
      guard try body(found.bytes, value.bytes) else { return }
      library.next(iterator)
    }
    try library.checked { library.iteratorFailure(iterator, $0) }
  }
}

extension RocksDBReader: EntryReader {
  func withValue(_ key: [UInt8], _ body: (RawSpan) throws -> Void) throws -> Bool {
    try withRow(key, body) != nil
  }

  func forEach(from key: [UInt8], count: Int, _ body: (RawSpan) throws -> Void) throws {
    var remaining = count
    try forEach(from: key) { _, value in
      try body(value)
      remaining -= 1
      return remaining > 0
    }
  }
}
