/// Where the parts of a predicate find what they ask for: the object in question, and those that
/// its relationships lead to.
///
/// Rows are read where they lie, without making objects of them. Where an object of the context is
/// to be asked instead of its row, because it was changed there, it is.
final class QueryScope {
  private let model: StoreModel
  /// What rows are read from; without it, there are objects for all of them.
  private let view: StoreView?
  private let replacement: (ObjectNumber) -> ManagedObject?
  /// The elements of the collections that are being gone through, by their variables.
  var variables: [StoredValue]

  // What is asked: a record with its entity, or an object. Neither is retained, as a record is
  // looked at in less time than that takes; both are there while the closure runs. Unchecked,
  // because a scope is used by one thread, and by one closure after the other.
  @exclusivity(unchecked) private var record: RecordView?
  @exclusivity(unchecked) private unowned(unsafe) var storage: EntityStorage?
  @exclusivity(unchecked) private var entityNumber = 0
  @exclusivity(unchecked) private unowned(unsafe) var object: ManagedObject?
  @exclusivity(unchecked) private var number = ObjectNumber(bits: 0)

  /// - Parameter replacement: The object to be asked instead of a row, if there is one.
  init(
    _ model: StoreModel, _ view: StoreView?, variableCount: Int,
    replacement: @escaping (ObjectNumber) -> ManagedObject?
  ) {
    self.model = model
    self.view = view
    self.replacement = replacement
    variables = Array(repeating: .null, count: variableCount)
  }

  /// Asks of a record, which must be there until `body` returns.
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

  /// Asks of an object as it is in memory.
  func with<Result>(_ object: ManagedObject, _ body: () throws -> Result) rethrows -> Result {
    self.object = object
    number = object.number
    defer { self.object = nil }
    return try body()
  }

  // MARK: The object that is asked

  /// The number of the object, as a value.
  var own: StoredValue { .integer(number.bits) }

  /// A property of the object.
  func own(_ place: PropertyPlace) throws -> StoredValue {
    guard let record else { return try object.map { try Self.value(place.property, $0) } ?? .null }
    if place.entityNumber != entityNumber || place.layoutNumber != record.layoutNumber {
      guard let storage else { return .null }
      place.find(storage, record.layout)
    }
    guard let found = place.found else { return place.constant }
    let value = try record.value(place.field, found)
    if case .null = value { return place.constant }
    return value
  }

  /// Whether a property of the object is a text; `bytes` are those of the text.
  func own(_ property: PropertyDescription, is text: String, _ bytes: [UInt8]) throws -> Bool {
    if let record, let storage {
      let layout = record.layoutNumber
      if let field = storage.field(of: property.slot, layout: layout), !record.isNull(field) {
        return try record.isText(field, text, bytes)
      }
      return storage.constant(of: property.slot, layout: layout) == .string(text)
    }
    return try own(PropertyPlace(property)) == .string(text)
  }

  // MARK: Others

  /// A property of an object that a relationship has led to.
  func value(_ property: PropertyDescription, of object: StoredValue) throws -> StoredValue {
    guard case .integer(let bits) = object else { return .null }
    let number = ObjectNumber(bits: bits)
    if let object = replacement(number) { return try Self.value(property, object) }
    guard let view, let storage = model.storage(of: number) else { return .null }
    return try view.withRecord(number, storage) { try storage.value(property.slot, $0) } ?? .null
  }

  /// The members of a to-many relationship.
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

  /// Whether an object is of an entity or one below it.
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

/// Where a property lies in the records that are looked at: in those of the last layout there was,
/// which is mostly that of the next one too.
final class PropertyPlace {
  let property: PropertyDescription
  // Unchecked, because these are looked at for every record, and by one thread.
  @exclusivity(unchecked) private(set) var entityNumber = -1
  @exclusivity(unchecked) private(set) var layoutNumber = -1
  @exclusivity(unchecked) private(set) var field = 0
  /// `nil` if records of the layout do not have it.
  @exclusivity(unchecked) private(set) var found: RecordLayout.Field?
  /// What it is in records of the layout that have no value.
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
