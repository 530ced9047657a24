/// The SQL statements that define the schema.
///
/// All names are quoted, so any name without a NUL character is possible, including keywords. The
/// statements have the form in which SQLite itself stores them; see
/// <https://www.sqlite.org/fileformat2.html>, § 2.6.
extension SQLiteTable {
  /// The statement that creates the table.
  package var sql: String {
    var items: [String] = []
    if case .rowid(let name?) = key { items.append("\(name.sqlQuoted) INTEGER PRIMARY KEY") }
    items += columns.map { column in
      var item = column.name.sqlQuoted
      if !column.type.declaration.isEmpty { item += " \(column.type.sql)" }
      return isRequired(column) ? item + " NOT NULL" : item
    }
    if case .columns(let names) = key { items.append("PRIMARY KEY (\(names.sqlQuoted))") }
    items += foreignKeys.map(\.sql)
    let end = hasRowid ? "" : " WITHOUT ROWID"
    return "CREATE TABLE \(name.sqlQuoted) (\(items.joined(separator: ", ")))\(end)"
  }

  /// A Boolean value that indicates whether the rows have rowids.
  var hasRowid: Bool {
    if case .rowid = key { return true }
    return false
  }

  /// Returns whether `column` must not contain null, either because of its own definition or
  /// because it is part of the key.
  func isRequired(_ column: SQLiteColumn) -> Bool {
    guard case .columns(let names) = key else { return column.isRequired }
    return column.isRequired || names.contains { $0.isSameSQLName(as: column.name) }
  }

  /// Returns the position of a column in ``columns``, -1 for the rowid column, or `nil` if there
  /// is no such column.
  func position(of name: String) -> Int? {
    if case .rowid(let rowid?) = key, rowid.isSameSQLName(as: name) { return -1 }
    return columns.firstIndex { $0.name.isSameSQLName(as: name) }
  }
}

extension SQLiteColumnType {
  /// The declared type as it appears in a statement.
  fileprivate var sql: String {
    if case .declared(let text) = self { return text.sqlQuoted }
    return declaration
  }
}

extension SQLiteIndex {
  /// Returns the statement that creates the index on a table.
  func sql(table: String) -> String {
    "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(name.sqlQuoted) ON \(table.sqlQuoted) "
      + "(\(columns.sqlQuoted))"
  }
}

extension SQLiteForeignKey {
  fileprivate var sql: String {
    var text =
      "FOREIGN KEY (\(columns.sqlQuoted)) REFERENCES \(parentTable.sqlQuoted) "
      + "(\(parentColumns.sqlQuoted))"
    if deletion != .noAction { text += " ON DELETE \(deletion.rawValue)" }
    return isDeferred ? text + " DEFERRABLE INITIALLY DEFERRED" : text
  }
}

extension String {
  /// The name in quotation marks, with its own quotation marks doubled.
  package var sqlQuoted: String {
    // Compare scalars, because a quotation mark and a following combining mark form one character.
    var result = String.UnicodeScalarView()
    result.append("\"")
    for scalar in unicodeScalars {
      if scalar == "\"" { result.append(scalar) }
      result.append(scalar)
    }
    result.append("\"")
    return String(result)
  }

  /// Returns whether SQLite treats this name and `other` as equal.
  ///
  /// The comparison ignores only the case of the letters a to z. Strings that are canonically
  /// equivalent but not identical are different names.
  func isSameSQLName(as other: String) -> Bool { sqlNameKey == other.sqlNameKey }

  /// A key for comparing the name with other names.
  ///
  /// Two names have the same key if and only if SQLite treats them as equal.
  var sqlNameKey: [UInt8] { Array(asciiUppercased.utf8) }
}

extension [String] {
  fileprivate var sqlQuoted: String { map(\.sqlQuoted).joined(separator: ", ") }
}
