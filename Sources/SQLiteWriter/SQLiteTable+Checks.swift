/// Methods that check definitions, so that errors are thrown before anything is written.
///
/// SQLite reads the statements of the schema each time it opens the file, so a single invalid
/// statement would make the entire file unreadable.
extension SQLiteTable {
  /// Checks the table and its indexes, except for anything that depends on other tables.
  ///
  /// - Throws: ``SQLiteWriterError`` of the kind `invalidName`, `invalidDefinition` or `tooLarge`.
  func check() throws(SQLiteWriterError) {
    var names = columns.map(\.name)
    if case .rowid(let name?) = key { names.insert(name, at: 0) }
    for name in names { try SQLiteNames.check(name, "column") }
    guard Set(names.map(\.sqlNameKey)).count == names.count else {
      throw invalid("has two columns with the same name. Rename one of them")
    }
    guard !names.isEmpty else { throw invalid("has no columns. Add at least one column") }
    guard names.count <= SQLiteFormat.maximumColumnCount else {
      throw invalid("has more than \(SQLiteFormat.maximumColumnCount) columns. Remove some of them")
    }
    for column in columns where column.type.declaration.utf8.contains(0) {
      throw invalid("declares a column type that contains a NUL character. Remove the character")
    }
    if case .columns(let key) = key { try check(key, "the primary key") }
    for index in indexes {
      try check(index.columns, "the index \(index.name.sqlQuoted)")
      try SQLiteNames.checkByteCount(of: index.sql(table: name))
    }
    for foreignKey in foreignKeys {
      try check(foreignKey.columns, "a foreign key")
      guard foreignKey.columns.count == foreignKey.parentColumns.count else {
        throw invalid(
          "has a foreign key whose two column lists differ in length. Specify one parent column "
            + "for each column")
      }
    }
    try SQLiteNames.checkByteCount(of: sql)
  }

  /// Checks that every foreign key refers to the primary key or a unique index of a table.
  ///
  /// - Parameter tables: All tables of the file, keyed by ``Swift/String/sqlNameKey``.
  func checkForeignKeys(in tables: [[UInt8]: SQLiteTable]) throws(SQLiteWriterError) {
    for foreignKey in foreignKeys {
      guard let parent = tables[foreignKey.parentTable.sqlNameKey] else {
        throw invalid(
          "has a foreign key to the table \(foreignKey.parentTable.sqlQuoted), which the file does "
            + "not contain. Add that table, or remove the foreign key")
      }
      guard parent.isUnique(foreignKey.parentColumns) else {
        throw invalid(
          "has a foreign key to columns that form neither the primary key nor a unique index of "
            + "the table \(parent.name.sqlQuoted). Refer to other columns, or add a unique index")
      }
    }
  }

  /// Returns whether exactly these columns form the primary key or the key of a unique index.
  private func isUnique(_ names: [String]) -> Bool {
    let wanted = Set(names.map(\.sqlNameKey))
    var keys = indexes.filter(\.isUnique).map(\.columns)
    switch key {
    case .rowid(let name): if let name { keys.append([name]) }
    case .columns(let columns): keys.append(columns)
    }
    return keys.contains { $0.count == names.count && Set($0.map(\.sqlNameKey)) == wanted }
  }

  private func check(_ names: [String], _ owner: String) throws(SQLiteWriterError) {
    guard !names.isEmpty else {
      throw invalid("specifies no columns for \(owner). Specify at least one column")
    }
    for name in names where position(of: name) == nil {
      throw invalid(
        "has no column \(name.sqlQuoted), but \(owner) refers to this column. Use the name of an "
          + "existing column")
    }
    guard Set(names.map(\.sqlNameKey)).count == names.count else {
      throw invalid("specifies a column twice for \(owner). Specify each column only once")
    }
  }

  private func invalid(_ problem: String) -> SQLiteWriterError {
    SQLiteWriterError(.invalidDefinition, "The table \(name.sqlQuoted) \(problem).")
  }
}

/// The names of the tables, indexes and views of a file.
///
/// All these names share one namespace, which ignores the case of the letters a to z.
struct SQLiteNames {
  private var used: Set<[UInt8]> = []

  /// Adds the name of a table, an index or a view.
  ///
  /// - Throws: ``SQLiteWriterError`` of the kind `invalidName` if the name is invalid or in use.
  mutating func insert(_ name: String, _ what: String) throws(SQLiteWriterError) {
    try Self.check(name, what, isSchemaName: true)
    guard used.insert(name.sqlNameKey).inserted else {
      throw SQLiteWriterError(
        .invalidName,
        "The name \(name.sqlQuoted) is already in use. Tables, indexes and views must have "
          + "different names. SQLite ignores case in names. Choose a different name.")
    }
  }

  /// Throws an error if a name is invalid.
  ///
  /// A name must not be empty, and must not contain a NUL character, at which SQLite would end the
  /// statement.
  ///
  /// - Parameter isSchemaName: Whether the name belongs to a table, an index or a view. Such a name
  ///   must not begin with `sqlite_`.
  static func check(
    _ name: String, _ what: String, isSchemaName: Bool = false
  ) throws(SQLiteWriterError) {
    let key = name.sqlNameKey
    guard !key.isEmpty else {
      throw SQLiteWriterError(
        .invalidName,
        "The \(what) name is empty. Specify a name.")
    }
    guard !key.contains(0) else {
      throw SQLiteWriterError(
        .invalidName,
        "The \(what) name contains a NUL character, which SQL does not allow. Remove the "
          + "character.")
    }
    guard !isSchemaName || !key.starts(with: "SQLITE_".utf8) else {
      throw SQLiteWriterError(
        .invalidName,
        "The name \(name.sqlQuoted) begins with sqlite_, which SQLite reserves. Choose a different "
          + "name.")
    }
  }

  /// Throws an error if a statement is longer than SQLite allows.
  static func checkByteCount(of sql: String) throws(SQLiteWriterError) {
    guard sql.utf8.count <= SQLiteFormat.maximumSQLByteCount else {
      throw SQLiteWriterError(
        .tooLarge,
        "A schema statement is \(sql.utf8.count) bytes long, but SQLite accepts at most "
          + "\(SQLiteFormat.maximumSQLByteCount) bytes. Use shorter names or fewer columns.")
    }
  }
}
