/// The objects on which a predicate is evaluated: the fetched one, and those its relationships lead
/// to.
///
/// Rows are read in place, without creating objects. An object that was changed in the context is
/// read instead of its row.
final class QueryScope {
  private let model: StoreModel
  /// The view from which rows are read; `nil` if all objects are in memory.
  private let view: StoreView?
  private let replacement: (ObjectNumber) -> ManagedObject?
  /// The current elements of the collections being iterated over, by variable.
  var variables: [StoredValue]

  // The subject: a record with its entity, or an object. Neither is retained, because that would
  // take longer than reading a record; both outlive the closure that uses them. They skip
  // exclusivity checks because one thread uses a scope, with one closure at a time.
  @exclusivity(unchecked) private var record: RecordView?
  @exclusivity(unchecked) private unowned(unsafe) var storage: EntityStorage?
  @exclusivity(unchecked) private var entityNumber = 0
  @exclusivity(unchecked) private unowned(unsafe) var object: ManagedObject?
  @exclusivity(unchecked) private var number = ObjectNumber(bits: 0)

  /// - Parameter replacement: Returns the object to read instead of a row, if there is one.
  init(
    _ model: StoreModel, _ view: StoreView?, variableCount: Int,
    replacement: @escaping (ObjectNumber) -> ManagedObject?
  ) {
    self.model = model
    self.view = view
    self.replacement = replacement
    variables = Array(repeating: .null, count: variableCount)
  }

  /// Makes a record the subject while `body` runs; the record must stay valid until then.
  func with<Result>(
    _ record: RecordView, _ storage: EntityStorage, _ number: ObjectNumber,
    _ body: () throws -> Result
  ) rethrows -> Result {
    self.record = record
    self.storage = storage
    entityNumber = storage.number
    self.number = number
    defer { self.record = nil }
    return try body()
  }

  /// Makes an object in memory the subject while `body` runs.
  func with<Result>(_ object: ManagedObject, _ body: () throws -> Result) rethrows -> Result {
    self.object = object
    number = object.number
    defer { self.object = nil }
    return try body()
  }

  // MARK: The subject

  /// The number of the subject, as a value.
  var own: StoredValue { .integer(number.bits) }

  /// Returns a property of the subject.
  func own(_ location: PropertyLocation) throws -> StoredValue {
    guard let record else {
      return try object.map { try Self.value(location.property, $0) } ?? .null
    }
    if location.entityNumber != entityNumber || location.layoutNumber != record.layoutNumber {
      guard let storage else { return .null }
      location.find(storage, record.layout)
    }
    guard let found = location.found else { return location.constant }
    let value = try record.value(location.field, found)
    if case .null = value { return location.constant }
    return value
  }

  /// Returns whether a property of the subject equals a string; `bytes` is the UTF-8 of the string.
  func own(_ property: PropertyDescription, is text: String, _ bytes: [UInt8]) throws -> Bool {
    if let record, let storage {
      let layout = record.layoutNumber
      if let field = storage.field(of: property.slot, layout: layout), !record.isNull(field) {
        return try record.isText(field, text, bytes)
      }
      return storage.constant(of: property.slot, layout: layout) == .string(text)
    }
    return try own(PropertyLocation(property)) == .string(text)
  }

  // MARK: Related objects

  /// Returns a property of a related object.
  func value(_ property: PropertyDescription, of object: StoredValue) throws -> StoredValue {
    guard case .integer(let bits) = object else { return .null }
    let number = ObjectNumber(bits: bits)
    if let object = replacement(number) { return try Self.value(property, object) }
    guard let view, let storage = model.storage(of: number) else { return .null }
    return try view.withRecord(number, storage) { try storage.value(property.slot, $0) } ?? .null
  }

  /// Returns the members of a to-many relationship of an object.
  func members(_ property: PropertyDescription, of object: StoredValue) throws -> [StoredValue] {
    guard case .integer(let bits) = object else { return [] }
    let number = ObjectNumber(bits: bits)
    if let object = replacement(number) {
      let members = object.source?.loadedMembers(of: object, property) ?? []
      return members.map { .integer($0.number.bits) }
    }
    guard let view, let storage = model.storage(of: number) else { return [] }
    let keyspace = model.memberKeyspace(property, of: storage.entity)
    return try view.numbers(in: keyspace, [object]).map { .integer($0.bits) }
  }

  /// Returns whether an object is of an entity or one of its subentities.
  func isObject(_ object: StoredValue, of entity: EntityDescription) -> Bool {
    guard case .integer(let bits) = object else { return false }
    let storage = model.storage(of: ObjectNumber(bits: bits))
    return storage?.entity.isKind(of: entity) ?? false
  }

  // MARK: Reading

  private static func value(
    _ property: PropertyDescription, _ object: ManagedObject
  ) throws -> StoredValue {
    if object.isFault, !object.isDeleted { object.source?.fire(object) }
    return object.isDeleted ? .null : try object.storedValue(property)
  }
}

/// The position of a property in records, cached for the layout of the last record, which is mostly
/// the layout of the next one.
final class PropertyLocation {
  let property: PropertyDescription
  // These skip exclusivity checks, because one thread reads them for every record.
  @exclusivity(unchecked) private(set) var entityNumber = -1
  @exclusivity(unchecked) private(set) var layoutNumber = -1
  @exclusivity(unchecked) private(set) var field = 0
  /// The field; `nil` if records of the layout do not have it.
  @exclusivity(unchecked) private(set) var found: RecordLayout.Field?
  /// The property's value in records of the layout that have none.
  @exclusivity(unchecked) private(set) var constant = StoredValue.null

  init(_ property: PropertyDescription) { self.property = property }

  func find(_ storage: EntityStorage, _ layout: RecordLayout) {
    entityNumber = storage.number
    layoutNumber = Int(layout.number)
    let field = storage.field(of: property.slot, layout: layoutNumber)
    self.field = field ?? 0
    found = field.map { layout.fields[$0] }
    constant = storage.constant(of: property.slot, layout: layoutNumber)
  }
}
