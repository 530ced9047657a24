/// A description of an entity, based on the declarations in its class and its superclasses.
final class EntityDescription: @unchecked Sendable {
  // The `@unchecked` conformance is safe, because a single thread builds the schema, and entities
  // do not change afterwards.
  let name: String
  let isAbstract: Bool
  let renamedFrom: [String]
  /// The class of the entity's objects.
  let type: AnyClass
  /// The position of the entity in the schema.
  let position: Int
  let superentity: EntityDescription?
  private(set) var subentities: [EntityDescription] = []
  let properties: [PropertyDescription]
  /// The composite attributes, whose elements are among the properties.
  let composites: [CompositeDescription]
  /// The names of the composite attributes and of their composite elements.
  private let compositeNames: Set<String>
  /// The position of each property in an object's memory, indexed by slot.
  let memoryFields: [MemoryField]
  /// The properties that have a field in records, in slot order.
  let columns: [PropertyDescription]
  let relationships: [PropertyDescription]
  /// A Boolean value that indicates whether any declared initial value, such as `UUID()`, can
  /// differ between new objects.
  let hasVolatileDefaults: Bool
  /// The other side of each relationship, keyed by slot.
  var inverses: [Int: Inverse] = [:]
  /// The unique constraints and indexes, beginning with the inherited ones.
  var indexes: [IndexDescription] = [] {
    didSet { hasUniqueConstraints = indexes.contains(where: \.isUnique) }
  }
  /// A Boolean value that indicates whether the entity has a unique constraint.
  private(set) var hasUniqueConstraints = false
  /// The full-text index, which may be inherited.
  var textIndex: TextIndexDescription?
  /// The derived attributes, which are computed at each save.
  var derived: [DerivedAttribute] = []
  /// The attributes of other entities that are computed from this entity's objects.
  var dependencies: [Dependency] = []
  /// The slot of the property that begins at each memory offset, or -1 if no property begins there.
  ///
  /// Each offset is relative to the offset of the first property. Every property setter looks up
  /// its slot in this array, so the lookup must be fast.
  private let slotsByOffset: [Int16]
  private let firstOffset: Int

  /// The other side of a relationship.
  struct Inverse {
    unowned let entity: EntityDescription
    let property: PropertyDescription
  }

  init(
    _ declared: Entity, type: AnyClass, position: Int, superentity: EntityDescription?,
    properties: [PropertyDescription], composites: [CompositeDescription]
  ) {
    name = declared.name
    isAbstract = declared.isAbstract
    renamedFrom = declared.renamedFrom
    self.type = type
    self.position = position
    self.superentity = superentity
    self.properties = properties
    self.composites = composites
    compositeNames = CompositeDescription.names(of: properties)
    memoryFields = properties.map(\.memoryField)
    columns = properties.filter { $0.fieldStorageType != nil }
    relationships = properties.filter(\.isRelationship)
    hasVolatileDefaults = properties.contains(where: \.isVolatile)
    firstOffset = properties.map(\.offset).min() ?? 0
    let end = (properties.map(\.offset).max() ?? -1) + 1
    var slots = [Int16](repeating: -1, count: max(end - firstOffset, 0))
    for property in properties.reversed() {
      slots[property.offset - firstOffset] = Int16(property.slot)
    }
    slotsByOffset = slots
    superentity?.subentities.append(self)
  }

  /// Returns the property at an offset in an object's memory, or `nil` if no property begins there.
  func property(at offset: Int) -> PropertyDescription? {
    let position = offset - firstOffset
    guard position >= 0, position < slotsByOffset.count, slotsByOffset[position] >= 0 else {
      return nil
    }
    return properties[Int(slotsByOffset[position])]
  }

  /// Returns whether a property is a derived attribute.
  func isDerived(_ property: PropertyDescription) -> Bool {
    derived.contains { $0.slot == property.slot }
  }

  /// Returns the composite attribute at an offset in an object's memory, or `nil` if there is none.
  func composite(at offset: Int) -> CompositeDescription? {
    composites.first { properties[$0.slots.lowerBound].offset == offset }
  }

  /// Returns the element properties of the composite attribute at an offset.
  func elements(ofCompositeAt offset: Int) -> ArraySlice<PropertyDescription> {
    composite(at: offset).map { properties[$0.slots] } ?? []
  }

  /// Returns whether the given name is the name of a composite attribute or of a composite element.
  func isComposite(_ name: String) -> Bool {
    !compositeNames.isEmpty && compositeNames.contains(name)
  }

  /// The properties declared by the entity itself.
  var ownProperties: ArraySlice<PropertyDescription> {
    properties[(superentity?.properties.count ?? 0)...]
  }

  /// The attributes that are individually unique, so that each of them identifies an object.
  var uniqueProperties: [PropertyDescription] {
    indexes.filter { $0.isUnique && $0.slots.count == 1 }.map { properties[$0.slots[0]] }
  }

  /// The unique attribute whose value represents an object in references, or `nil` if there is
  /// none.
  ///
  /// This is the first unique attribute that is not optional or, if all unique attributes are
  /// optional, the first unique attribute.
  var referringAttribute: PropertyDescription? {
    let unique = uniqueProperties
    return unique.first { !$0.isOptionalAttribute } ?? unique.first
  }

  /// The entity and all its subentities.
  var family: [EntityDescription] { [self] + subentities.flatMap(\.family) }

  /// Returns whether a property is a to-one relationship whose inverse is an unordered to-many
  /// relationship.
  ///
  /// If the result is `true`, the members of the inverse are the referring objects.
  func isMemberReference(_ property: PropertyDescription) -> Bool {
    guard case .toOne = property.kind, let inverse = inverses[property.slot],
      case .toMany(isOrdered: false) = inverse.property.kind
    else { return false }
    return true
  }

  func isKind(of other: EntityDescription) -> Bool {
    var entity: EntityDescription? = self
    while let current = entity {
      if current === other { return true }
      entity = current.superentity
    }
    return false
  }
}

/// An index of an entity: its attributes, and whether their combined values must be unique.
struct IndexDescription {
  /// The entity that declares the index.
  ///
  /// The index also covers the objects of its subentities.
  unowned let entity: EntityDescription
  /// The position of the index among the indexes declared by the entity itself.
  let position: Int
  let slots: [Int]
  let isUnique: Bool
  /// A Boolean value that indicates whether any of the attributes is derived from related objects.
  ///
  /// If so, the index entries can be computed only after the related rows have been written.
  let isOverRelationship: Bool
}

/// The full-text index of an entity.
struct TextIndexDescription: Sendable {
  /// The entity that declares the index.
  ///
  /// The index also covers the objects of its subentities.
  unowned let entity: EntityDescription
  let slots: [Int]
  /// The weight of each attribute, in units of 1/1024.
  let weights: [Int]
  let tokenizer: TextTokenizer

  /// The maximum number of attributes in a text index.
  ///
  /// The number is limited because the name of the index's keyspace contains each attribute's
  /// number.
  static let maxAttributeCount = 16
}

extension IndexDescription {
  /// Returns the error for an object that has the same unique values as another object.
  ///
  /// - Parameters:
  ///   - objects: The object of the row, followed by the new objects that were merged into the row.
  ///     The error reports the first object.
  ///   - others: The objects of the other row, if they are known.
  ///   - isMergeable: `true` if a different merge policy would merge the new object into the other
  ///     object.
  func conflict(
    _ objects: [ManagedObjectID], with others: [ManagedObjectID] = [], isMergeable: Bool = false
  ) -> ObjectGraphError {
    let names = slots.map { entity.properties[$0].name }.joined(separator: ", ")
    var error = ObjectGraphError(
      .constraintConflict,
      "Another \(entity.name) has the same \(names). Change or delete one of the two objects"
        + (isMergeable
          ? ", or set a mergePolicy that merges the new object into the existing one." : "."),
      objectID: objects.first)
    let sources = slots.map { slot in
      let derived = entity.derived.first { $0.slot == slot }
      return (derived?.relationship ?? derived?.attribute)?.slot ?? slot
    }
    error.uniqueConflict = UniqueConflict(slots: sources, objects: objects, others: others)
    return error
  }
}
