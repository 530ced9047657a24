/// A writer that creates a SQLite database file without using SQLite.
///
/// The file uses 4,096-byte pages and UTF-8 text, and is written from start to end.
///
/// ```swift
/// let writer = try SQLiteFileWriter(path: "people.sqlite")
/// let people = try writer.table(
///   SQLiteTable(
///     name: "person", key: .rowid("id"),
///     columns: [SQLiteColumn("name", .text, isRequired: true), SQLiteColumn("height", .real)],
///     indexes: [SQLiteIndex("person_name", on: ["name"])]))
/// try people.append(rowid: 1) { row in
///   row.append(text: "Ada")
///   row.append(real: 1.65)
/// }
/// try writer.view("tall", select: "SELECT * FROM person WHERE height > 1.8")
/// try writer.finish()
/// ```
///
/// Until ``finish()`` returns, the file is incomplete and SQLite rejects it. If the writer is
/// released before ``finish()`` returns, it removes the file. Only one thread may use a writer and
/// its tables.
package final class SQLiteFileWriter {
  private let state: SQLiteFileState
  private let header: SQLiteFileHeader
  private var names = SQLiteNames()
  private var tables: [SQLiteTableWriter] = []
  private var isFinished = false

  /// Creates a writer and the file that it writes.
  ///
  /// - Parameters:
  ///   - path: The path of the file, which must not exist.
  ///   - userVersion: The value of `PRAGMA user_version`, which SQLite itself does not use.
  ///   - applicationID: The value of `PRAGMA application_id`, which identifies the type of the
  ///     file.
  ///   - sortByteCount: The maximum total length, in bytes, of all index keys that are kept in
  ///     memory for sorting. The process briefly needs about twice as much memory.
  /// - Throws: ``SQLiteWriterError`` of the kind `fileExists` or `system`.
  package init(
    path: String, userVersion: Int32 = 0, applicationID: Int32 = 0, sortByteCount: Int = 8 << 20
  ) throws(SQLiteWriterError) {
    header = SQLiteFileHeader(userVersion: userVersion, applicationID: applicationID)
    state = try SQLiteFileState(path: path, SortMemory(limit: sortByteCount))
  }

  deinit { if !isFinished { state.output.discard() } }

  /// Adds a table, and returns a writer for its rows.
  ///
  /// - Throws: ``SQLiteWriterError`` of the kind `invalidName`, `invalidDefinition`, `tooLarge` or
  ///   `closed`.
  package func table(_ definition: SQLiteTable) throws(SQLiteWriterError) -> SQLiteTableWriter {
    try checkIsOpen()
    var names = self.names
    try names.insert(definition.name, "table")
    for index in definition.indexes { try names.insert(index.name, "index") }
    try definition.check()
    self.names = names
    state.schema.add(definition)
    let table = SQLiteTableWriter(definition, state)
    tables.append(table)
    return table
  }

  /// Adds a view.
  ///
  /// - Parameters:
  ///   - columns: The names of the view's columns. By default, the view uses the column names of
  ///     the query.
  ///   - select: The query in SQL. The query is not checked: if it is not a single valid statement,
  ///     SQLite rejects the entire file.
  /// - Throws: ``SQLiteWriterError`` of the kind `invalidName`, `invalidDefinition`, `tooLarge` or
  ///   `closed`.
  package func view(
    _ name: String, columns: [String] = [], select: String
  ) throws(SQLiteWriterError) {
    try checkIsOpen()
    for column in columns { try SQLiteNames.check(column, "view column") }
    guard !select.utf8.contains(0) else {
      throw SQLiteWriterError(
        .invalidDefinition,
        "The query of the view \(name.sqlQuoted) contains a NUL character. Remove it.")
    }
    var sql = "CREATE VIEW \(name.sqlQuoted)"
    if !columns.isEmpty { sql += " (\(columns.map(\.sqlQuoted).joined(separator: ", ")))" }
    sql += " AS \(select)"
    try SQLiteNames.checkByteCount(of: sql)
    try names.insert(name, "view")
    state.schema.add(view: name, sql: sql)
  }

  /// Closes all tables, writes the schema and the header, and makes the file durable.
  ///
  /// - Throws: ``SQLiteWriterError``, for example of the kind `invalidDefinition` if a foreign key
  ///   refers to a missing table. After an error, the file is incomplete.
  package func finish() throws(SQLiteWriterError) {
    try checkIsOpen()
    var definitions: [[UInt8]: SQLiteTable] = [:]
    for table in tables { definitions[table.definition.name.sqlNameKey] = table.definition }
    for table in tables { try table.definition.checkForeignKeys(in: definitions) }
    for table in tables { try table.close() }
    do {
      let (node, rightChild) = try state.schema.write(to: state.output)
      var page = header.bytes(pageCount: state.output.pageCount)
      node.append(to: &page, rightChild: rightChild, after: page.count)
      try state.output.finish(firstPage: page)
    } catch {
      state.failure = error
      throw error
    }
    isFinished = true
    state.isOpen = false
  }

  private func checkIsOpen() throws(SQLiteWriterError) { try state.checkIsOpen() }
}

/// The state that a writer shares with its table writers.
final class SQLiteFileState {
  let path: String
  let output: PageOutput
  let memory: SortMemory
  var schema = SQLiteSchema()
  /// The error that prevents the file from being completed, or `nil` if there is none.
  var failure: SQLiteWriterError? { didSet { isOpen = false } }
  /// A Boolean value that indicates whether the file can still be extended.
  var isOpen = true

  init(path: String, _ memory: SortMemory) throws(SQLiteWriterError) {
    self.path = path
    self.memory = memory
    output = try PageOutput(try SQLiteSystemFile(creating: path))
  }

  /// Throws an error if the file is complete or an earlier error prevents its completion.
  @inline(__always)
  func checkIsOpen() throws(SQLiteWriterError) {
    guard !isOpen else { return }
    throw SQLiteWriterError(
      .closed,
      "Nothing more can be written to the file \(path), because "
        + (failure.map { "of an earlier error: \($0.message)" } ?? "the file is already finished."))
  }
}

/// The first 100 bytes of a file; see <https://www.sqlite.org/fileformat2.html>, § 1.3.
struct SQLiteFileHeader {
  let userVersion: Int32
  let applicationID: Int32

  /// Returns the header of a file with the given number of pages.
  func bytes(pageCount: UInt32) -> [UInt8] {
    var bytes = Array("SQLite format 3\0".utf8)
    func append(_ number: UInt32, _ byteCount: Int = 4) {
      bytes.appendBigEndian(UInt64(number), byteCount: byteCount)
    }
    append(UInt32(SQLiteFormat.pageByteCount), 2)
    append(1, 1)  // The file is written with a rollback journal.
    append(1, 1)  // The file is read with a rollback journal.
    append(0, 1)  // There are no reserved bytes at the end of pages.
    append(64, 1)  // The fractions of a page that payloads may occupy are fixed.
    append(32, 1)
    append(32, 1)
    append(Self.changeCount)
    append(pageCount)
    append(0)  // There is no list of free pages.
    append(0)
    append(1)  // The schema has version 1.
    append(4)  // The schema has format 4, which allows the serial types for 0 and 1.
    append(0)  // The cache has its default size.
    append(0)  // Automatic vacuum is off.
    append(1)  // The text encoding is UTF-8.
    append(UInt32(bitPattern: userVersion))
    append(0)  // Incremental vacuum is off.
    append(UInt32(bitPattern: applicationID))
    bytes.appendZeros(20)
    // Repeat the change counter. The page count above is valid only if this number equals the
    // change counter.
    append(Self.changeCount)
    append(SQLiteFormat.versionNumber)
    return bytes
  }

  private static let changeCount: UInt32 = 1
}
