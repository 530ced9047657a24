/// A structure whose stored properties are attributes of the objects that contain it.
///
/// ```swift
/// struct Address: CompositeValue {
///   var street = ""
///   var city: String? = nil
/// }
///
/// final class Person: ManagedObject {
///   @Composite var address = Address()
/// }
/// ```
///
/// Each stored property of the structure is an *element* of the composite attribute, and has a
/// separate column. Key paths such as `\Person.address.city` can therefore be used in predicates,
/// sort descriptors and indexes, just like key paths to other attributes. In format strings and
/// change lists, the element is called `address.city`.
///
/// The type of an element must be an attribute type or another composite value. When an object is
/// loaded, the elements of its composite attributes are set directly, without calling the
/// structure's initialisers or property observers.
public protocol CompositeValue: SendableMetatype {
  /// The names that elements had in earlier versions of the structure, keyed by current name.
  ///
  /// The default is an empty dictionary.
  static var formerElementNames: [String: [String]] { get }
}

extension CompositeValue {
  /// The names that elements had in earlier versions of the structure.
  ///
  /// The default is an empty dictionary, which means that no element was renamed.
  public static var formerElementNames: [String: [String]] { [:] }
}
