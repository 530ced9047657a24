/// A format in which a context exports objects.
public enum ExportFormat: Sendable {
  /// One JSON array of objects.
  case json
  /// One JSON object per line.
  case jsonLines
  /// Comma-separated values with a header, as in RFC 4180.
  ///
  /// `nil` is written as an empty field, and an empty string is quoted. `Codable` values are
  /// written as JSON text.
  case csv
}
