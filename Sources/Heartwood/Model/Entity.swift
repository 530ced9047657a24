/// The declaration of a class in the model: its name in the store, and the rules for its objects.
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
  /// The entity's name in the store.
  public var name: String
  /// A Boolean value that indicates whether the class is abstract.
  ///
  /// Only the subclasses of an abstract class have instances.
  public var isAbstract: Bool
  /// The entity's names in earlier versions of the model.
  public var renamedFrom: [String]
  var rules: [any EntityRule]

  /// Creates the declaration of a class.
  ///
  /// - Parameters:
  ///   - name: The entity's name in the store, which must never change.
  ///   - isAbstract: `true` if the class is abstract, so that only its subclasses have instances.
  ///   - renamedFrom: The entity's names in earlier versions of the model.
  ///   - rules: ``Unique``, ``Index``, ``TextIndex``, ``Inverse`` and ``Derived`` declarations.
  public init(
    _ name: String, isAbstract: Bool = false, renamedFrom: String...,
    @EntityBuilder rules: () -> [any EntityRule] = { [] }
  ) {
    self.name = name
    self.isAbstract = isAbstract
    self.renamedFrom = renamedFrom
    self.rules = rules()
  }
}

/// A rule for all objects of an entity: ``Unique``, ``Index``, ``TextIndex``, ``Inverse`` or
/// ``Derived``.
public protocol EntityRule {}

/// A unique constraint: no two objects of an entity may have the same combination of values in the
/// given attributes.
///
/// `nil` does not equal any value, not even another `nil`.
public struct Unique: EntityRule {
  let attributes: [AnyKeyPath]

  /// Creates a unique constraint on the combined values of the given attributes.
  public init<Owner>(_ attributes: PartialKeyPath<Owner>...) { self.attributes = attributes }
}

/// A rule for a single attribute, declared together with the attribute.
///
/// For rules that combine several attributes, use ``Unique`` and ``Index``.
public enum AttributeRule: Sendable {
  /// The attribute's values must be unique among the objects of the entity, as with ``Unique``.
  case unique
  /// The attribute has an index, as with ``Index``.
  case indexed
}

/// An index over one or more attributes.
///
/// The entries of the index are sorted by the first attribute, then by the next, and so on.
public struct Index: EntityRule {
  let attributes: [AnyKeyPath]

  /// Creates an index over the given attributes.
  public init<Owner>(_ attributes: PartialKeyPath<Owner>...) { self.attributes = attributes }
}

/// A full-text index over one or more string attributes.
///
/// Use a ``TextQuery`` to search the index.
///
/// ```swift
/// TextIndex(\Note.title, \Note.body, weights: [2, 1], tokenizer: .words(stemming: .english))
/// ```
///
/// An entity has at most one text index, which may be inherited. When a store is opened, the index
/// is built if it is new, and rebuilt if its attributes or tokenizer have changed.
public struct TextIndex: EntityRule {
  let attributes: [AnyKeyPath]
  let weights: [Double]
  let tokenizer: TextTokenizer

  /// Creates an index over the given attributes.
  ///
  /// - Parameters:
  ///   - attributes: Up to 16 string attributes.
  ///   - weights: The weight of each attribute in relevance ranking, from 0 to 1000. If the array
  ///     is empty, each attribute has a weight of 1. Changing weights does not rebuild the index.
  ///   - tokenizer: The rule that splits the attributes' text into terms.
  public init<Owner>(
    _ attributes: PartialKeyPath<Owner>..., weights: [Double] = [],
    tokenizer: TextTokenizer = .words()
  ) {
    self.attributes = attributes
    self.weights = weights
    self.tokenizer = tokenizer
  }
}

/// A rule that makes two relationships inverses of each other.
///
/// Use this rule if neither property wrapper declares the other relationship as its inverse.
public struct Inverse: EntityRule {
  let relationship: AnyKeyPath
  let inverse: AnyKeyPath

  /// Creates a rule that makes the given relationships inverses of each other.
  public init<Owner, Destination>(
    _ relationship: PartialKeyPath<Owner>, _ inverse: PartialKeyPath<Destination>
  ) {
    self.relationship = relationship
    self.inverse = inverse
  }
}

/// A result builder that collects the rules of an ``Entity``.
@resultBuilder
public enum EntityBuilder {
  /// Returns the rules in declaration order.
  public static func buildBlock(_ rules: any EntityRule...) -> [any EntityRule] { rules }
}
