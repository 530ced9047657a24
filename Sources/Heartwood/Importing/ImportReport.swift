import Foundation

/// The result of an import.
public struct ImportReport: Sendable {
  /// An element that was not imported, with the reason.
  public struct Refusal: Sendable {
    /// The position of the element in the imported data, starting at 0.
    public let position: Int
    /// The path to the invalid value, such as `[3].properties.mag`.
    public let path: String
    /// The error that explains why the element was not imported.
    public let error: any Error
  }

  /// The number of elements that became new objects, before the merge policy merged any of them
  /// into other objects.
  public internal(set) var insertedCount = 0
  /// The number of elements that changed existing objects.
  public internal(set) var updatedCount = 0
  /// The number of elements that changed nothing because all their values were already set.
  public internal(set) var unchangedCount = 0
  /// The number of elements that were not imported.
  public internal(set) var refusedCount = 0
  /// The first 100 elements that were not imported, in order.
  ///
  /// ``refusedCount`` counts all elements that were not imported.
  public internal(set) var refusals: [Refusal] = []

  private static let refusalLimit = 100

  /// The keys in elements that do not correspond to any property.
  ///
  /// The set is empty unless the import reports such keys.
  package internal(set) var ignoredKeys: Set<String> = []

  /// The total number of elements.
  public var elementCount: Int { insertedCount + updatedCount + unchangedCount + refusedCount }

  mutating func refuse(_ position: Int, _ path: String, _ error: any Error) {
    refusedCount += 1
    // Search from the end, because elements are usually refused in ascending order of position.
    let index = refusals.lastIndex { $0.position <= position }.map { $0 + 1 } ?? 0
    guard index < Self.refusalLimit else { return }
    refusals.insert(Refusal(position: position, path: path, error: error), at: index)
    if refusals.count > Self.refusalLimit { refusals.removeLast() }
  }
}

extension ImportReport {
  /// Returns the path to the value that an error refers to, such as `[3].properties.mag`.
  static func path(of error: any Error, _ position: Int) -> String {
    let path: [any CodingKey] =
      switch error as? DecodingError {
      case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?,
        .dataCorrupted(let context)?:
        context.codingPath
      case .keyNotFound(let key, let context)?: context.codingPath + [key]
      default: []
      }
    return path.reduce("[\(position)]") { path, key in
      path + (key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)")
    }
  }

  /// Returns a description of an error, without the path to the invalid value.
  static func reason(of error: any Error) -> String {
    if let error = error as? ObjectGraphError { return error.message }
    switch error as? DecodingError {
    case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?,
      .keyNotFound(_, let context)?, .dataCorrupted(let context)?:
      return context.debugDescription.isEmpty ? "\(error)" : context.debugDescription
    default: return "\(error)"
    }
  }

  /// Returns the error to throw for an element that cannot be imported.
  static func invalid(_ position: Int, _ error: any Error) -> any Error {
    if let error = error as? ObjectGraphError, error.kind == .invalidElement { return error }
    return ObjectGraphError(
      .invalidElement,
      "\(path(of: error, position)) cannot be imported: \(reason(of: error)) Nothing was saved. "
        + "Correct the element, or skip invalid elements.", underlyingError: error)
  }
}
