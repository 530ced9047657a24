/// The keyspaces and record layouts of an entity in a store, with methods that encode and decode
/// records.
final class EntityStorage: Sendable {
  let entity: EntityDescription
  /// The class of the entity's objects, or `nil` if the class is not a subclass of `ManagedObject`.
  let objectType: ManagedObject.Type?
  /// The number of the entity in the store.
  let number: Int
  let layouts: [RecordLayout]
  /// The property of each field, indexed by layout and then by field.
  ///
  /// An element is `nil` if the class no longer has the property.
  let properties: [[PropertyDescription?]]
  /// The index of each property's field in each layout, ordered by layout and then by slot.
  ///
  /// An element is -1 if the layout has no field for the property.
  private let fields: [Int]
  /// The values to use for properties that have no value in a record, indexed by layout and then by
  /// slot.
  private let constants: [[StoredValue]]
  /// The slot of each field in a new record, in field order.
  private let columns: [Int]
  /// The locations in an object's memory from which the fields of a new record are filled, in field
  /// order.
  private let memoryFields: [MemoryField]
  /// The fillers that set the properties of managed objects from records, one for each layout.
  let fillers: [ObjectFiller]
  /// The name of the keyspace that contains the records, keyed by row ID.
  let keyspace: String
  /// The properties' numbers in the store, keyed by slot.
  let propertyNumbers: [Int: UInt16]
  /// The keyspaces of the relationships, indexed by slot.
  ///
  /// An element is `nil` for a property without a keyspace.
  let relationshipKeyspaces: [String?]
  /// The variable-length attributes.
  let variableColumns: [PropertyDescription]
  /// The attributes whose values are kept in the history when an object is deleted.
  ///
  /// These are the attributes that the model declares as preserved. If the entity has unique
  /// attributes, one of them is included too, so that readers of the history can identify the
  /// deleted object.
  let preservedColumns: [PropertyDescription]
  /// The preserved variable-length attributes.
  let preservedVariableColumns: [PropertyDescription]
  /// A Boolean value that indicates whether any attribute is a decimal number.
  let hasDecimals: Bool
  /// The minimum length of a new record, in bytes.
  let fixedByteCount: Int
  /// A Boolean value that indicates whether the entity has unique constraints.
  let hasUniqueConstraints: Bool
  /// A Boolean value that indicates whether the entity has relationships.
  let hasRelationships: Bool
  /// The to-one relationships.
  let references: [PropertyDescription]
  /// The to-one relationships whose inverse is also to-one.
  let pairings: [PropertyDescription]
  /// The to-one relationships without an inverse.
  let oneWayReferences: [PropertyDescription]
  /// The slots of the attributes that are not part of any unique index.
  ///
  /// Changes to these attributes can be written without checking unique constraints or references.
  /// If the entity has a to-one relationship without an inverse, the set is empty, because each
  /// save of such an object must also check whether the objects to which it refers have been
  /// deleted.
  let independentSlots: SlotSet
  /// The keyspaces of the indexes declared by the entity itself, in the order of the indexes.
  let indexKeyspaces: [String]
  /// The keyspace of the text index declared by the entity itself, if any.
  let textKeyspace: String?

  init(_ entity: EntityDescription, _ stored: StoredModel.StoredEntity) throws {
    self.entity = entity
    objectType = entity.type as? ManagedObject.Type
    indexKeyspaces = try entity.indexes.filter { $0.entity === entity }
      .map { try $0.keyspace(stored) }
    textKeyspace =
      entity.textIndex?.entity === entity ? try entity.textIndex?.keyspace(stored) : nil
    hasUniqueConstraints = entity.indexes.contains(where: \.isUnique)
    hasRelationships = !entity.relationships.isEmpty
    references = entity.relationships.filter(\.isReference)
    pairings = references.filter { entity.inverses[$0.slot]?.property.isReference ?? false }
    oneWayReferences = references.filter { entity.inverses[$0.slot] == nil }
    independentSlots =
      oneWayReferences.isEmpty ? Self.slotsWithoutUniqueness(of: entity) : SlotSet()
    number = stored.number
    let known = entity.properties.map { property in try? stored.stored(property) }
    let numbers = zip(entity.properties, known).compactMap { property, known in
      known.map { (property.slot, $0.number) }
    }
    propertyNumbers = Dictionary(uniqueKeysWithValues: numbers)
    relationshipKeyspaces = known.map { $0?.ends?.keyspace }
    keyspace = "objects.\(stored.number)"
    var byNumber: [UInt16: PropertyDescription] = [:]
    for (property, known) in zip(entity.properties, known) where property.fieldStorageType != nil {
      if let known { byNumber[known.number] = property }
    }
    let layouts = stored.recordLayouts
    let properties = layouts.map { layout in layout.fields.map { byNumber[$0.property] } }
    let missing = properties.map { present in
      let slots = Set(present.compactMap { $0?.slot })
      return entity.columns.filter { !slots.contains($0.slot) }
    }
    let constants = stored.layouts.map { layout in
      var values = entity.properties.map { _ in StoredValue.null }
      for constant in layout.constants {
        if let property = byNumber[constant.property] { values[property.slot] = constant.value }
      }
      return values
    }
    columns = properties.suffix(1).joined().compactMap { $0?.slot }
    memoryFields = columns.map { entity.memoryFields[$0] }
    guard let last = layouts.last, missing.last?.isEmpty == true,
      columns.count == last.fields.count,
      Self.fit(layouts, properties), Self.fit(constants, entity.columns)
    else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: a record layout in the model does not match its entity. Restore a "
          + "backup.")
    }
    self.layouts = layouts
    variableColumns = entity.columns.filter { $0.fieldStorageType?.byteCount == 0 }
    let key = entity.referringAttribute
    let preserved = entity.columns.filter { $0.options.isPreservedOnDeletion || $0 === key }
    preservedColumns = preserved
    preservedVariableColumns = variableColumns.filter { column in
      preserved.contains { $0 === column }
    }
    hasDecimals = variableColumns.contains { $0.fieldStorageType == .decimal }
    fixedByteCount = last.fixedByteCount
    self.properties = properties
    self.constants = constants
    fields = properties.flatMap { present in
      entity.properties.map { property in present.firstIndex { $0 === property } ?? -1 }
    }
    fillers = layouts.indices.map {
      ObjectFiller(layouts[$0], properties[$0], missing: missing[$0], constants: constants[$0])
    }
  }

  /// Returns the slots of the attributes that are not part of any unique index.
  private static func slotsWithoutUniqueness(of entity: EntityDescription) -> SlotSet {
    let unique = SlotSet(entity.indexes.filter(\.isUnique).flatMap(\.slots))
    return SlotSet(
      entity.columns.filter { $0.isAttribute && !unique.contains($0.slot) }.map(\.slot))
  }

  /// Returns whether each property can represent all values that its fields can store.
  ///
  /// The check is necessary because the layouts come from a file, which may be corrupt.
  private static func fit(
    _ layouts: [RecordLayout], _ properties: [[PropertyDescription?]]
  ) -> Bool {
    zip(layouts, properties).allSatisfy { layout, present in
      zip(layout.fields, present).allSatisfy { field, property in
        property?.fieldStorageType.map { field.storageType.fits(in: $0) } ?? true
      }
    }
  }

  private static func fit(
    _ constants: [[StoredValue]], _ columns: [PropertyDescription]
  ) -> Bool {
    constants.allSatisfy { values in
      columns.allSatisfy { $0.fieldStorageType?.holds(values[$0.slot]) == true }
    }
  }

  /// Returns the field of a property in a layout, or `nil` if the layout has no such field.
  func field(of slot: Int, layout: Int) -> Int? {
    let field = fields[layout * entity.properties.count + slot]
    return field < 0 ? nil : field
  }

  /// Returns the value to use for a property when a record of the given layout has no value for it.
  func constant(of slot: Int, layout: Int) -> StoredValue { constants[layout][slot] }

  /// Returns the name of the property with the given number in the store, or `nil` if the class no
  /// longer has the property.
  func propertyName(_ number: UInt16) -> String? {
    entity.properties.first { propertyNumbers[$0.slot] == number }?.name
  }

  /// Returns a record that contains an object's values.
  ///
  /// - Parameter values: The values, indexed by slot.
  func record(_ values: [StoredValue], version: UInt64) -> [UInt8] {
    var encoder = RecordEncoder()
    encode(values, version: version, with: &encoder)
    return encoder.record
  }

  /// Encodes a record that contains an object's values.
  ///
  /// - Parameter values: The values, indexed by slot.
  func encode(_ values: [StoredValue], version: UInt64, with encoder: inout RecordEncoder) {
    encoder.encode(layouts[layouts.count - 1], version: version) { values[columns[$0]] }
  }

  /// Encodes a record that contains the values of an object in memory.
  ///
  /// - Precondition: The targets of the object's to-one relationships have permanent numbers.
  func encode(
    _ object: ManagedObject, version: UInt64, with encoder: inout RecordEncoder
  ) throws {
    let memoryFields = memoryFields
    try encoder.encode(layouts[layouts.count - 1], version: version) { field in
      if let value = object.simpleValue(memoryFields[field]) { return value }
      return try object.storedValue(entity.properties[memoryFields[field].slot])
    }
  }

  /// Returns the value of one property in a record.
  func value(_ slot: Int, _ view: RecordView) throws -> StoredValue {
    guard let field = field(of: slot, layout: view.layoutNumber), !view.isNull(field) else {
      return constant(of: slot, layout: view.layoutNumber)
    }
    return try view.value(field)
  }

  /// Returns the values of a record, indexed by slot.
  ///
  /// If the record has no value for a property, the result contains the default value that the
  /// property had when it was added or became required. If it had no default value, the result
  /// contains null.
  func values(_ view: RecordView) throws -> [StoredValue] {
    var values = constants[view.layoutNumber]
    for (field, property) in properties[view.layoutNumber].enumerated() {
      if let property, !view.isNull(field) { values[property.slot] = try view.value(field) }
    }
    return values
  }
}
