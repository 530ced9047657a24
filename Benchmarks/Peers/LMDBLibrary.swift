import Foundation
import Synchronization

/// The functions of LMDB, loaded at run time from the installed library.
struct LMDBLibrary: Sendable {
  typealias Environment = OpaquePointer
  typealias Transaction = OpaquePointer
  typealias Cursor = OpaquePointer

  /// The file name of the library in Debian and most other distributions.
  static let fileName = "liblmdb.so.0"

  static let notFound: Int32 = -30798
  static let next: Int32 = 8
  /// The cursor operation that moves to the first key that is at least the given key.
  static let setRange: Int32 = 17
  /// The flag that makes a copy of an environment omit free pages.
  static let compactCopy: UInt32 = 1

  /// Flags for an environment and its transactions.
  enum Flag {
    static let noSync: UInt32 = 0x10000
    static let readOnly: UInt32 = 0x20000
    /// The flag that makes commits change pages in the memory map, without system calls.
    static let writeMap: UInt32 = 0x80000
    /// The flag that ties reader slots to transactions instead of threads, so that a transaction
    /// may begin on one thread and continue on another.
    static let noThreadLocals: UInt32 = 0x200000
    /// The flag that turns off the system's read-ahead.
    static let noReadAhead: UInt32 = 0x800000
  }

  /// Flags for a database.
  enum DatabaseFlag {
    static let integerKey: UInt32 = 0x08
    static let create: UInt32 = 0x40000
  }

  /// The flag for `put` calls whose key sorts after all existing keys.
  static let append: UInt32 = 0x20000

  let createEnvironment: @convention(c) (UnsafeMutablePointer<Environment?>) -> Int32
  let setMapSize: @convention(c) (Environment, Int) -> Int32
  let setMostDatabases: @convention(c) (Environment, UInt32) -> Int32
  let open: @convention(c) (Environment, UnsafePointer<CChar>, UInt32, UInt32) -> Int32
  let close: @convention(c) (Environment) -> Void
  let setFlags: @convention(c) (Environment, UInt32, Int32) -> Int32
  let begin:
    @convention(c) (
      Environment, Transaction?, UInt32, UnsafeMutablePointer<Transaction?>
    ) -> Int32
  let commit: @convention(c) (Transaction) -> Int32
  let abort: @convention(c) (Transaction) -> Void
  let reset: @convention(c) (Transaction) -> Void
  let renew: @convention(c) (Transaction) -> Int32
  let openDatabase:
    @convention(c) (
      Transaction, UnsafePointer<CChar>, UInt32, UnsafeMutablePointer<UInt32>
    ) -> Int32
  /// The `mdb_get` function.
  ///
  /// In this function and the functions below, the raw pointers point to ``LMDBValue``s: the key
  /// and the value.
  let get:
    @convention(c) (Transaction, UInt32, UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Int32
  let put:
    @convention(c) (
      Transaction, UInt32, UnsafeMutableRawPointer, UnsafeMutableRawPointer, UInt32
    ) -> Int32
  /// The `mdb_del` function, whose last parameter is `nil` for databases without duplicate keys.
  let delete:
    @convention(c) (Transaction, UInt32, UnsafeMutableRawPointer, UnsafeMutableRawPointer?) -> Int32
  let copy: @convention(c) (Environment, UnsafePointer<CChar>, UInt32) -> Int32
  let renewCursor: @convention(c) (Transaction, Cursor) -> Int32
  let openCursor: @convention(c) (Transaction, UInt32, UnsafeMutablePointer<Cursor?>) -> Int32
  let closeCursor: @convention(c) (Cursor) -> Void
  let move:
    @convention(c) (Cursor, UnsafeMutableRawPointer, UnsafeMutableRawPointer, Int32) -> Int32
  private let message: @convention(c) (Int32) -> UnsafePointer<CChar>
  private let libraryVersion:
    @convention(c) (
      UnsafeMutablePointer<Int32>?, UnsafeMutablePointer<Int32>?, UnsafeMutablePointer<Int32>?
    ) -> UnsafePointer<CChar>

  /// Loads the library, or returns `nil` if it is not installed.
  init?() throws {
    guard let library = DynamicLibrary(Self.fileName) else { return nil }
    // The types above match the declarations in LMDB's header.
    func find<Function>(_ name: String) throws -> Function { try library.find("mdb_" + name) }
    createEnvironment = try find("env_create")
    setMapSize = try find("env_set_mapsize")
    setMostDatabases = try find("env_set_maxdbs")
    open = try find("env_open")
    close = try find("env_close")
    setFlags = try find("env_set_flags")
    begin = try find("txn_begin")
    commit = try find("txn_commit")
    abort = try find("txn_abort")
    reset = try find("txn_reset")
    renew = try find("txn_renew")
    openDatabase = try find("dbi_open")
    get = try find("get")
    put = try find("put")
    delete = try find("del")
    copy = try find("env_copy2")
    renewCursor = try find("cursor_renew")
    openCursor = try find("cursor_open")
    closeCursor = try find("cursor_close")
    move = try find("cursor_get")
    message = try find("strerror")
    libraryVersion = try find("version")
  }

  /// The version, such as `0.9.24`.
  var version: String {
    var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
    _ = libraryVersion(&major, &minor, &patch)
    return "\(major).\(minor).\(patch)"
  }

  /// Throws an error if LMDB has returned a code other than 0.
  @inline(__always)
  func check(_ code: Int32) throws {
    if code != 0 { throw failure(code) }
  }

  @inline(never)
  private func failure(_ code: Int32) -> BenchFailure {
    BenchFailure("LMDB reports error \(code): \(String(cString: message(code))).")
  }
}

/// The bytes of a key or a value, laid out like LMDB's `MDB_val`.
struct LMDBValue {
  var byteCount = 0
  var start: UnsafeRawPointer?

  /// Calls `body` with the bytes, which LMDB keeps valid until the transaction ends.
  @inline(__always)
  func withBytes<R>(_ body: (RawSpan) throws -> R) rethrows -> R {
    try body(UnsafeRawBufferPointer(start: start, count: byteCount).bytes)
  }
}

/// An open LMDB environment with its databases.
///
/// The type is `@unchecked Sendable` because LMDB synchronises threads itself: a writer waits for
/// the current writer.
final class LMDBEnvironment: @unchecked Sendable {
  let library: LMDBLibrary
  private let directory: String
  private var handle: LMDBLibrary.Environment
  private let flags: UInt32
  private var writesThroughMap = true
  fileprivate let readerCount = Atomic(0)
  /// The databases for rows by number, for rows by code, for a large value, and for entries with
  /// byte keys.
  private(set) var (quakes, codes, large, entries): (UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0)

  /// The maximum size of the file.
  ///
  /// LMDB reserves address space for this size, but no disk space.
  private static let mapByteCount = 64 << 30

  init(_ library: LMDBLibrary, directory: String, readsAhead: Bool = true) throws {
    self.library = library
    self.directory = directory
    flags = LMDBLibrary.Flag.noThreadLocals | (readsAhead ? 0 : LMDBLibrary.Flag.noReadAhead)
    handle = try Self.open(library, directory, flags | LMDBLibrary.Flag.writeMap)
    try openDatabases()
  }

  private static func open(
    _ library: LMDBLibrary, _ directory: String, _ flags: UInt32
  ) throws -> LMDBLibrary.Environment {
    var created: LMDBLibrary.Environment?
    try library.check(library.createEnvironment(&created))
    guard let created else { throw BenchFailure("LMDB cannot create an environment.") }
    try library.check(library.setMapSize(created, mapByteCount))
    try library.check(library.setMostDatabases(created, 4))
    try library.check(library.open(created, directory, flags, 0o644))
    return created
  }

  private func openDatabases() throws {
    let flags = LMDBLibrary.DatabaseFlag.self
    try write(isDurable: true) { transaction in
      quakes = try open("quakes", flags.create | flags.integerKey, transaction)
      codes = try open("codes", flags.create, transaction)
      large = try open("large", flags.create, transaction)
      entries = try open("entries", flags.create, transaction)
    }
  }

  /// Prepares for commits with the given durability.
  ///
  /// Commits that write through the memory map are several times faster without syncs, but slower
  /// with syncs. Changing this setting reopens the environment, so there must be no readers.
  func prepare(isDurable: Bool) throws {
    guard writesThroughMap == isDurable, readerCount.load(ordering: .relaxed) == 0 else { return }
    library.close(handle)
    handle = try Self.open(library, directory, flags | (isDurable ? 0 : LMDBLibrary.Flag.writeMap))
    writesThroughMap = !isDurable
    try openDatabases()
  }

  deinit { library.close(handle) }

  /// Runs a transaction.
  ///
  /// The commit is synced to disk only if `isDurable` is true.
  @inline(__always)
  func write(isDurable: Bool, _ body: (LMDBLibrary.Transaction) throws -> Void) throws {
    try library.check(library.setFlags(handle, LMDBLibrary.Flag.noSync, isDurable ? 0 : 1))
    let transaction = try begin(0)
    do {
      try body(transaction)
    } catch {
      library.abort(transaction)
      throw error
    }
    try library.check(library.commit(transaction))
  }

  /// Replaces the environment's file with a copy that has no free pages.
  ///
  /// There must be no readers.
  func compact() throws {
    let other = directory + "/compacted"
    try StoreDirectory.make(other)
    try library.check(library.copy(handle, other, LMDBLibrary.compactCopy))
    library.close(handle)
    let isMoved = rename(other + "/data.mdb", directory + "/data.mdb") == 0 && rmdir(other) == 0
    handle = try Self.open(
      library, directory, flags | (writesThroughMap ? LMDBLibrary.Flag.writeMap : 0))
    guard isMoved else { throw BenchFailure("The compacted copy of \(directory) cannot be moved.") }
    try openDatabases()
  }

  /// Returns a reader of the current state.
  func reader() throws -> LMDBReader {
    LMDBReader(self, try begin(LMDBLibrary.Flag.readOnly))
  }

  private func begin(_ flags: UInt32) throws -> LMDBLibrary.Transaction {
    var transaction: LMDBLibrary.Transaction?
    try library.check(library.begin(handle, nil, flags, &transaction))
    guard let transaction else { throw BenchFailure("LMDB cannot begin a transaction.") }
    return transaction
  }

  private func open(
    _ name: String, _ flags: UInt32, _ transaction: LMDBLibrary.Transaction
  ) throws -> UInt32 {
    var database: UInt32 = 0
    try library.check(library.openDatabase(transaction, name, flags, &database))
    return database
  }
}

/// A read transaction of LMDB.
///
/// The type is `@unchecked Sendable` because only the thread of one `Work` uses it.
final class LMDBReader: @unchecked Sendable {
  let environment: LMDBEnvironment
  let transaction: LMDBLibrary.Transaction

  fileprivate init(_ environment: LMDBEnvironment, _ transaction: LMDBLibrary.Transaction) {
    self.environment = environment
    self.transaction = transaction
    environment.readerCount.add(1, ordering: .relaxed)
  }

  deinit {
    environment.library.abort(transaction)
    environment.readerCount.subtract(1, ordering: .relaxed)
  }
}

extension LMDBLibrary {
  /// Calls `body` with the row that has the given number, or returns `nil` if there is no such row.
  @inline(__always)
  func withRow<R>(
    _ number: Int64, _ database: UInt32, _ transaction: Transaction, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    try withUnsafeBytes(of: number) { bytes in
      try withRow(bytes, database, transaction, body)
    }
  }

  /// Calls `body` with the row that has the given code, or returns `nil` if there is no such row.
  @inline(__always)
  func withRow<R>(
    _ code: String, _ database: UInt32, _ transaction: Transaction, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    let found = try code.utf8.withContiguousStorageIfAvailable { bytes in
      try withRow(UnsafeRawBufferPointer(bytes), database, transaction, body)
    }
    return found ?? nil
  }

  @inline(__always)
  func withRow<R>(
    _ key: UnsafeRawBufferPointer, _ database: UInt32, _ transaction: Transaction,
    _ body: (RawSpan) throws -> R
  ) throws -> R? {
    var key = LMDBValue(byteCount: key.count, start: key.baseAddress)
    var value = LMDBValue()
    let code = get(transaction, database, &key, &value)
    if code == Self.notFound { return nil }
    try check(code)
    return try value.withBytes(body)
  }

  /// Writes a value whose key is a number.
  func put(
    _ number: Int64, _ value: Span<UInt8>, _ database: UInt32, _ transaction: Transaction,
    flags: UInt32 = 0
  ) throws {
    try withUnsafeBytes(of: number) { try put($0, value.bytes, database, transaction, flags) }
  }

  /// Writes a value whose key is a code.
  func put(
    _ code: String, _ value: Span<UInt8>, _ database: UInt32, _ transaction: Transaction,
    flags: UInt32
  ) throws {
    try Array(code.utf8).withUnsafeBytes { key in
      try put(key, value.bytes, database, transaction, flags)
    }
  }

  func put(
    _ key: UnsafeRawBufferPointer, _ value: RawSpan, _ database: UInt32,
    _ transaction: Transaction, _ flags: UInt32
  ) throws {
    try value.withUnsafeBytes { value in
      var key = LMDBValue(byteCount: key.count, start: key.baseAddress)
      var value = LMDBValue(byteCount: value.count, start: value.baseAddress)
      try check(put(transaction, database, &key, &value, flags))
    }
  }

  /// Calls `body` with each key and value of a database.
  @inline(__always)
  func forEach(
    _ database: UInt32, _ transaction: Transaction, _ body: (RawSpan, RawSpan) -> Void
  ) throws {
    var cursor: Cursor?
    try check(openCursor(transaction, database, &cursor))
    guard let cursor else { throw BenchFailure("LMDB cannot open a cursor.") }
    defer { closeCursor(cursor) }
    var (key, value) = (LMDBValue(), LMDBValue())
    while true {
      let code = move(cursor, &key, &value, Self.next)
      if code == Self.notFound { return }
      try check(code)
      key.withBytes { key in value.withBytes { value in body(key, value) } }
    }
  }
}
