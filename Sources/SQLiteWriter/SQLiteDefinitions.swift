/// The definition of a table and its indexes.
package struct SQLiteTable {
  /// The key that identifies and sorts the rows of a table.
  package enum Key: Equatable {
    /// The rowid, an `Int64`.
    ///
    /// If the rowid has a name, it is the first column of the table, and is declared
    /// `INTEGER PRIMARY KEY`. Otherwise, the rowid has only its implicit names, such as `rowid`.
    case rowid(String?)
    /// The given columns, in this order, as in a join table.
    ///
    /// The table is declared `WITHOUT ROWID`, so its b-tree is sorted by the key itself. An
    /// ordinary table would store each key twice, in its rows and in an automatic index. It would
    /// therefore be about twice as large, and a lookup would search two b-trees. SQLite has
    /// supported `WITHOUT ROWID` since version 3.8.2 (2013). Key columns cannot be null.
    case columns([String])
  }

  package var name: String
  package var key: Key
  /// The columns in order, without the rowid.
  package var columns: [SQLiteColumn]
  package var foreignKeys: [SQLiteForeignKey] = []
  package var indexes: [SQLiteIndex] = []

  package init(
    name: String, key: Key, columns: [SQLiteColumn], foreignKeys: [SQLiteForeignKey] = [],
    indexes: [SQLiteIndex] = []
  ) {
    self.name = name
    self.key = key
    self.columns = columns
    self.foreignKeys = foreignKeys
    self.indexes = indexes
  }
}

/// The definition of a column.
package struct SQLiteColumn {
  package var name: String
  package var type: SQLiteColumnType
  /// A Boolean value that indicates whether the column is declared `NOT NULL`.
  package var isRequired = false

  package init(_ name: String, _ type: SQLiteColumnType = .any, isRequired: Bool = false) {
    self.name = name
    self.type = type
    self.isRequired = isRequired
  }
}

/// The declared type of a column.
///
/// The affinity of the type decides which values the column accepts. The writer converts some of
/// these values, because SQLite assumes that the values in a file are already converted:
///
/// | affinity | values |
/// | --- | --- |
/// | text | null, text, blobs |
/// | real | null, reals, blobs; integers, which become reals |
/// | integer, numeric | null, integers, reals, blobs; reals equal to an integer become integers |
/// | blob | all, unchanged |
package enum SQLiteColumnType: Equatable {
  case integer
  case real
  case text
  case blob
  case numeric
  /// The absence of a declared type.
  ///
  /// The column stores every value unchanged.
  case any
  /// Any other type, such as `BOOLEAN`, whose affinity depends on the words in its name.
  case declared(String)

  /// The declared type in SQL, without quotation marks.
  package var declaration: String {
    switch self {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .blob: "BLOB"
    case .numeric: "NUMERIC"
    case .any: ""
    case .declared(let text): text
    }
  }

  /// The affinity, according to the rules in <https://www.sqlite.org/datatype3.html>, § 3.1.
  package var affinity: SQLiteAffinity {
    let text = declaration.asciiUppercased.utf8
    func contains(_ words: String...) -> Bool { words.contains { text.contains($0.utf8) } }
    if contains("INT") { return .numeric }
    if contains("CHAR", "CLOB", "TEXT") { return .text }
    if text.isEmpty || contains("BLOB") { return .blob }
    return contains("REAL", "FLOA", "DOUB") ? .real : .numeric
  }
}

/// The conversion that a column applies to the values that it stores.
///
/// Integer and numeric affinity differ only in casts, so one case represents both.
package enum SQLiteAffinity {
  case text
  case numeric
  case real
  case blob
}

/// The definition of an index.
///
/// All columns are sorted in ascending order, with the `BINARY` collation.
package struct SQLiteIndex {
  package var name: String
  package var columns: [String]
  /// A Boolean value that indicates whether keys must be unique.
  ///
  /// A key that contains a null is not equal to any other key.
  package var isUnique = false

  package init(_ name: String, on columns: [String], isUnique: Bool = false) {
    self.name = name
    self.columns = columns
    self.isUnique = isUnique
  }
}

/// The definition of a foreign key.
package struct SQLiteForeignKey {
  /// The action to take when the referenced row is deleted.
  package enum Deletion: String {
    case noAction = "NO ACTION"
    case restrict = "RESTRICT"
    case setNull = "SET NULL"
    case cascade = "CASCADE"
  }

  package var columns: [String]
  package var parentTable: String
  /// The referenced columns, which must be the primary key or have a unique index.
  package var parentColumns: [String]
  package var deletion = Deletion.noAction
  /// A Boolean value that indicates whether SQLite checks the key only at the end of a transaction.
  package var isDeferred = false

  package init(
    _ columns: [String], references parentTable: String, _ parentColumns: [String],
    deletion: Deletion = .noAction, isDeferred: Bool = false
  ) {
    self.columns = columns
    self.parentTable = parentTable
    self.parentColumns = parentColumns
    self.deletion = deletion
    self.isDeferred = isDeferred
  }
}

extension String {
  /// The text with the letters a to z in upper case.
  ///
  /// SQLite compares names in this form.
  package var asciiUppercased: String {
    String(decoding: utf8.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }, as: UTF8.self)
  }
}
