public import Foundation

/// A rule that computes an attribute from other properties at each save.
///
/// ```swift
/// override class var entity: Entity {
///   Entity("Person") {
///     Derived(\Person.searchName, .canonical(\Person.name))
///     Derived(\Person.carCount, .count(\Person.cars))
///   }
/// }
/// ```
///
/// The computed value is visible after the save, and replaces any value that you have set. The
/// source must not itself be a derived attribute. If there is no source value, the save sets an
/// optional derived attribute to `nil`, and any other derived attribute to its initial value.
public struct Derived: EntityRule {
  let attribute: AnyKeyPath
  let formula: DerivationFormula

  /// Creates a rule that computes an attribute with the given derivation.
  public init<Owner, Value>(
    _ attribute: KeyPath<Owner, Value>, _ derivation: Derivation<Owner, Value>
  ) {
    self.attribute = attribute
    formula = derivation.formula
  }
}

/// A way to compute a derived attribute of type `Value` in objects of class `Owner`.
public struct Derivation<Owner, Value: AttributeValue> {
  let formula: DerivationFormula
}

/// The sources of a derivation, and the function that computes its value.
struct DerivationFormula {
  /// The name of the function.
  ///
  /// The name must never change, because stores record it.
  let name: String
  /// The relationship to the source objects, or `nil` if the source is the object itself.
  var relationship: AnyKeyPath?
  /// The source attribute, or `nil` if the derived value is the number of related objects or the
  /// time of the save.
  var attribute: AnyKeyPath?
  /// A closure that computes the value.
  ///
  /// The closure returns `null` if there is no value, and `nil` if the value does not fit in the
  /// type of the derived attribute. The argument contains the values of the source attribute,
  /// excluding `nil` values. If there is no source attribute, the argument contains the object
  /// number of each related object. If there is no relationship either, the argument contains the
  /// time of the save.
  let compute: ([StoredValue]) throws -> StoredValue?

  /// A Boolean value that indicates whether the function compares the values with each other.
  var comparesValues: Bool { name == "min" || name == "max" }

  static func first(_ values: [StoredValue]) -> StoredValue? { values.first ?? .null }
}

// MARK: From the object itself

extension Derivation {
  private static func text(_ form: TextForm, _ source: AnyKeyPath) -> Derivation {
    Derivation(
      formula: DerivationFormula(name: form.rawValue, attribute: source, compute: form.compute))
  }
}

/// A derived form of a string.
///
/// The raw value is the name of the formula.
enum TextForm: String {
  case canonical
  case uppercase
  case lowercase

  func compute(_ values: [StoredValue]) -> StoredValue? {
    guard case .string(let text)? = values.first else { return .null }
    return switch self {
    case .canonical:
      .string(text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil))
    case .uppercase: .string(text.uppercased())
    case .lowercase: .string(text.lowercased())
    }
  }
}

extension Derivation where Value == String {
  /// Returns a derivation that folds the case and diacritics of a string, for searches that ignore
  /// case and diacritics.
  public static func canonical(_ source: KeyPath<Owner, String>) -> Derivation {
    text(.canonical, source)
  }
  /// Returns a derivation that converts a string to upper case.
  public static func uppercase(_ source: KeyPath<Owner, String>) -> Derivation {
    text(.uppercase, source)
  }
  /// Returns a derivation that converts a string to lower case.
  public static func lowercase(_ source: KeyPath<Owner, String>) -> Derivation {
    text(.lowercase, source)
  }
}

extension Derivation where Value == String? {
  /// Returns a derivation that folds the case and diacritics of a string, for searches that ignore
  /// case and diacritics.
  public static func canonical(_ source: KeyPath<Owner, String?>) -> Derivation {
    text(.canonical, source)
  }
  /// Returns a derivation that converts a string to upper case.
  public static func uppercase(_ source: KeyPath<Owner, String?>) -> Derivation {
    text(.uppercase, source)
  }
  /// Returns a derivation that converts a string to lower case.
  public static func lowercase(_ source: KeyPath<Owner, String?>) -> Derivation {
    text(.lowercase, source)
  }
}

extension Derivation {
  private static var time: Derivation {
    Derivation(formula: DerivationFormula(name: "now", compute: DerivationFormula.first))
  }
}

extension Derivation where Value == Date {
  /// A derivation whose value is the time of the last save that inserted or updated the object.
  public static var now: Derivation { time }
}

extension Derivation where Value == Date? {
  /// A derivation whose value is the time of the last save that inserted or updated the object.
  public static var now: Derivation { time }
}

// MARK: From a related object

extension Derivation {
  private static func copy(of relationship: AnyKeyPath, attribute: AnyKeyPath) -> Derivation {
    Derivation(
      formula: DerivationFormula(
        name: "copy", relationship: relationship, attribute: attribute,
        compute: DerivationFormula.first))
  }

  /// Returns a derivation that copies an attribute of the object at the other end of a
  /// relationship.
  public static func copy<Destination>(
    of relationship: KeyPath<Owner, Destination?>, _ attribute: KeyPath<Destination, Value>
  ) -> Derivation {
    copy(of: relationship, attribute: attribute)
  }

  /// Returns a derivation that copies an attribute of the object at the other end of a
  /// relationship.
  ///
  /// If there is no such object, the result is `nil`.
  public static func copy<Destination, Wrapped>(
    of relationship: KeyPath<Owner, Destination?>, _ attribute: KeyPath<Destination, Wrapped>
  ) -> Derivation where Value == Wrapped? {
    copy(of: relationship, attribute: attribute)
  }
}
