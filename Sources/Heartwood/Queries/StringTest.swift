/// A test that a predicate applies to a string property.
public struct StringTest: Sendable {
  enum Kind: Sendable {
    case equality
    case text(StringOperator)
  }

  let kind: Kind
  let text: String

  /// Returns a test of whether a string equals `text`.
  public static func equals(_ text: String) -> StringTest {
    StringTest(kind: .equality, text: text)
  }

  /// Returns a test of whether a string contains `text`.
  public static func contains(_ text: String) -> StringTest {
    StringTest(kind: .text(.contains), text: text)
  }

  /// Returns a test of whether a string begins with `text`.
  public static func begins(with text: String) -> StringTest {
    StringTest(kind: .text(.begins), text: text)
  }

  /// Returns a test of whether a string ends with `text`.
  public static func ends(with text: String) -> StringTest {
    StringTest(kind: .text(.ends), text: text)
  }

  /// Returns a test of whether a string matches `pattern`, in which `*` matches any number of
  /// characters and `?` matches one character.
  public static func like(_ pattern: String) -> StringTest {
    StringTest(kind: .text(.like), text: pattern)
  }
}

/// Differences that can be ignored in string comparisons.
public struct StringDifferences: OptionSet, Sendable {
  /// The differences as bits.
  public let rawValue: UInt8

  /// Creates a set of differences from its bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Differences between uppercase and lowercase letters.
  public static let `case` = StringDifferences(rawValue: 1)
  /// Differences in accents and other marks, such as between `e` and `é`.
  public static let diacritics = StringDifferences(rawValue: 2)
}

extension QueryPredicate {
  /// Creates a predicate that tests a string property.
  ///
  /// ```swift
  /// request.predicate = QueryPredicate(\.title, .begins(with: "cafe"), ignoring: .case)
  /// ```
  ///
  /// The tests correspond to the operators `==`, `CONTAINS`, `BEGINSWITH`, `ENDSWITH` and `LIKE` of
  /// the format language.
  ///
  /// - Parameters:
  ///   - keyPath: A string property of the object, or of an object reached through to-one
  ///     relationships.
  ///   - test: The test to apply to the property's value.
  ///   - differences: The differences to ignore.
  public init(
    _ keyPath: any KeyPath<M, String> & Sendable, _ test: StringTest,
    ignoring differences: StringDifferences = []
  ) {
    self.init(path: keyPath, test, differences)
  }

  /// Creates a predicate that tests an optional string property.
  ///
  /// A `nil` value does not pass any test. The parameters are the same as for a non-optional
  /// string.
  public init(
    _ keyPath: any KeyPath<M, String?> & Sendable, _ test: StringTest,
    ignoring differences: StringDifferences = []
  ) {
    self.init(path: keyPath, test, differences)
  }
}
