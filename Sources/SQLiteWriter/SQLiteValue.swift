/// A value in a row, in one of SQLite's five storage classes.
///
/// Where speed matters, use the methods of ``SQLiteRow`` that append an integer, a number, text or
/// bytes directly, without a value of this type.
package enum SQLiteValue: Equatable, Sendable {
  case null
  case integer(Int64)
  /// A floating-point number.
  ///
  /// The number must not be NaN, because SQLite cannot store NaN.
  case real(Double)
  /// A string.
  ///
  /// The string may contain NUL characters, although many SQL functions stop at the first NUL.
  case text(String)
  case blob([UInt8])
}
