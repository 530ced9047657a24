import Synchronization

/// The classes of a model.
///
/// ```swift
/// let schema = Schema(Person.self, Car.self)
/// ```
///
/// Superclasses and the destinations of relationships are included automatically, so you need not
/// list them. If the classes contain errors, creating a container with the schema throws these
/// errors.
///
/// Opening a store that was written with an earlier version of the model migrates the store. If the
/// schema's version is higher than the store's version, the migration removes properties that are
/// no longer declared.
///
/// A schema may omit a class of the store if none of the schema's classes is related to the omitted
/// class. The rows of an omitted class stay in the store until a schema names their entity in
/// ``removing``.
public struct Schema: Sendable {
  /// The version of the model.
  ///
  /// A store with a higher version can be opened only if its model is otherwise identical.
  public let version: Int
  /// The names of entities to remove from a store with a lower version.
  ///
  /// The migration removes the rows of these entities and all references to the rows.
  public let removing: Set<String>
  let content: Content

  /// Creates a schema from the given classes.
  ///
  /// - Parameters:
  ///   - version: The version of the model.
  ///   - removing: The stored names of the entities to remove, which no longer have a class. Names
  ///     that do not occur in a store are ignored.
  ///   - types: The classes of the model.
  public init(
    version: Int = 1, removing: Set<String> = [], _ types: ManagedObject.Type...
  ) {
    self.init(version: version, removing: removing, types: types)
  }

  /// Creates a schema from an array of classes.
  public init(version: Int = 1, removing: Set<String> = [], types: [ManagedObject.Type]) {
    self.version = version
    self.removing = removing
    var builder = SchemaBuilder()
    content = builder.content(of: types)
  }

  /// Creates a schema without classes, based on the model recorded in a store.
  init(version: Int, content: Content) {
    self.version = version
    self.content = content
    removing = []
  }

  /// The entities found by inspecting the classes, and any errors in the classes.
  final class Content: Sendable {
    let entities: [EntityDescription]
    /// The errors found in the classes.
    let failures: [ObjectGraphError]
    private let positions: [ObjectIdentifier: Int]
    /// The destination of each relationship, keyed by property.
    ///
    /// The dictionary is empty if the entities have classes.
    private let destinations: [ObjectIdentifier: EntityDescription]
    private let paths = Mutex<[PathKey: [Step]]>([:])

    /// A property in a key path, and the entity to which the property belongs.
    typealias Step = (entity: EntityDescription, property: PropertyDescription)

    /// A sendable wrapper around a key path.
    private struct PathKey: Hashable, @unchecked Sendable {
      // The `@unchecked` conformance is safe, because a key path without captured values never
      // changes.
      let keyPath: AnyKeyPath
    }

    init(_ entities: [EntityDescription], _ failures: [ObjectGraphError]) {
      self.entities = entities
      self.failures = failures
      positions = Dictionary(
        uniqueKeysWithValues: entities.map { (ObjectIdentifier($0.type), $0.position) })
      destinations = [:]
    }

    /// Creates the content for entities without classes.
    ///
    /// - Parameter destinations: The destination of each relationship.
    init(
      classless entities: [EntityDescription], destinations: [ObjectIdentifier: EntityDescription]
    ) {
      self.entities = entities
      self.destinations = destinations
      failures = []
      positions = [:]
    }

    /// Returns the destination of a relationship, or `nil` if the property is not a relationship.
    func destination(of property: PropertyDescription) -> EntityDescription? {
      property.storage.destination.flatMap { entity(of: $0) }
        ?? destinations[ObjectIdentifier(property)]
    }

    /// Returns the entity with the given name, or `nil` if the model has no such entity.
    func entity(named name: String) -> EntityDescription? { entities.first { $0.name == name } }

    /// Returns the entity of a class, or `nil` if the class is not part of the model.
    func entity(of type: AnyClass) -> EntityDescription? {
      positions[ObjectIdentifier(type)].map { entities[$0] }
    }

    /// Returns the entity of a class.
    ///
    /// - Throws: `unknownEntity` if the class is not part of the model.
    func requiredEntity(of type: AnyClass) throws(ObjectGraphError) -> EntityDescription {
      if let entity = entity(of: type) { return entity }
      throw ObjectGraphError(
        .unknownEntity, "\(type) is not part of the model. Add the class to the schema.")
    }

    /// Returns the properties in a key path, in order.
    ///
    /// - Throws: `unknownProperty` if the key path does not refer to a stored property.
    func path(_ keyPath: AnyKeyPath) throws(ObjectGraphError) -> [Step] {
      let key = PathKey(keyPath: keyPath)
      if let known = paths.withLock({ $0[key] }) { return known }
      guard let path = PropertyProbe.path(keyPath, in: self) else {
        throw ObjectGraphError(
          .unknownProperty,
          "\(keyPath.phrase) does not refer to a stored property of the model. Declare the "
            + "property with a wrapper such as @Attribute, or add its class to the schema. Inside "
            + "a composite value, the key path must end at a stored property.")
      }
      paths.withLock { $0[key] = path }
      return path
    }

    /// Returns the property that a key path refers to.
    ///
    /// - Throws: `unknownProperty` if the key path does not consist of a single stored property of
    ///   the entity.
    func property(
      _ keyPath: AnyKeyPath, of entity: EntityDescription
    ) throws(ObjectGraphError) -> PropertyDescription {
      let path = try path(keyPath)
      guard path.count == 1, path[0].property.slot < entity.properties.count,
        path[0].entity.isKind(of: entity) || entity.isKind(of: path[0].entity)
      else {
        let names = path.map { "\($0.entity.name).\($0.property.name)" }.joined(separator: ", ")
        throw ObjectGraphError(
          .unknownProperty,
          "A key path for \(entity.name) must consist of a single property that \(entity.name) "
            + "declares or inherits, but this key path consists of \(names). Use a key path with a "
            + "single property.")
      }
      return entity.properties[path[0].property.slot]
    }
  }
}

extension AnyKeyPath {
  /// A description of the key path for error messages.
  ///
  /// The text names the root and value types, because the key path's own description contains
  /// property names only in some builds.
  var phrase: String {
    let type = Swift.type(of: self)
    let path = "\(self)".contains("<computed") ? "" : " (\(self))"
    return "A key path from \(type.rootType) to \(type.valueType)\(path)"
  }
}
