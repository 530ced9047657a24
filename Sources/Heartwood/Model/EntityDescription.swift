/// An entity with all that its class and its superclasses declare.
final class EntityDescription: @unchecked Sendable {
  // @unchecked because it is changed only while the schema is made, by one thread.
  let name: String
  let isAbstract: Bool
  let renamedFrom: [String]
  /// The class of its objects.
  let type: AnyClass
  /// Its position in the schema.
  let position: Int
  let superentity: EntityDescription?
  private(set) var subentities: [EntityDescription] = []
  let properties: [PropertyDescription]
  /// Those with a field in records, in the order of their slots.
  let columns: [PropertyDescription]
  let relationships: [PropertyDescription]
  /// Whether new objects differ in what they have before anything was set.
  let hasVolatileDefaults: Bool
  /// The other side of each relationship, by slot.
  var inverses: [Int: Inverse] = [:]
  /// The uniques and indexes, those inherited first.
  var indexes: [IndexDescription] = [] {
    didSet { hasUniques = indexes.contains(where: \.isUnique) }
  }
  /// Whether only one object may have certain values.
  private(set) var hasUniques = false
  /// The attributes that are computed when an object is saved.
  var derived: [DerivedAttribute] = []
  /// What is computed elsewhere from its objects.
  var dependences: [Dependence] = []
  /// The slot of the property at each offset, from that of the first; -1 between properties.
  ///
  /// A table, because it is asked whenever a property is set.
  private let slotsByOffset: [Int16]
  private let firstOffset: Int

  /// The other side of a relationship.
  struct Inverse {
    unowned let entity: EntityDescription
    let property: PropertyDescription
  }

  init(
    _ declared: Entity, type: AnyClass, position: Int, superentity: EntityDescription?,
    properties: [PropertyDescription]
  ) {
    name = declared.name
    isAbstract = declared.isAbstract
    renamedFrom = declared.renamedFrom
    self.type = type
    self.position = position
    self.superentity = superentity
    self.properties = properties
    columns = properties.filter { $0.recordForm != nil }
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

  /// The property that lies at an offset of an object.
  func property(at offset: Int) -> PropertyDescription? {
    let position = offset - firstOffset
    guard position >= 0, position < slotsByOffset.count, slotsByOffset[position] >= 0 else {
      return nil
    }
    return properties[Int(slotsByOffset[position])]
  }

  /// It and all entities below it.
  var family: [EntityDescription] { [self] + subentities.flatMap(\.family) }

  /// Whether a reference is listed at the other end, in an unordered relationship.
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

/// Attributes by which objects are found, and whether only one object may have the same.
struct IndexDescription {
  /// The entity that declares it; subentities have their objects in it too.
  unowned let entity: EntityDescription
  /// Its position among those the entity declares itself.
  let position: Int
  let slots: [Int]
  let isUnique: Bool
  /// Whether an attribute is computed over a relationship, so that its entries are known only when
  /// those are written.
  let isOverRelationship: Bool
}

extension IndexDescription {
  /// That an object has the unique values of another.
  func conflict(_ id: ManagedObjectID) -> ObjectGraphError {
    let names = slots.map { entity.properties[$0].name }.joined(separator: ", ")
    return ObjectGraphError(
      .constraintConflict,
      "There is a \(entity.name) with the same \(names) already. Fetch and change it, or set a "
        + "mergePolicy.", objectID: id)
  }
}
