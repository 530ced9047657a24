import Foundation

/// A builder that inspects classes and creates the descriptions of their entities.
struct SchemaBuilder {
  private var entities: [EntityDescription] = []
  private var declarations: [Entity] = []
  private var failures: [ObjectGraphError] = []
  private var isSeen: Set<ObjectIdentifier> = []

  /// Returns the content of a schema with the given classes.
  ///
  /// The content consists of the entities for the classes, their superclasses, and all classes
  /// reachable through relationships. The content also includes the errors found in these classes.
  mutating func content(of types: [ManagedObject.Type]) -> Schema.Content {
    for type in types { add(type) }
    var position = 0
    while position < entities.count {
      for relationship in entities[position].relationships {
        if let type = relationship.storage.destination as? ManagedObject.Type { add(type) }
      }
      position += 1
    }
    checkNames()
    // Key paths can be resolved only now, when all classes are known.
    let content = Schema.Content(entities, [])
    for (entity, declaration) in zip(entities, declarations) {
      link(entity, declaration, content)
    }
    derive(content)
    for (entity, declaration) in zip(entities, declarations) {
      index(entity, declaration, content)
      indexTexts(entity, declaration, content)
      checkInverses(of: entity)
    }
    return Schema.Content(entities, failures)
  }

  mutating func fail(_ message: String) {
    failures.append(ObjectGraphError(.invalidModel, message))
  }

  // MARK: Classes

  @discardableResult
  private mutating func add(_ type: ManagedObject.Type) -> EntityDescription? {
    if isSeen.contains(ObjectIdentifier(type)) { return entities.first { $0.type == type } }
    isSeen.insert(ObjectIdentifier(type))
    var superentity: EntityDescription?
    if let superclass = _getSuperclass(type) as? ManagedObject.Type,
      superclass != ManagedObject.self
    {
      superentity = add(superclass)
      guard superentity != nil else { return nil }
    }
    guard let (properties, composites) = properties(of: type) else { return nil }
    var declaration = type.entity
    // If a class does not override `entity`, it inherits the declaration of its superclass. In that
    // case, use the name of the class.
    if let superentity, declaration.name == superentity.name {
      declaration = Entity(String(describing: type))
    }
    let entity = EntityDescription(
      declaration, type: type, position: entities.count, superentity: superentity,
      properties: properties, composites: composites)
    entities.append(entity)
    declarations.append(declaration)
    return entity
  }

  private mutating func properties(
    of type: ManagedObject.Type
  ) -> (properties: [PropertyDescription], composites: [CompositeDescription])? {
    let (object, entries) = PropertyRecorder.record { type.init() }
    let classes = ClassLayout.fields(of: type).map { $0.filter { $0.storage != nil } }
    // Reverse the order of the classes, because the wrappers of a subclass register before those of
    // the superclass, whereas the slots of the superclass come first.
    var ordered: [PropertyRecorder.Entry] = []
    var rest = entries[...]
    for fields in classes.reversed() {
      ordered.insert(contentsOf: rest.prefix(fields.count), at: 0)
      rest = rest.dropFirst(fields.count)
    }
    let fields = classes.flatMap { $0 }
    guard rest.isEmpty, ordered.count == fields.count,
      zip(fields, ordered).allSatisfy({ $0.type == $1.storage })
    else {
      fail(
        "The initializer of \(type) sets properties or creates managed objects. Give each "
          + "property a value in its declaration instead.")
      return nil
    }
    let others = (0..<Self.prototypeCount).map { _ in type.init() }
    var result: [PropertyDescription] = []
    var composites: [CompositeDescription] = []
    for (field, entry) in zip(fields, ordered) {
      let parts = parts(of: field, entry, type)
      if field.storage?.composite != nil, !parts.isEmpty {
        composites.append(
          CompositeDescription(
            name: field.name, slots: result.count..<result.count + parts.count))
      }
      for (field, entry) in parts {
        result.append(description(of: field, entry, result.count, [object] + others))
      }
    }
    return (result, composites)
  }

  /// Returns the elements of a composite attribute as separate fields, or the given field if it is
  /// not composite.
  private mutating func parts(
    of field: ClassLayout.Field, _ entry: PropertyRecorder.Entry, _ type: ManagedObject.Type
  ) -> [(ClassLayout.Field, PropertyRecorder.Entry)] {
    guard let composite = field.storage?.composite else { return [(field, entry)] }
    do {
      return try CompositeElement.elements(of: composite).map { element in
        let name = field.name + CompositeDescription.separator + element.path
        return (
          ClassLayout.Field(
            label: name, type: element.storage, offset: field.offset + element.offset),
          PropertyRecorder.Entry(
            storage: element.storage, options: element.options(field.name, entry.options))
        )
      }
    } catch {
      fail("\(type).\(field.name) is invalid. \(error.message)")
      return []
    }
  }

  private mutating func description(
    of field: ClassLayout.Field, _ entry: PropertyRecorder.Entry, _ slot: Int,
    _ objects: [ManagedObject]
  ) -> PropertyDescription {
    let type = Swift.type(of: objects[0])
    if field.storage?.isNestedOptional == true {
      fail(
        "The type of \(type).\(field.name) is a nested optional, which cannot be stored. Declare "
          + "the property with a single level of optionality.")
    }
    let values = initialValues(field, objects, type)
    return PropertyDescription(
      name: field.name, slot: slot, storage: entry.storage, offset: field.offset,
      options: entry.options, initialValue: values[0],
      isVolatile: values.contains { !$0.isIdentical(to: values[0]) } || isNow(values[0]))
  }

  /// The number of additional objects that are created to find out which default values differ
  /// between objects.
  ///
  /// A single additional object is not enough, because random choices from a few values may
  /// coincide.
  private static let prototypeCount = 7

  /// Returns the initial value of an attribute in each of the given objects.
  private mutating func initialValues(
    _ field: ClassLayout.Field, _ objects: [ManagedObject], _ type: ManagedObject.Type
  ) -> [StoredValue] {
    do {
      return try objects.map { object in
        defer { withExtendedLifetime(object) {} }
        return try field.storage?.value(at: object.memory + field.offset) ?? .null
      }
    } catch {
      fail(
        "The default value of \(type).\(field.name) could not be encoded. Declare a different "
          + "value. Underlying error: \(error)")
      return [.null]
    }
  }

  /// Returns whether a value is a date that is close to the current time.
  ///
  /// Without this check, a default value such as `Date()` could appear to be the same for all
  /// objects, because objects created in quick succession may get the same date if the clock is
  /// coarse.
  private func isNow(_ value: StoredValue) -> Bool {
    guard case .date = value, let date = try? Date(storedValue: value) else { return false }
    return abs(date.timeIntervalSinceNow) < 60
  }

  private mutating func checkNames() {
    for (position, entity) in entities.enumerated() {
      if let other = entities[..<position].first(where: { $0.name == entity.name }) {
        fail(
          "The classes \(entity.type) and \(other.type) have the same name, \(entity.name). Rename "
            + "one of them.")
      }
      var names: Set<String> = []
      for property in entity.properties where !names.insert(property.storedName).inserted {
        fail(
          "Two properties of \(entity.type) have the same name in the store, "
            + "\(property.storedName). Rename one of them.")
      }
    }
  }

  // MARK: Relationships

  private mutating func link(
    _ entity: EntityDescription, _ declaration: Entity, _ content: Schema.Content
  ) {
    for property in entity.relationships {
      guard let inverse = property.options.inverse else { continue }
      link(entity, property, inverse, content)
    }
    for rule in declaration.rules {
      guard let rule = rule as? Inverse else { continue }
      do {
        link(entity, try content.property(rule.relationship, of: entity), rule.inverse, content)
      } catch {
        fail("An Inverse declaration of \(entity.name) is invalid. \(error.message)")
      }
    }
  }

  private mutating func link(
    _ entity: EntityDescription, _ property: PropertyDescription, _ keyPath: AnyKeyPath,
    _ content: Schema.Content
  ) {
    do {
      let path = try content.path(keyPath)
      let type = property.storage.destination.flatMap { content.entity(of: $0) }
      guard path.count == 1, let destination = type, let other = path.first,
        destination.isKind(of: other.entity), other.property.isRelationship
      else {
        return fail(
          "The inverse of \(entity.name).\(property.name) is not a relationship of the destination "
            + "class. Specify a relationship that the destination class declares or inherits.")
      }
      // Set the inverses in all subentities too, because they inherit the relationship in the same
      // slot.
      for member in entity.family {
        member.inverses[property.slot] = .init(entity: other.entity, property: other.property)
      }
      for member in other.entity.family {
        member.inverses[other.property.slot] = .init(entity: entity, property: property)
      }
    } catch {
      fail("The inverse of \(entity.name).\(property.name) is invalid. \(error.message)")
    }
  }

  private mutating func checkInverses(of entity: EntityDescription) {
    for property in entity.relationships where entity.inverses[property.slot] == nil {
      guard case .toMany = property.kind else { continue }
      let path = "\\\(entity.name).\(property.name)"
      let isOwnClass = property.storage.destination == entity.type
      fail(
        "\(entity.name).\(property.name) has no inverse. Declare the inverse on one of the two "
          + "sides, for example with @ToMany(inverse: \\Other.property)"
          + (isOwnClass
            ? ", or add Inverse(\(path), \(path)) if the relationship is its own inverse." : "."))
    }
  }

  // MARK: Derived attributes

  private mutating func derive(_ content: Schema.Content) {
    let builder = DerivationBuilder(content: content)
    for (entity, declaration) in zip(entities, declarations) {
      for case let rule as Derived in declaration.rules {
        do {
          try builder.derive(rule, of: entity)
        } catch {
          fail("A Derived declaration of \(entity.name) is invalid. \(error.message)")
        }
      }
    }
    for entity in entities { failures += builder.failures(of: entity) }
  }

  // MARK: Indexes

  private mutating func index(
    _ entity: EntityDescription, _ declaration: Entity, _ content: Schema.Content
  ) {
    var position = 0
    for rule in declaration.rules {
      let (keyPaths, isUnique): ([AnyKeyPath], Bool)
      switch rule {
      case let rule as Unique: (keyPaths, isUnique) = (rule.attributes, true)
      case let rule as Index: (keyPaths, isUnique) = (rule.attributes, false)
      default: continue
      }
      do {
        let slots = try keyPaths.map { try content.property($0, of: entity).indexableSlot() }
        add(slots, isUnique, at: position, to: entity)
        position += 1
      } catch {
        fail(
          "An index of \(entity.name) is invalid. "
            + "\((error as? ObjectGraphError)?.message ?? "\(error)")")
      }
    }
    for property in entity.ownProperties where !property.options.rules.isEmpty {
      do {
        let slots = [try property.indexableSlot()]
        // If the attribute is both unique and indexed, add only a unique index, which serves both
        // purposes. If the entity's rules already declare a suitable index, add none.
        let isUnique = property.options.rules.contains(.unique)
        let isDeclared = entity.indexes.contains {
          $0.entity === entity && $0.slots == slots && ($0.isUnique || !isUnique)
        }
        guard !isDeclared else { continue }
        add(slots, isUnique, at: position, to: entity)
        position += 1
      } catch {
        fail(
          "The index or unique constraint of \(entity.name).\(property.name) is invalid. "
            + "\(error.message)")
      }
    }
    for slot in DerivationBuilder(content: content).unlistedReferences(of: entity) {
      add([slot], false, at: position, to: entity)
      position += 1
    }
  }

  private func add(
    _ slots: [Int], _ isUnique: Bool, at position: Int, to entity: EntityDescription
  ) {
    let isOverRelationship = entity.family.contains { member in
      member.derived.contains { $0.isOverRelationship && slots.contains($0.slot) }
    }
    let index = IndexDescription(
      entity: entity, position: position, slots: slots, isUnique: isUnique,
      isOverRelationship: isOverRelationship)
    for member in entity.family { member.indexes.append(index) }
  }
}

extension PropertyDescription {
  /// Returns the slot of the property.
  ///
  /// - Throws: `invalidModel` if indexes do not support the property's type.
  fileprivate func indexableSlot() throws(ObjectGraphError) -> Int {
    if case .attribute(let storageType, _) = kind, storageType != .json, storageType != .decimal {
      return slot
    }
    throw ObjectGraphError(
      .invalidModel,
      "\(name) cannot be indexed, because indexes do not support its type. Remove the index or "
        + "unique constraint.")
  }
}
