/// A builder that describes a store's entities based on the store's model, without the program's
/// classes.
struct StoredSchema {
  private let model: StoredModel
  private let declarations: [Int: StoredDeclarations.Declaration]
  private var entities: [Int: EntityDescription] = [:]
  private var order: [EntityDescription] = []
  private var destinations: [ObjectIdentifier: EntityDescription] = [:]

  /// Returns the schema of a store.
  ///
  /// - Throws: `corrupt` if the model is inconsistent.
  static func schema(
    of model: StoredModel, _ declarations: StoredDeclarations
  ) throws(StorageError) -> Schema {
    var builder = StoredSchema(model, declarations)
    for entity in model.entities { try builder.describe(entity, depth: 0) }
    for entity in builder.order { try builder.relate(entity) }
    for entity in builder.order { try builder.addOwnDerivations(to: entity) }
    for entity in builder.order { try builder.addOwnIndexes(to: entity) }
    return Schema(
      version: model.version,
      content: Schema.Content(classless: builder.order, destinations: builder.destinations))
  }

  private init(_ model: StoredModel, _ declarations: StoredDeclarations) {
    self.model = model
    self.declarations = Dictionary(
      declarations.declarations.map { ($0.entity, $0) }, uniquingKeysWith: { $1 })
  }

  /// A placeholder type for entities without a class.
  ///
  /// The type is not a subclass of ``ManagedObject``, so objects of such entities are never
  /// created.
  private final class NoClass {}

  private static func damage(_ entity: String) -> StorageError {
    StorageError(
      .corrupt,
      "The store is corrupt: its model contains an inconsistent description of the entity "
        + "\(entity). Restore a backup.")
  }

  // MARK: Entities

  /// Adds the description of an entity after adding the descriptions of its superentities.
  @discardableResult
  private mutating func describe(
    _ stored: StoredModel.StoredEntity, depth: Int
  ) throws(StorageError) -> EntityDescription {
    if let known = entities[stored.number] { return known }
    guard depth <= model.entities.count else { throw Self.damage(stored.name) }
    let declaration = declarations[stored.number]
    var superentity: EntityDescription?
    if let parent = declaration?.superentity.flatMap({ model.entity($0) }) {
      superentity = try describe(parent, depth: depth + 1)
    }
    var inherited: [StoredModel.StoredProperty] = []
    for property in superentity?.properties ?? [] {
      guard let own = stored.properties.first(where: { $0.name == property.name }) else {
        throw Self.damage(stored.name)
      }
      inherited.append(own)
    }
    let names = Set(inherited.map(\.name))
    let own = stored.properties.filter { !names.contains($0.name) }
    let properties = (inherited + own).enumerated().map { slot, property in
      description(of: property, slot, declaration)
    }
    let entity = EntityDescription(
      Entity(stored.name, isAbstract: declaration?.isAbstract ?? false), type: NoClass.self,
      position: order.count, superentity: superentity, properties: properties, composites: [])
    entities[stored.number] = entity
    order.append(entity)
    return entity
  }

  private func description(
    of stored: StoredModel.StoredProperty, _ slot: Int,
    _ declaration: StoredDeclarations.Declaration?
  ) -> PropertyDescription {
    let declared = declaration?.properties.first { $0.number == stored.number }
    var options = PropertyOptions()
    options.declaredName = declared?.name
    options.deleteRule = declared?.deleteRule
    options.isPreservedOnDeletion = declared?.isPreservedOnDeletion ?? false
    return PropertyDescription(
      name: stored.name, slot: slot, storage: stored.kind.propertyStorage, offset: slot,
      options: options, initialValue: declared?.initialValue ?? .null)
  }

  // MARK: Relationships

  private mutating func relate(_ entity: EntityDescription) throws(StorageError) {
    guard let stored = model.entity(named: entity.name) else { throw Self.damage(entity.name) }
    for property in entity.relationships {
      guard let ends = stored.properties.first(where: { $0.name == property.name })?.ends else {
        throw Self.damage(entity.name)
      }
      destinations[ObjectIdentifier(property)] = destination(of: ends)
      guard let inverse = ends.inverse else { continue }
      guard let (owner, other) = declared(inverse), other.isRelationship else {
        throw Self.damage(entity.name)
      }
      entity.inverses[property.slot] = EntityDescription.Inverse(entity: owner, property: other)
    }
  }

  /// Returns the destination of a relationship: the entity from which all other destinations
  /// inherit.
  private func destination(of ends: StoredModel.StoredEnds) -> EntityDescription? {
    let targets = ends.targets.compactMap { entities[$0] }
    return targets.first { target in targets.allSatisfy { $0.isKind(of: target) } }
      ?? targets.first
  }

  /// Returns the relationship with the given identifier, which has the form `N.P`.
  private func declared(_ identifier: String) -> (EntityDescription, PropertyDescription)? {
    let numbers = identifier.split(separator: ".").map { Int($0) }
    guard numbers.count == 2, let first = numbers[0], let entity = entities[first],
      let second = numbers[1].flatMap({ UInt16(exactly: $0) }),
      let property = property(second, of: entity)
    else { return nil }
    return (entity, property)
  }

  // MARK: Derived attributes

  /// Adds an entity's own derivations to the entity and its subentities.
  private func addOwnDerivations(to entity: EntityDescription) throws(StorageError) {
    guard let stored = model.entity(named: entity.name) else { throw Self.damage(entity.name) }
    for description in stored.derived ?? [] {
      guard let found = StoredDerivation(description),
        let property = self.property(found.property, of: entity)
      else { throw Self.damage(entity.name) }
      guard property.slot >= entity.superentity?.properties.count ?? 0 else { continue }
      let relationship = found.relationship.flatMap { self.property($0.property, of: entity) }
      let destination = found.relationship.flatMap { entities[$0.destination] }
      let attribute = found.attribute.flatMap { self.property($0, of: destination ?? entity) }
      guard let type = property.fieldStorageType,
        (relationship == nil) == (found.relationship == nil),
        (destination == nil) == (found.relationship == nil),
        (attribute == nil) == (found.attribute == nil)
      else { throw Self.damage(entity.name) }
      guard
        let formula = DerivationFormula.stored(
          found.formula, type, from: attribute?.fieldStorageType, order: order(found),
          "\(entity.name).\(property.name)")
      else {
        throw StorageError(
          .incompatibleFormat,
          "The derived attribute \(entity.name).\(property.name) uses the formula "
            + "\(found.formula), which this version of Heartwood does not support. Use a newer "
            + "version of Heartwood.")
      }
      let derived = DerivedAttribute(
        property: property, formula: formula, attribute: attribute, relationship: relationship,
        destination: destination)
      for member in entity.family { member.derived.append(derived) }
      guard let relationship, let destination else { continue }
      let dependency = Dependency(
        entity: entity, relationship: relationship, slot: attribute?.slot)
      for member in destination.family { member.dependencies.append(dependency) }
    }
  }

  /// Returns the declared order of the values from which an attribute is derived.
  private func order(_ derivation: StoredDerivation) -> [StoredValue]? {
    let source = derivation.relationship.flatMap { declarations[$0.destination] }
    return source?.properties.first { $0.number == derivation.attribute }?.valueOrder
  }

  /// Returns the property with the given number in the store, or `nil` if the entity has no such
  /// property.
  private func property(_ number: UInt16, of entity: EntityDescription) -> PropertyDescription? {
    let name = model.entity(named: entity.name)?.property(number)?.name
    return entity.properties.first { $0.name == name }
  }

  // MARK: Indexes

  /// Adds an entity's own indexes to the entity and its subentities.
  private func addOwnIndexes(to entity: EntityDescription) throws(StorageError) {
    guard let stored = model.entity(named: entity.name) else { throw Self.damage(entity.name) }
    var position = 0
    for keyspace in stored.indexes {
      let parts = keyspace.split(separator: ".", maxSplits: 3)
      let isText = parts.count == 4 && parts[0] == "text"
      guard parts.count == 3 && (parts[0] == "unique" || parts[0] == "index") || isText,
        let number = Int(parts[1])
      else { throw Self.damage(entity.name) }
      guard number == stored.number else { continue }
      let slots = try parts[2].split(separator: "-").map { part throws(StorageError) in
        guard let number = UInt16(part), let property = property(number, of: entity) else {
          throw Self.damage(entity.name)
        }
        return property.slot
      }
      if isText {
        addTextIndex(slots, TextTokenizer(identifier: String(parts[3])), to: entity)
        continue
      }
      let isOverRelationship = entity.family.contains { member in
        member.derived.contains { $0.isOverRelationship && slots.contains($0.slot) }
      }
      let index = IndexDescription(
        entity: entity, position: position, slots: slots, isUnique: parts[0] == "unique",
        isOverRelationship: isOverRelationship)
      for member in entity.family { member.indexes.append(index) }
      position += 1
    }
  }

  private func addTextIndex(
    _ slots: [Int], _ tokenizer: TextTokenizer, to entity: EntityDescription
  ) {
    let index = TextIndexDescription(
      entity: entity, slots: slots,
      weights: slots.map { _ in Int(TextRanking.weightUnit) }, tokenizer: tokenizer)
    for member in entity.family { member.textIndex = index }
  }
}
