public import Foundation

/// Options for importing JSON elements.
public struct ImportOptions: Sendable {
  /// A policy for elements that cannot be imported.
  public enum InvalidElements: Sendable {
    /// The import throws an error and saves nothing.
    case stop
    /// The import skips the element and lists it in the report.
    case skip
  }

  /// The path to each property's value in an element, keyed by property name.
  ///
  /// A path consists of keys separated by dots: `["magnitude": "properties.mag"]`. For a property
  /// that is not listed, the key is the property's name in the class or in the store.
  public var keys: [String: String] = [:]
  /// The path to the array that contains the elements, such as `features`.
  ///
  /// The property is `nil` if the text itself is an array, or a sequence of values such as JSON
  /// lines.
  public var elements: String?
  /// The strategy for decoding dates.
  ///
  /// By default, dates are in ISO 8601 format, with or without fractional seconds.
  public var dateDecodingStrategy = ExactDates.decoding
  /// The strategy for decoding `Data` values.
  public var dataDecodingStrategy = JSONDecoder.DataDecodingStrategy.base64
  /// The policy for elements that cannot be imported.
  public var invalidElements = InvalidElements.stop
  /// A closure that is called with the number of elements and bytes read so far, about once per
  /// thousand elements.
  public var progress: (@Sendable (_ elementCount: Int, _ byteCount: Int) -> Void)?

  /// Creates options with default values.
  public init() {}
}
