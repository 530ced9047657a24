/// A comparison of a store's model with a program's schema, which yields the store's new model.
///
/// The store is not changed. Entities and properties that exist in both models keep their numbers.
/// Differences are recorded as sentences, which are included in the error if the store cannot be
/// opened.
struct SchemaReconciliation {
  private let before: StoredModel
  private let schema: Schema
  /// A closure that returns a keyspace of the store, or `nil` if there is no such keyspace.
  private let keyspace: (String) throws -> RowsKeyspace?
  /// The new model of the store.
  private(set) var result: StoredModel
  /// Descriptions of the properties and entities that a migration to a higher version removes.
  ///
  /// The migration removes properties that exist only in the store. It also removes entities that
  /// the schema names for removal, and undeclared entities that have no rows but are related to a
  /// declared entity.
  private var removals: [String] = []
  /// Descriptions of the model changes that a migration can apply to the store.
  private var changes: [String] = []
  /// Descriptions of the model changes that no migration can apply to the store.
  private var refusals: [String] = []

  /// Creates a reconciliation, and computes the store's new model.
  ///
  /// - Throws: `incompatibleSchema` if there are no unused numbers left for new entities,
  ///   properties or layouts.
  init(
    _ before: StoredModel, _ schema: Schema,
    in keyspace: @escaping (String) throws -> RowsKeyspace?
  ) throws {
    self.before = before
    self.schema = schema
    self.keyspace = keyspace
    result = before
    result.version = max(before.version, schema.version)
    try reconcileEntities()
    try reconcileRelationships()
    for position in result.entities.indices { try finish(position) }
  }

  /// Checks that the store can be migrated to the new model.
  ///
  /// - Throws: `incompatibleSchema`, which lists each difference, if the store cannot be migrated.
  func requirePossible() throws(ObjectGraphError) {
    if schema.version < before.version {
      var differences = refusals + removals + changes
      if differences.isEmpty, result != before {
        differences = ["The models have different indexes or derived attributes."]
      }
      try refuse(
        differences,
        "The program's model (version \(schema.version)) is older than the store's model (version "
          + "\(before.version)) and differs from it. Open the store with a newer version of the "
          + "program.")
    }
    try refuse(refusals, "The store cannot be migrated to the program's model.")
    guard schema.version == before.version else { return }
    try refuse(
      removals,
      "The store contains entities or properties that the program's model does not declare. "
        + "Declare them in the model. To remove them permanently instead, give the schema a "
        + "version higher than \(before.version).")
  }

  private func refuse(
    _ differences: [String], _ phrase: String
  ) throws(ObjectGraphError) {
    guard !differences.isEmpty else { return }
    if differences.count == 1 {
      throw ObjectGraphError(.incompatibleSchema, "\(phrase) \(differences[0])")
    }
    var error = ObjectGraphError(.incompatibleSchema, phrase)
    error.failures = differences.map { ObjectGraphError(.incompatibleSchema, $0) }
    throw error
  }

  // MARK: Entities

  private mutating func reconcileEntities() throws {
    let entities = schema.content.entities
    let matches = Self.matches(
      entities.map { ($0.name, $0.renamedFrom) }, before.entities.map { ($0.name, $0.formerNames) })
    result.entities = try entities.map { entity in
      let known = matches[entity.name].flatMap { before.entity(named: $0) }
      return try reconciled(entity, known)
    }
    let declared = Set(result.entities.map(\.number))
    for entity in before.entities where !declared.contains(entity.number) {
      let related = before.entities.first {
        declared.contains($0.number) && $0.isRelated(to: entity)
      }
      let isRemoved = schema.removing.contains(entity.name)
      if try isRemoved || related != nil && !hasRows(entity) {
        removals.append("\(entity.name) exists only in the store.")
      } else {
        keep(entity, related)
      }
    }
    result.entities.sort { $0.number < $1.number }
  }

  private func hasRows(_ entity: StoredModel.StoredEntity) throws -> Bool {
    var isEmpty = true
    try keyspace("objects.\(entity.number)")?.forEach { _, _ in
      isEmpty = false
      return false
    }
    return !isEmpty
  }

  /// Keeps an entity that the schema does not declare, or records why it cannot be kept.
  ///
  /// - Parameter related: A declared entity that is related to the undeclared entity, or `nil` if
  ///   there is none.
  private mutating func keep(
    _ entity: StoredModel.StoredEntity, _ related: StoredModel.StoredEntity?
  ) {
    let remedy =
      "Declare \(entity.name) in the model. To remove its rows permanently instead, give the "
      + "schema a version higher than \(before.version), and list \(entity.name) in `removing`."
    // Refuse the migration if another entity has the same name, because the two would be
    // indistinguishable.
    guard !result.entities.contains(where: { $0.name == entity.name }) else {
      refusals.append(
        "The store already contains a different entity named \(entity.name). \(remedy)")
      return
    }
    result.entities.append(entity)
    // Refuse the migration if a declared entity is related to this entity, because changes to the
    // declared entity's objects would require changes to this entity's rows and entries.
    if let related {
      refusals.append(
        "\(entity.name) exists only in the store and is related to \(related.name). \(remedy)")
    }
  }

  private mutating func reconciled(
    _ entity: EntityDescription, _ known: StoredModel.StoredEntity?
  ) throws -> StoredModel.StoredEntity {
    var reconciled: StoredModel.StoredEntity
    if let known {
      reconciled = known
      if known.name != entity.name {
        changes.append("\(entity.name) is named \(known.name) in the store.")
      }
      // Record former names only in a migration, because merely opening a store must not change its
      // model.
      if known.name != entity.name || schema.version > before.version {
        reconciled.replace(entity.renamedFrom)
      }
      reconciled.name = entity.name
    } else {
      guard result.lastEntity < ObjectNumber.maxEntity else {
        throw ObjectGraphError(
          .incompatibleSchema,
          "The store has run out of entity numbers, so \(entity.name) cannot be added. Create a "
            + "new store, and copy the objects into it.")
      }
      result.lastEntity += 1
      reconciled = StoredModel.StoredEntity(name: entity.name, number: result.lastEntity)
      reconciled.replace(entity.renamedFrom)
      changes.append("\(entity.name) exists only in the program.")
    }
    try reconcileProperties(entity, &reconciled)
    return reconciled
  }

  // MARK: Properties

  private mutating func reconcileProperties(
    _ entity: EntityDescription, _ stored: inout StoredModel.StoredEntity
  ) throws {
    let known = stored.properties
    let isNew = stored.lastProperty == 0
    let matches = Self.matches(
      entity.properties.map { ($0.storedName, $0.options.renamedFrom) },
      known.map { ($0.name, $0.formerNames) })
    stored.properties = []
    for property in entity.properties {
      guard let kind = property.storedKind else { continue }
      let name = "\(entity.name).\(property.name)"
      let old = matches[property.storedName].flatMap { old in known.first { $0.name == old } }
      if var old {
        if old.name != property.storedName {
          changes.append("\(name) is named \(old.name) in the store.")
        }
        if old.name != property.storedName || schema.version > before.version {
          old.replace(property.options.renamedFrom)
        }
        old.name = property.storedName
        compare(old.kind, kind, name)
        if old.kind.isOptional, !kind.isOptional { stored.recordConstant(property, old.number) }
        old.kind = kind
        stored.properties.append(old)
      } else {
        guard stored.lastProperty < .max else {
          throw ObjectGraphError(
            .incompatibleSchema,
            "The store has run out of property numbers, so \(name) cannot be added. Create a new "
              + "store, and copy the objects into it.")
        }
        stored.lastProperty += 1
        stored.recordConstant(property, stored.lastProperty)
        var new = StoredModel.StoredProperty(
          name: property.storedName, number: stored.lastProperty, kind: kind)
        new.replace(property.options.renamedFrom)
        stored.properties.append(new)
        if !isNew { changes.append("\(name) exists only in the program.") }
      }
    }
    let kept = Set(stored.properties.map(\.number))
    for old in known where !kept.contains(old.number) {
      removals.append("\(entity.name).\(old.name) exists only in the store.")
    }
    stored.properties.sort { $0.number < $1.number }
  }

  private mutating func compare(
    _ old: StoredModel.StoredKind, _ new: StoredModel.StoredKind, _ name: String
  ) {
    guard old != new else { return }
    let phrase = "\(name) is \(new.phrase) in the program and \(old.phrase) in the store"
    if old.canBecome(new) {
      changes.append("\(phrase).")
    } else {
      refusals.append(
        "\(phrase). Rename the new property, and set its values in a custom MigrationStage.")
    }
  }

  // MARK: Relationships

  private mutating func reconcileRelationships() throws {
    for entity in schema.content.entities {
      let position = result.entities.firstIndex { $0.name == entity.name }
      for property in entity.relationships {
        let destination = property.storage.destination.flatMap { schema.content.entity(of: $0) }
        let ends = try result.ends(of: property, entity, destination)
        let index = position.flatMap { position in
          result.entities[position].properties.firstIndex { $0.name == property.storedName }
        }
        if let position, let index {
          compareEnds(result.entities[position].properties[index], property, entity, destination)
          result.entities[position].properties[index].ends = ends
        }
      }
    }
  }

  /// Compares a relationship's destinations and inverse with those in the store.
  private mutating func compareEnds(
    _ known: StoredModel.StoredProperty, _ property: PropertyDescription,
    _ entity: EntityDescription, _ destination: EntityDescription?
  ) {
    guard let old = known.ends else { return }
    let name = "\(entity.name).\(property.name)"
    if let destination {
      for number in old.targets {
        guard let target = result.entity(number),
          let there = schema.content.entities.first(where: { $0.name == target.name }),
          !there.isKind(of: destination)
        else { continue }
        refusals.append(
          "In the store, \(name) can refer to \(there.name), which does not inherit from "
            + "\(destination.name). Declare a new relationship, and set it in a custom "
            + "MigrationStage.")
      }
    }
    guard let inverse = entity.inverses[property.slot] else { return }
    let others = inverse.entity.declaring(inverse.property).family.compactMap { other in
      result.entity(named: other.name).flatMap { reconciled in
        reconciled.properties.first {
          $0.name == other.properties[inverse.property.slot].storedName
        }
        .flatMap { before.entity(reconciled.number)?.property($0.number)?.ends?.declaration }
      }
    }
    guard !others.isEmpty, !others.contains(where: { $0 == old.inverse }) else { return }
    refusals.append(
      "\(name) and \(inverse.entity.name).\(inverse.property.name) are not inverses of each other "
        + "in the store. Declare a new relationship, and set it in a custom MigrationStage.")
  }

  // MARK: Layouts, indexes and derivations

  /// Adds an entity's layout, indexes and derivations once all entities have numbers.
  private mutating func finish(_ position: Int) throws {
    var stored = result.entities[position]
    guard let entity = schema.content.entities.first(where: { $0.name == stored.name }) else {
      return
    }
    try stored.addLayout(for: entity)
    stored.indexes = try entity.indexes.map { index in
      guard let declaring = result.entity(named: index.entity.name) else { return "" }
      return try index.keyspace(declaring)
    }
    if let index = entity.textIndex, let declaring = result.entity(named: index.entity.name) {
      stored.indexes.append(try index.keyspace(declaring))
    }
    let signatures = try entity.derived.map { try result.signature(of: $0, in: stored) }
    stored.derived = signatures.isEmpty ? nil : signatures
    result.entities[position] = stored
  }
}

extension StoredModel {
  /// Returns the model that results from a migration to a schema.
  ///
  /// If the schema has a lower version but is otherwise identical to this model, this model is
  /// returned.
  ///
  /// - Parameter keyspace: A closure that returns a keyspace of the store, or `nil` if there is no
  ///   such keyspace.
  /// - Throws: `incompatibleSchema`, which lists each difference, if the store cannot be migrated.
  func reconciled(
    with schema: Schema, in keyspace: @escaping (String) throws -> RowsKeyspace?
  ) throws -> StoredModel {
    let reconciliation = try SchemaReconciliation(self, schema, in: keyspace)
    try reconciliation.requirePossible()
    return reconciliation.result
  }

  /// Returns a string that describes how an attribute is derived.
  ///
  /// The description contains numbers in place of names, so it stays the same after a renaming.
  ///
  /// If the description changes, the attribute must be recomputed.
  func signature(of derived: DerivedAttribute, in own: StoredEntity) throws -> String {
    func word(_ property: PropertyDescription, _ entity: StoredEntity) throws -> String {
      let stored = try entity.stored(property)
      return "\(stored.number)\(stored.kind.isOptional ? "?" : "")"
    }
    var words = [try word(derived.property, own), derived.formula.name]
    var source = own
    if let relationship = derived.relationship, let destination = derived.destination,
      let there = entity(named: destination.name)
    {
      let stored = try own.stored(relationship)
      words.append("\(stored.number)")
      words.append("\(there.number)")
      words += stored.ends?.keyspace.map { [$0] } ?? []
      source = there
    }
    if let attribute = derived.attribute { words.append(try word(attribute, source)) }
    return words.joined(separator: " ")
  }
}

extension StoredModel.StoredEntity {
  /// Records the value to use for a property when an existing record has no value for it.
  fileprivate mutating func recordConstant(_ property: PropertyDescription, _ number: UInt16) {
    guard property.isAttribute, !property.initialValue.isNull else { return }
    for position in layouts.indices
    where !layouts[position].constants.contains(where: { $0.property == number }) {
      layouts[position].constants.append(.init(property: number, value: property.initialValue))
    }
  }

  /// Adds a layout for new records if the latest layout is not suitable.
  fileprivate mutating func addLayout(for entity: EntityDescription) throws {
    let known = Dictionary(uniqueKeysWithValues: properties.map { ($0.number, $0.kind) })
    for position in layouts.indices {
      layouts[position].constants.removeAll { known[$0.property] == nil }
    }
    let columns = properties.compactMap { property in
      property.kind.storageType.map {
        StoredModel.Column(property: property.number, storageType: $0)
      }
    }
    // Do not reuse the latest layout if it defines a constant for a property that is now optional.
    // In records of that layout, `nil` would be read as the constant.
    if let last = layouts.last, last.columns == columns,
      !last.constants.contains(where: { known[$0.property]?.isOptional == true })
    {
      return
    }
    guard layouts.count < Int(UInt16.max) else {
      throw ObjectGraphError(
        .incompatibleSchema,
        "The store has run out of record layout numbers for \(entity.name), so the properties of "
          + "\(entity.name) cannot be changed. Create a new store, and copy the objects into it.")
    }
    layouts.append(.init(columns: columns))
  }
}
