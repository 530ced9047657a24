/// An error that occurred while writing a SQLite file, with a message for the user.
package struct SQLiteWriterError: Error, Equatable {
  /// The kinds of errors.
  package enum Kind: Equatable, Sendable {
    /// A file already exists at the path of the new file.
    case fileExists
    /// A call to the operating system failed with this error number.
    case system(code: Int32)
    /// A name is empty, reserved or already in use, or contains a NUL character.
    case invalidName
    /// A table, an index or a view is defined in a way that SQLite would reject.
    case invalidDefinition
    /// A row has the wrong number of values, or a value that its column cannot store.
    case invalidRow
    /// A rowid is not greater than the rowid of the previous row.
    case unorderedRowid
    /// Two rows have the same primary key, or the same key in a unique index.
    case duplicateKey
    /// A row or the file exceeds a limit of SQLite.
    case tooLarge
    /// The table or the file accepts no more rows, because it is closed or an earlier call failed.
    case closed
  }

  package let kind: Kind
  package let message: String

  init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
