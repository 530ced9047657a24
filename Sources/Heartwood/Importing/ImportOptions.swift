public import Foundation

/// The options of an import of JSON elements.
public struct ImportOptions: Sendable {
  /// What an import does with an element that cannot be imported.
  public enum InvalidElements: Sendable {
    /// The import throws, and nothing is saved.
    case stop
    /// The element is skipped and listed in the report.
    case skip
  }

  /// The path of each property's value in an element, by the name of the property.
  ///
  /// A path consists of keys, separated by dots: `["magnitude": "properties.mag"]`. The value of
  /// any other property has the property's name as its key.
  public var keys: [String: String] = [:]
  /// The path of the array that contains the elements, such as `features`, or `nil` if the text is
  /// an array, or one value after another as in JSON lines.
  public var elements: String?
  /// The format of dates; by default ISO 8601, with or without fractions of seconds.
  public var dateDecodingStrategy = ExactDates.decoding
  /// The format of `Data`.
  public var dataDecodingStrategy = JSONDecoder.DataDecodingStrategy.base64
  /// What happens to an element that cannot be imported.
  public var invalidElements = InvalidElements.stop
  /// A closure that is called with the number of elements and bytes read so far, about once for
  /// every thousand elements.
  public var progress: (@Sendable (_ elementCount: Int, _ byteCount: Int) -> Void)?

  /// Creates options with the values above.
  public init() {}
}

/// The result of an import.
public struct ImportReport: Sendable {
  /// The reason why an element was not imported.
  public struct Refusal: Sendable {
    /// The position of the element.
    public let position: Int
    /// The path of the value, such as `[3].properties.mag`.
    public let path: String
    /// The error.
    public let error: any Error
  }

  // The counts are of elements, whatever a merge policy does with their objects.

  /// The number of elements that became new objects.
  public internal(set) var insertedCount = 0
  /// The number of elements that changed existing objects.
  public internal(set) var updatedCount = 0
  /// The number of elements whose objects already had all their values.
  public internal(set) var unchangedCount = 0
  /// The number of elements that were not imported.
  public internal(set) var refusedCount = 0
  /// The elements that were not imported, in order; at most 100, although ``refusedCount`` counts
  /// all of them.
  public internal(set) var refusals: [Refusal] = []

  /// The number of all elements.
  public var elementCount: Int { insertedCount + updatedCount + unchangedCount + refusedCount }

  mutating func refuse(_ position: Int, _ path: String, _ error: any Error) {
    refusedCount += 1
    if refusals.count < 100 {
      refusals.append(Refusal(position: position, path: path, error: error))
    }
  }
}
