import Synchronization

/// The classes of a model.
///
/// ```swift
/// let schema = Schema(Person.self, Car.self)
/// ```
///
/// Superclasses are part of it without being named, and so is what relationships lead to. An error
/// in a class is thrown by the container that is made with the schema.
///
/// A store of an earlier version follows the schema when it is opened; what it had and the schema
/// has not is removed if the version is higher.
public struct Schema: Sendable {
  /// Counts the versions of the model; a store that has seen a higher one is opened only if nothing
  /// differs.
  public let version: Int
  let content: Content

  /// Looks at the classes of a model.
  ///
  /// - Parameters:
  ///   - version: Counts the versions of the model.
  ///   - types: Its classes.
  public init(version: Int = 1, _ types: ManagedObject.Type...) {
    self.init(version: version, types: types)
  }

  /// Looks at the classes of a model, as ``init(version:_:)`` does.
  public init(version: Int = 1, types: [ManagedObject.Type]) {
    self.version = version
    var builder = SchemaBuilder()
    content = builder.content(of: types)
  }

  /// What was found in the classes.
  final class Content: Sendable {
    let entities: [EntityDescription]
    /// What is wrong with them.
    let failures: [ObjectGraphError]
    private let positions: [ObjectIdentifier: Int]
    private let paths = Mutex<[PathKey: [Step]]>([:])

    /// A property on the way a key path takes.
    typealias Step = (entity: EntityDescription, property: PropertyDescription)

    /// A key path without captured values never changes.
    private struct PathKey: Hashable, @unchecked Sendable {
      // @unchecked because of that.
      let keyPath: AnyKeyPath
    }

    init(_ entities: [EntityDescription], _ failures: [ObjectGraphError]) {
      self.entities = entities
      self.failures = failures
      positions = Dictionary(
        uniqueKeysWithValues: entities.map { (ObjectIdentifier($0.type), $0.position) })
    }

    /// The entity of a class.
    func entity(of type: AnyClass) -> EntityDescription? {
      positions[ObjectIdentifier(type)].map { entities[$0] }
    }

    /// The entity of a class, which must be part of the model.
    func requiredEntity(of type: AnyClass) throws(ObjectGraphError) -> EntityDescription {
      if let entity = entity(of: type) { return entity }
      throw ObjectGraphError(
        .unknownEntity, "\(type) is no part of the model; name it when you make the Schema.")
    }

    /// The properties that a key path names, one after the other.
    func path(_ keyPath: AnyKeyPath) throws(ObjectGraphError) -> [Step] {
      let key = PathKey(keyPath: keyPath)
      if let known = paths.withLock({ $0[key] }) { return known }
      guard let path = PropertyProbe.path(keyPath, in: self) else {
        throw ObjectGraphError(
          .unknownProperty,
          "\(keyPath.sentence) is no stored property of a class of the model. Mark it @Attribute, "
            + "or name its class when you make the Schema.")
      }
      paths.withLock { $0[key] = path }
      return path
    }

    /// The property of an entity that a key path names.
    func property(
      _ keyPath: AnyKeyPath, of entity: EntityDescription
    ) throws(ObjectGraphError) -> PropertyDescription {
      let path = try path(keyPath)
      guard path.count == 1, path[0].property.slot < entity.properties.count,
        path[0].entity.isKind(of: entity) || entity.isKind(of: path[0].entity)
      else {
        let names = path.map { "\($0.entity.name).\($0.property.name)" }.joined(separator: ", ")
        throw ObjectGraphError(
          .unknownProperty, "\(names) is no stored property of \(entity.name).")
      }
      return entity.properties[path[0].property.slot]
    }
  }
}

extension AnyKeyPath {
  /// What it leads from and to: its own description has no names but in a few builds.
  var sentence: String {
    let type = Swift.type(of: self)
    let path = "\(self)".contains("<computed") ? "" : " (\(self))"
    return "What a key path from \(type.rootType) to \(type.valueType)\(path) leads to"
  }
}
