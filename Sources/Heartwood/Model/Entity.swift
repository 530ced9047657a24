/// What a class of objects is called in the store, and which rules hold for all of them.
///
/// ```swift
/// override class var entity: Entity {
///   Entity("Quake") {
///     Unique(\Quake.code)
///     Index(\Quake.time)
///   }
/// }
/// ```
public struct Entity {
  /// The name in the store.
  public var name: String
  /// Whether only subclasses have objects.
  public var isAbstract: Bool
  /// The names earlier versions of the model gave it.
  public var renamedFrom: [String]
  var rules: [any EntityRule]

  /// Describes a class.
  ///
  /// - Parameters:
  ///   - name: The name in the store, the same as long as the store lives.
  ///   - abstract: Whether only subclasses have objects.
  ///   - renamedFrom: The names earlier versions of the model gave it.
  ///   - rules: ``Unique``, ``Index``, ``Inverse`` and ``Derived`` declarations.
  public init(
    _ name: String, abstract: Bool = false, renamedFrom: String...,
    @EntityBuilder rules: () -> [any EntityRule] = { [] }
  ) {
    self.name = name
    isAbstract = abstract
    self.renamedFrom = renamedFrom
    self.rules = rules()
  }
}

/// A rule for all objects of an entity: ``Unique``, ``Index``, ``Inverse`` or ``Derived``.
public protocol EntityRule {}

/// Declares that no two objects have the same values of some attributes; `nil` is like no other.
public struct Unique: EntityRule {
  let attributes: [AnyKeyPath]

  /// Declares attributes that are unique together.
  public init<Owner>(_ attributes: PartialKeyPath<Owner>...) { self.attributes = attributes }
}

/// Declares that objects are to be found quickly by some attributes, by the first one first.
public struct Index: EntityRule {
  let attributes: [AnyKeyPath]

  /// Declares attributes to find objects by.
  public init<Owner>(_ attributes: PartialKeyPath<Owner>...) { self.attributes = attributes }
}

/// Declares that two relationships are each other's inverse, where no wrapper says so.
public struct Inverse: EntityRule {
  let relationship: AnyKeyPath
  let inverse: AnyKeyPath

  /// Declares the two sides of a relationship.
  public init<Owner, Destination>(
    _ relationship: PartialKeyPath<Owner>, _ inverse: PartialKeyPath<Destination>
  ) {
    self.relationship = relationship
    self.inverse = inverse
  }
}

/// Collects the rules of an ``Entity``.
@resultBuilder
public enum EntityBuilder {
  /// One rule after the other.
  public static func buildBlock(_ rules: any EntityRule...) -> [any EntityRule] { rules }
}
