/// A writer for the rows and indexes of one table.
///
/// The writer writes rows as they arrive. Index keys, and the rows of a table without rowids, are
/// collected and sorted, and are written only when the table is closed. Several tables of a file
/// may be open at the same time, but only one thread may use a file.
package final class SQLiteTableWriter {
  /// An index that is being built.
  private struct OpenIndex {
    let definition: SQLiteIndex
    let sorter: RecordSorter
    /// The positions of the columns in the row, or -1 for the rowid.
    let columns: [Int]
  }

  package let definition: SQLiteTable
  private let state: SQLiteFileState
  private var row: SQLiteRow
  /// The number of columns for which the caller appends no value: 1 if the first column is the
  /// rowid, or 0 otherwise.
  private let implicitCount: Int
  private var tree: TreeBuilder?
  /// The sorter for the rows of a table without rowids, or `nil` if the table has rowids.
  private let sorter: RecordSorter?
  private let rowColumns: [Int]
  private let indexes: [OpenIndex]
  private var lastRowid: Int64?
  private(set) var isClosed = false

  /// Creates a writer for a new table.
  ///
  /// - Precondition: The definition has been checked.
  init(_ definition: SQLiteTable, _ state: SQLiteFileState) {
    self.definition = definition
    self.state = state
    var rules = definition.columns.map { column in
      SQLiteRow.Column(
        affinity: column.type.affinity, isRequired: definition.isRequired(column))
    }
    var implicitCount = 0
    if case .rowid(_?) = definition.key {
      rules.insert(SQLiteRow.Column(affinity: .numeric, isRequired: false), at: 0)
      implicitCount = 1
    }
    self.implicitCount = implicitCount
    row = SQLiteRow(rules)
    func positions(_ names: [String]) -> [Int] {
      names.compactMap(definition.position(of:)).map { $0 < 0 ? $0 : $0 + implicitCount }
    }
    // The last values of an index record identify the row: the rowid, or the key columns that are
    // not already in the index (file format, § 2.5).
    let identity: [Int]
    switch definition.key {
    case .rowid:
      tree = TreeBuilder(tableIn: state.output)
      sorter = nil
      rowColumns = []
      identity = [-1]
    case .columns(let key):
      // Identify a row by its key columns, which are the first columns of the record (§ 2.4).
      identity = positions(key)
      rowColumns = identity + definition.columns.indices.filter { !identity.contains($0) }
      sorter = RecordSorter(keyCount: key.count, state.memory, near: state.path)
    }
    indexes = definition.indexes.map { index in
      let key = positions(index.columns)
      // Like SQLite, append the rowid even if the index already contains it, but do not repeat key
      // columns.
      let columns = key + identity.filter { $0 == -1 || !key.contains($0) }
      return OpenIndex(
        definition: index,
        sorter: RecordSorter(keyCount: columns.count, state.memory, near: state.path),
        columns: columns)
    }
  }

  /// Appends a row.
  ///
  /// - Parameters:
  ///   - rowid: The rowid, which must be greater than the rowid of the previous row. The default is
  ///     the previous rowid plus 1, or 1 for the first row. A table that is sorted by columns does
  ///     not accept a rowid, but accepts rows in any order.
  ///   - fill: A closure that appends one value per column, in the order of the columns.
  /// - Throws: Any error that `fill` throws, or ``SQLiteWriterError``. After an error that `fill`
  ///   throws, or an error of the kind `invalidRow`, `unorderedRowid` or `tooLarge`, the row is not
  ///   in the table and writing can continue. After any other error, the file accepts no more rows.
  package func append(
    rowid: Int64? = nil, _ fill: (inout SQLiteRow) throws -> Void
  ) throws {
    try state.checkIsOpen()
    guard !isClosed else {
      throw invalid(.closed, "is already closed. Append all rows before you close the table")
    }
    row.removeAll()
    if implicitCount > 0 { row.appendRowidPlaceholder() }
    try fill(&row)
    let rowid = try checkedRowid(rowid)
    if let error = Self.problem(of: row, definition, implicitCount) { throw error }
    do {
      try store(row, rowid)
    } catch {
      state.failure = error
      throw error
    }
    lastRowid = rowid
  }

  /// Appends a row with the given values.
  ///
  /// This method follows the same rules as the method that takes a closure, but is slower.
  package func append(rowid: Int64? = nil, _ values: [SQLiteValue]) throws {
    try append(rowid: rowid) { row in
      for value in values { row.append(value) }
    }
  }

  /// Finishes the table: builds its indexes, and releases their memory.
  ///
  /// `SQLiteFileWriter.finish()` closes all tables that are still open.
  ///
  /// - Throws: ``SQLiteWriterError``, for example of the kind `duplicateKey` if two rows have the
  ///   same unique key. After an error, the file accepts no more rows and cannot be finished.
  /// - Complexity: O(n log n) for each index of a table with n rows.
  package func close() throws(SQLiteWriterError) {
    guard !isClosed else { return }
    try state.checkIsOpen()
    isClosed = true
    do {
      try finish()
    } catch {
      state.failure = error
      throw error
    }
  }

  // MARK: Rows

  private func checkedRowid(_ given: Int64?) throws(SQLiteWriterError) -> Int64 {
    guard definition.hasRowid else {
      guard given == nil else {
        throw invalid(
          .invalidRow,
          "has no rowids, but received a row with a rowid. Append the row without a rowid")
      }
      return 0
    }
    guard let last = lastRowid else { return given ?? 1 }
    if let given {
      guard given > last else {
        throw invalid(
          .unorderedRowid,
          "received rowid \(given) after rowid \(last), but rowids must be in ascending order. "
            + "Append the rows in that order")
      }
      return given
    }
    guard last < .max else {
      throw invalid(.unorderedRowid, "has no rowids left after \(last). Use lower rowids")
    }
    return last + 1
  }

  private func store(_ row: borrowing SQLiteRow, _ rowid: Int64) throws(SQLiteWriterError) {
    try tree?.append(row, rowid: rowid)
    try sorter?.append(row, rowColumns, rowid: rowid)
    for index in indexes { try index.sorter.append(row, index.columns, rowid: rowid) }
  }

  private static func problem(
    of row: borrowing SQLiteRow, _ definition: SQLiteTable, _ implicitCount: Int
  ) -> SQLiteWriterError? {
    if row.isComplete, row.problem == nil,
      row.recordByteCount <= SQLiteFormat.maximumRecordByteCount
    {
      return nil
    }
    let table = "the table \(definition.name.sqlQuoted)"
    guard row.isComplete else {
      return SQLiteWriterError(
        .invalidRow,
        "A row of \(table) has the wrong number of values: \(row.count - implicitCount) instead of "
          + "\(definition.columns.count). Append one value for each column.")
    }
    if let (position, problem) = row.problem {
      let column = definition.columns[position - implicitCount]
      let reason =
        switch problem {
        case .null: "requires a value, but a row contains none. Append a value"
        case .notANumber: "cannot store NaN. Use null or text instead"
        case .kind(let kind):
          "is declared \(column.type.declaration) and cannot store \(kind). Append a value of the "
            + "declared type"
        }
      return SQLiteWriterError(
        .invalidRow, "The column \(column.name.sqlQuoted) of \(table) \(reason).")
    }
    return SQLiteWriterError(
      .tooLarge,
      "A row of \(table) is \(row.recordByteCount) bytes long, but SQLite accepts at most "
        + "\(SQLiteFormat.maximumRecordByteCount) bytes. Shorten the values of the row.")
  }

  private func invalid(_ kind: SQLiteWriterError.Kind, _ problem: String) -> SQLiteWriterError {
    SQLiteWriterError(kind, "The table \(definition.name.sqlQuoted) \(problem).")
  }

  // MARK: Finishing

  private func finish() throws(SQLiteWriterError) {
    let root: UInt32
    if let sorter, case .columns(let key) = definition.key {
      root = try build(from: sorter, uniqueCount: key.count, "primary key")
    } else {
      root = try tree.take()?.finish() ?? 0
    }
    state.schema.setRoot(root, of: definition.name)
    for index in indexes {
      let count = index.definition.isUnique ? index.definition.columns.count : 0
      let name = "unique index \(index.definition.name.sqlQuoted)"
      let root = try build(from: index.sorter, uniqueCount: count, name)
      state.schema.setRoot(root, of: index.definition.name)
    }
  }

  /// Builds a b-tree from sorted records, and returns the number of the tree's root page.
  ///
  /// - Parameter uniqueCount: The number of leading values whose combination must be unique unless
  ///   it contains a null, or 0 if duplicates are allowed.
  private func build(
    from sorter: RecordSorter, uniqueCount: Int, _ name: String
  ) throws(SQLiteWriterError) -> UInt32 {
    var records = try sorter.finish()
    var tree = TreeBuilder(indexIn: state.output)
    var previous: [UInt8] = []
    while try records.moveToNext() {
      if uniqueCount > 0 {
        if !previous.isEmpty,
          RecordOrder.compare(previous, at: 0, records.record, at: 0, count: uniqueCount) == 0,
          !RecordOrder.hasNull(previous, count: uniqueCount)
        {
          throw duplicate(previous, records.record, name)
        }
        previous.removeAll(keepingCapacity: true)
        previous.append(contentsOf: records.record)
      }
      try tree.append(records.record)
    }
    return try tree.finish()
  }

  private func duplicate(
    _ record: [UInt8], _ other: [UInt8], _ name: String
  ) -> SQLiteWriterError {
    var rows = "two rows"
    if definition.hasRowid {
      rows =
        "rows \(RecordOrder.lastInteger(of: record)) and \(RecordOrder.lastInteger(of: other))"
    }
    return invalid(
      .duplicateKey,
      "has \(rows) with the same values in its \(name). Change or remove one of these rows")
  }
}
