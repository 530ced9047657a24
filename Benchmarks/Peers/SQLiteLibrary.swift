import Foundation

/// The functions of SQLite, loaded at run time from the installed library.
///
/// Nothing is linked and no header is imported, so the package does not depend on SQLite.
struct SQLiteLibrary: Sendable {
  typealias Database = OpaquePointer
  typealias Statement = OpaquePointer
  typealias Destructor = @convention(c) (UnsafeMutableRawPointer?) -> Void

  /// The file name of the library in Debian and most other distributions.
  static let fileName = "libsqlite3.so.0"

  static let ok: Int32 = 0
  static let row: Int32 = 100
  static let done: Int32 = 101
  /// The type of a column that has no value.
  static let null: Int32 = 5
  /// The destructor that makes SQLite copy a string.
  static let transient = unsafeBitCast(-1, to: Destructor.self)
  /// The flags that open a database for reading and writing, create it if necessary, and use no
  /// mutex, because only one thread at a time uses a connection.
  static let openFlags: Int32 = 0x2 | 0x4 | 0x8000

  let open:
    @convention(c) (
      UnsafePointer<CChar>, UnsafeMutablePointer<Database?>, Int32, UnsafePointer<CChar>?
    ) -> Int32
  let close: @convention(c) (Database) -> Int32
  let prepare:
    @convention(c) (
      Database, UnsafePointer<CChar>, Int32, UnsafeMutablePointer<Statement?>,
      UnsafeMutablePointer<UnsafePointer<CChar>?>?
    ) -> Int32
  let step: @convention(c) (Statement) -> Int32
  let reset: @convention(c) (Statement) -> Int32
  let finalize: @convention(c) (Statement) -> Int32
  let bindInteger: @convention(c) (Statement, Int32, Int64) -> Int32
  let bindDouble: @convention(c) (Statement, Int32, Double) -> Int32
  let bindText:
    @convention(c) (Statement, Int32, UnsafePointer<UInt8>?, Int32, Destructor?) -> Int32
  let bindBlob: @convention(c) (Statement, Int32, UnsafeRawPointer?, Int32, Destructor?) -> Int32
  let bindNull: @convention(c) (Statement, Int32) -> Int32
  let columnType: @convention(c) (Statement, Int32) -> Int32
  let integer: @convention(c) (Statement, Int32) -> Int64
  let double: @convention(c) (Statement, Int32) -> Double
  let text: @convention(c) (Statement, Int32) -> UnsafePointer<UInt8>?
  let blob: @convention(c) (Statement, Int32) -> UnsafeRawPointer?
  let byteCount: @convention(c) (Statement, Int32) -> Int32
  let message: @convention(c) (Database) -> UnsafePointer<CChar>
  private let libraryVersion: @convention(c) () -> UnsafePointer<CChar>

  /// Loads the library, or returns `nil` if it is not installed.
  init?() throws {
    guard let library = DynamicLibrary(Self.fileName) else { return nil }
    // The types above match the declarations in SQLite's header.
    func find<Function>(_ name: String) throws -> Function {
      try library.find("sqlite3_" + name)
    }
    open = try find("open_v2")
    close = try find("close_v2")
    prepare = try find("prepare_v2")
    step = try find("step")
    reset = try find("reset")
    finalize = try find("finalize")
    bindInteger = try find("bind_int64")
    bindDouble = try find("bind_double")
    bindText = try find("bind_text")
    bindBlob = try find("bind_blob")
    bindNull = try find("bind_null")
    columnType = try find("column_type")
    integer = try find("column_int64")
    double = try find("column_double")
    text = try find("column_text")
    blob = try find("column_blob")
    byteCount = try find("column_bytes")
    message = try find("errmsg")
    libraryVersion = try find("libversion")
  }

  /// The version, such as `3.40.1`.
  var version: String { String(cString: libraryVersion()) }
}

/// An open SQLite database.
///
/// The type is `@unchecked Sendable` because only one thread at a time uses it: the thread of a
/// `Work`, or the thread that holds the writer's lock.
final class SQLiteDatabase: @unchecked Sendable {
  fileprivate let library: SQLiteLibrary
  fileprivate let handle: SQLiteLibrary.Database

  /// Opens a database, creating it if it does not exist.
  init(_ library: SQLiteLibrary, path: String) throws {
    var opened: SQLiteLibrary.Database?
    let code = library.open(path, &opened, SQLiteLibrary.openFlags, nil)
    guard code == SQLiteLibrary.ok, let opened else {
      throw BenchFailure("SQLite cannot open \(path): error \(code).")
    }
    self.library = library
    handle = opened
  }

  deinit { _ = library.close(handle) }

  /// Runs a statement once, ignoring its results.
  func run(_ text: String) throws {
    let statement = try SQLiteStatement(self, text)
    while try statement.step() {}
  }

  /// Checks the integrity of the entire database.
  func requireIntegrity() throws {
    let check = try SQLiteStatement(
      self, "SELECT integrity_check = 'ok' FROM pragma_integrity_check")
    guard try check.step(), check.integer(0) == 1 else {
      throw BenchFailure("The SQLite database failed its integrity check.")
    }
  }

  fileprivate func failure(_ code: Int32) -> BenchFailure {
    BenchFailure("SQLite reports error \(code): \(String(cString: library.message(handle))).")
  }
}

/// A prepared SQLite statement.
///
/// The type is `@unchecked Sendable` because a statement is used by the same threads as its
/// database.
final class SQLiteStatement: @unchecked Sendable {
  private let database: SQLiteDatabase
  private let library: SQLiteLibrary
  private let handle: SQLiteLibrary.Statement

  init(_ database: SQLiteDatabase, _ text: String) throws {
    var prepared: SQLiteLibrary.Statement?
    let code = database.library.prepare(database.handle, text, -1, &prepared, nil)
    guard code == SQLiteLibrary.ok, let prepared else { throw database.failure(code) }
    self.database = database
    library = database.library
    handle = prepared
  }

  deinit { _ = library.finalize(handle) }

  /// Moves to the next row, and returns whether there is one.
  @inline(__always)
  func step() throws -> Bool {
    let code = library.step(handle)
    if code == SQLiteLibrary.row { return true }
    guard code == SQLiteLibrary.done else { throw database.failure(code) }
    return false
  }

  /// Resets the statement so that it can be run again.
  @inline(__always)
  func reset() { _ = library.reset(handle) }

  /// Sets the value of a parameter.
  ///
  /// Parameters are counted from 1.
  @inline(__always)
  func bind(_ value: Int64, at place: Int32) { _ = library.bindInteger(handle, place, value) }

  /// Sets the value of a parameter.
  ///
  /// Parameters are counted from 1.
  @inline(__always)
  func bind(_ value: Double, at place: Int32) { _ = library.bindDouble(handle, place, value) }

  /// Sets the value of a parameter, or clears it if `value` is `nil`.
  ///
  /// Parameters are counted from 1.
  @inline(__always)
  func bind(_ value: Int64?, at place: Int32) {
    if let value { bind(value, at: place) } else { _ = library.bindNull(handle, place) }
  }

  /// Sets the value of a parameter, or clears it if `value` is `nil`.
  ///
  /// Parameters are counted from 1.
  @inline(__always)
  func bind(_ value: Double?, at place: Int32) {
    if let value { bind(value, at: place) } else { _ = library.bindNull(handle, place) }
  }

  /// Sets a parameter to a copy of a string, or clears it if the string is `nil`.
  ///
  /// Parameters are counted from 1.
  @inline(__always)
  func bind(_ value: String?, at place: Int32) {
    guard var value else { return _ = library.bindNull(handle, place) }
    value.withUTF8 { text in
      _ = library.bindText(
        handle, place, text.baseAddress, Int32(text.count), SQLiteLibrary.transient)
    }
  }

  /// Returns whether a column in the current row has no value.
  ///
  /// Columns are counted from 0.
  @inline(__always)
  func isNull(_ column: Int32) -> Bool {
    library.columnType(handle, column) == SQLiteLibrary.null
  }

  /// Runs the statement once with the given bytes as the value of a parameter, without copying
  /// them.
  @inline(__always)
  func run(_ bytes: Span<UInt8>, at place: Int32) throws {
    try bytes.withUnsafeBytes { bytes in
      _ = library.bindBlob(handle, place, bytes.baseAddress, Int32(bytes.count), nil)
      _ = try step()
      reset()
    }
  }

  /// Runs the statement once with the given bytes as the value of a parameter, without copying
  /// them.
  @inline(__always)
  func run(_ bytes: RawSpan, at place: Int32) throws {
    try bytes.withUnsafeBytes { bytes in
      _ = library.bindBlob(handle, place, bytes.baseAddress, Int32(bytes.count), nil)
      _ = try step()
      reset()
    }
  }

  /// Runs `body` with the bytes as the value of the first parameter, without copying them.
  @inline(__always)
  func binding<R>(_ bytes: [UInt8], _ body: () throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes { bytes in
      _ = library.bindBlob(handle, 1, bytes.baseAddress, Int32(bytes.count), nil)
      return try body()
    }
  }

  /// Runs `body` with the strings as the values of the first two parameters, without copying them.
  @inline(__always)
  func binding<R>(_ texts: (String, String), _ body: () throws -> R) rethrows -> R {
    var (first, second) = texts
    return try first.withUTF8 { first in
      try second.withUTF8 { second in
        _ = library.bindText(handle, 1, first.baseAddress, Int32(first.count), nil)
        _ = library.bindText(handle, 2, second.baseAddress, Int32(second.count), nil)
        return try body()
      }
    }
  }

  /// Runs `body` with the string as the value of the first parameter, without copying it.
  @inline(__always)
  func binding<R>(_ text: String, _ body: () throws -> R) rethrows -> R {
    var text = text
    return try text.withUTF8 { text in
      _ = library.bindText(handle, 1, text.baseAddress, Int32(text.count), nil)
      return try body()
    }
  }

  /// Returns the value of a column in the current row.
  ///
  /// Columns are counted from 0.
  @inline(__always)
  func integer(_ column: Int32) -> Int64 { library.integer(handle, column) }

  /// Returns the value of a column in the current row.
  ///
  /// Columns are counted from 0.
  @inline(__always)
  func double(_ column: Int32) -> Double { library.double(handle, column) }

  /// Runs `body` with the bytes of a column in the current row.
  ///
  /// Columns are counted from 0.
  @inline(__always)
  func withBytes<R>(_ column: Int32, _ body: (RawSpan) throws -> R) rethrows -> R {
    let start = library.blob(handle, column)
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(library.byteCount(handle, column)))
    return try body(bytes.bytes)
  }

  /// Returns the string in a column of the current row.
  ///
  /// Columns are counted from 0.
  func string(_ column: Int32) -> String {
    let bytes = UnsafeBufferPointer(
      start: library.text(handle, column), count: Int(library.byteCount(handle, column)))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the sum of the bytes of a column in the current row.
  ///
  /// Columns are counted from 0.
  @inline(__always)
  func textSum(_ column: Int32) -> UInt64 {
    let bytes = UnsafeBufferPointer(
      start: library.text(handle, column), count: Int(library.byteCount(handle, column)))
    return bytes.reduce(0) { $0 &+ UInt64($1) }
  }
}
