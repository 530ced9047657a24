/// A value in a row, in one of SQLite's five storage classes.
///
/// Where speed matters, use the methods of ``SQLiteRow`` that take an integer, a number, a text or
/// bytes. These methods do not need a value of this type.
package enum SQLiteValue: Equatable, Sendable {
  case null
  case integer(Int64)
  /// A number.
  ///
  /// The number must not be NaN, because SQLite cannot store NaN.
  case real(Double)
  /// A text.
  ///
  /// The text may contain NUL characters, although many SQL functions end a text at the first NUL.
  case text(String)
  case blob([UInt8])
}
