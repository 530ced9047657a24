import Foundation

/// Support for strings that represent dates, UUIDs and objects.
///
/// The format language has no literals of these types. A program passes such values as arguments,
/// but a condition on the command line of `heartwoodctl` can contain only strings.
extension QueryResolver {
  /// Converts the constant strings in `term` to the type of `other`, with which `term` is compared.
  ///
  /// The term is returned unchanged if it contains no constant strings, or if this resolver does
  /// not read strings as values of that type.
  ///
  /// - Throws: `unsupportedPredicate` if a string does not represent a value of that type.
  func reading(_ term: QueryTerm, as other: QueryTerm) throws -> QueryTerm {
    guard let textModel else { return term }
    if let constants = term.constants, case .list(.text) = term.type, other.type.isReadFromText {
      let values = try constants.map { try value($0, as: other, textModel) }
      return QueryTerm(term.name, other.type, constants: values)
    }
    guard let constant = term.constant, case .string = constant, case .text = term.type,
      other.type.isReadFromText, other.constant == nil
    else { return term }
    return QueryTerm(constant: try value(constant, as: other, textModel), other.type)
  }

  private func value(
    _ value: StoredValue, as other: QueryTerm, _ model: StoreModel
  ) throws -> StoredValue {
    guard case .string(let text) = value else { return value }
    switch other.type {
    case .date:
      if let date = ExactDates.date(from: text) ?? ExactDates.date(from: text + "T00:00:00Z") {
        return date.storedValue
      }
      throw unreadable(
        text, other, "a date in ISO 8601 format, such as 2026-11-27 or 2026-11-27T09:41:00Z")
    case .uuid:
      if let uuid = UUID(uuidString: text) { return uuid.storedValue }
      throw unreadable(text, other, "a UUID")
    default:
      if let number = model.number(text) { return .integer(number.bits) }
      throw unreadable(text, other, "the ID of an object, such as Team/1")
    }
  }

  private func unreadable(
    _ text: String, _ other: QueryTerm, _ wanted: String
  ) -> ObjectGraphError {
    Self.unsupported(
      "\(other.name) cannot be compared with \"\(text.prefix(100))\". Use \(wanted).")
  }
}

extension QueryType {
  /// A Boolean value that indicates whether a condition can contain a string in place of a value of
  /// this type.
  fileprivate var isReadFromText: Bool {
    switch self {
    case .date, .uuid, .object: true
    default: false
    }
  }
}
