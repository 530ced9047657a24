public import Foundation

/// Declares that an attribute is computed from others each time its object is saved.
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
/// What is computed is seen when the save is over, and what was set by hand is lost then. What it
/// is computed from must not be derived itself. Where there is nothing to compute it from, the
/// attribute is `nil`, or what it is in a new object.
public struct Derived: EntityRule {
  let attribute: AnyKeyPath
  let formula: DerivationFormula

  /// Declares how an attribute is computed.
  public init<Owner, Value>(
    _ attribute: KeyPath<Owner, Value>, _ derivation: Derivation<Owner, Value>
  ) {
    self.attribute = attribute
    formula = derivation.formula
  }
}

/// How an attribute of type `Value` is computed for objects of class `Owner`.
public struct Derivation<Owner, Value: AttributeValue> {
  let formula: DerivationFormula
}

/// What an attribute is computed from, and how.
struct DerivationFormula {
  /// What it does, in a word that must stay the same: stores keep it.
  let name: String
  /// The relationship to the objects it is computed from, if it is not computed from its own.
  var relationship: AnyKeyPath?
  var attribute: AnyKeyPath?
  /// Computes the value from those there are; `null` if there is none, `nil` if it does not fit.
  ///
  /// Given are the values of the attribute, without those that are `nil`; without an attribute the
  /// numbers of the related objects, and without a relationship either, the time.
  let compute: ([StoredValue]) throws -> StoredValue?
}

// MARK: From the object itself

extension Derivation {
  private static func text(
    _ name: String, _ source: AnyKeyPath, _ change: @escaping (String) -> String
  ) -> Derivation {
    Derivation(
      formula: DerivationFormula(name: name, attribute: source) { values in
        guard case .string(let text)? = values.first else { return .null }
        return .string(change(text))
      })
  }

  private static func canonical(of source: AnyKeyPath) -> Derivation {
    text("canonical", source) {
      $0.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    }
  }
}

extension Derivation where Value == String {
  /// The text without upper case and accents, which finds it however it is written.
  public static func canonical(_ source: KeyPath<Owner, String>) -> Derivation {
    canonical(of: source)
  }
  /// The text in capitals.
  public static func uppercase(_ source: KeyPath<Owner, String>) -> Derivation {
    text("uppercase", source) { $0.uppercased() }
  }
  /// The text in small letters.
  public static func lowercase(_ source: KeyPath<Owner, String>) -> Derivation {
    text("lowercase", source) { $0.lowercased() }
  }
}

extension Derivation where Value == String? {
  /// The text without upper case and accents, which finds it however it is written.
  public static func canonical(_ source: KeyPath<Owner, String?>) -> Derivation {
    canonical(of: source)
  }
  /// The text in capitals.
  public static func uppercase(_ source: KeyPath<Owner, String?>) -> Derivation {
    text("uppercase", source) { $0.uppercased() }
  }
  /// The text in small letters.
  public static func lowercase(_ source: KeyPath<Owner, String?>) -> Derivation {
    text("lowercase", source) { $0.lowercased() }
  }
}

extension Derivation {
  private static var time: Derivation {
    Derivation(formula: DerivationFormula(name: "now") { $0.first })
  }
}

extension Derivation where Value == Date {
  /// The time of the last save in which the object was new or changed.
  public static var now: Derivation { time }
}

extension Derivation where Value == Date? {
  /// The time of the last save in which the object was new or changed.
  public static var now: Derivation { time }
}

// MARK: From an object it refers to

extension Derivation {
  private static func copy(of relationship: AnyKeyPath, attribute: AnyKeyPath) -> Derivation {
    Derivation(
      formula: DerivationFormula(
        name: "copy", relationship: relationship, attribute: attribute
      ) { $0.first ?? .null })
  }

  /// What an attribute is in the object at the other end of a relationship.
  public static func copy<Destination>(
    of relationship: KeyPath<Owner, Destination?>, _ attribute: KeyPath<Destination, Value>
  ) -> Derivation {
    copy(of: relationship, attribute: attribute)
  }

  /// What an attribute is in the object at the other end of a relationship; `nil` without one.
  public static func copy<Destination, Wrapped>(
    of relationship: KeyPath<Owner, Destination?>, _ attribute: KeyPath<Destination, Wrapped>
  ) -> Derivation where Value == Wrapped? {
    copy(of: relationship, attribute: attribute)
  }
}
