/// The source of the values needed to evaluate a predicate.
///
/// A predicate needs the values of the fetched object, called the *subject*, and of its related
/// objects.
///
/// Rows are read in place, without creating objects. If an object has unsaved changes in the
/// context, the object is read instead of its row.
final class QueryScope {
  private let model: StoreModel
  /// The view from which rows are read, or `nil` if all objects are in memory.
  private let view: StoreView?
  private let replacement: (ObjectNumber) -> ManagedObject?
  /// The values of the predicate's variables, indexed by variable number.
  ///
  /// The value of a variable is the current element of the collection that the variable iterates
  /// over.
  var variables: [StoredValue]
  /// The text searches that have been evaluated in the view, keyed by the identity of the search.
  private var textRuns: [ObjectIdentifier: TextRun] = [:]

  // The subject, which is the fetched object being tested, is either a record with its entity or an
  // object in memory. Neither the entity nor the object is retained, because reference counting
  // would take longer than reading a record; both outlive the closure that uses them. The
  // properties below can skip exclusivity checks, because a scope is used by only one thread, which
  // runs one closure at a time.
  @exclusivity(unchecked) private var record: RecordView?
  @exclusivity(unchecked) private unowned(unsafe) var storage: EntityStorage?
  @exclusivity(unchecked) private var entityNumber = 0
  @exclusivity(unchecked) private unowned(unsafe) var object: ManagedObject?
  /// The subject's object number.
  @exclusivity(unchecked) private(set) var number = ObjectNumber(bits: 0)

  /// Creates a scope without a subject.
  ///
  /// - Parameter replacement: A closure that, given the number of a row, returns the object in
  ///   memory to read instead of the row, or `nil` to read the row.
  init(
    _ model: StoreModel, _ view: StoreView?, variableCount: Int,
    replacement: @escaping (ObjectNumber) -> ManagedObject?
  ) {
    self.model = model
    self.view = view
    self.replacement = replacement
    variables = Array(repeating: .null, count: variableCount)
  }

  /// Uses a record as the subject while `body` runs.
  ///
  /// The record must stay valid until `body` returns.
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

  /// Uses an object in memory as the subject while `body` runs.
  func with<Result>(_ object: ManagedObject, _ body: () throws -> Result) rethrows -> Result {
    self.object = object
    number = object.number
    defer { self.object = nil }
    return try body()
  }

  // MARK: Text searches

  /// The number of the subject if the subject is a row, or `nil` if the subject is an object in
  /// memory.
  var storedNumber: ObjectNumber? { record == nil ? nil : number }

  /// Returns the evaluated text search, which is cached, or `nil` if the scope has no view.
  func textRun(_ search: TextSearch) throws -> TextRun? {
    if let known = textRuns[ObjectIdentifier(search)] { return known }
    guard let view, !view.isEmpty else { return nil }
    let run = try TextRun(search, view)
    textRuns[ObjectIdentifier(search)] = run
    return run
  }

  // MARK: The subject

  /// The subject's object number, as a stored value.
  var own: StoredValue { .integer(number.bits) }

  /// Returns the value of a property of the subject.
  func own(_ location: PropertyLocation) throws -> StoredValue {
    guard let record else {
      guard let object else { return .null }
      if object.isDeleted { return try object.storedValue(location.property) }
      return try Self.value(location.property, object)
    }
    guard find(location, in: record) else { return .null }
    guard let found = location.found else { return location.constant }
    let value = try record.value(location.field, found)
    if case .null = value { return location.constant }
    return value
  }

  /// Updates `location` to match the layout of the subject's record.
  ///
  /// - Returns: `false`, with `location` unchanged, if the record's entity is unknown; otherwise,
  ///   `true`.
  @inline(__always)
  private func find(_ location: PropertyLocation, in record: RecordView) -> Bool {
    if location.entityNumber != entityNumber || location.layoutNumber != record.layoutNumber {
      guard let storage else { return false }
      location.find(storage, record.layout)
    }
    return true
  }

  /// Returns whether a property of the subject equals the string `text`.
  ///
  /// - Parameter bytes: The UTF-8 bytes of `text`.
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

  /// Returns whether a string property of the subject matches a pattern, or `false` if the property
  /// has no value.
  func own(_ location: PropertyLocation, matches pattern: TextPattern) throws -> Bool {
    if let record, find(location, in: record), location.found != nil,
      !record.isNull(location.field)
    {
      if let result = pattern.matches(utf8: try record.content(location.field)) { return result }
      return pattern.matches(try record.text(location.field))
    }
    guard case .string(let text) = try own(location) else { return false }
    return pattern.matches(text)
  }

  // MARK: Related objects

  /// Returns the value of a property of a related object.
  func value(_ property: PropertyDescription, of object: StoredValue) throws -> StoredValue {
    guard case .integer(let bits) = object else { return .null }
    let number = ObjectNumber(bits: bits)
    if let object = replacement(number) { return try Self.value(property, object) }
    guard let view, let storage = model.storage(of: number) else { return .null }
    return try view.withRecord(number, storage) { try storage.value(property.slot, $0) } ?? .null
  }

  /// Returns the object number in `reference`, or `nil` if there is no object with this number.
  ///
  /// - Precondition: A property of the object has been read in this scope, so an object in memory
  ///   has been loaded if it has a row.
  func existingObject(_ reference: StoredValue) throws -> ObjectNumber? {
    guard case .integer(let bits) = reference else { return nil }
    let number = ObjectNumber(bits: bits)
    if let object = replacement(number) { return object.isDeleted ? nil : number }
    guard let view, let storage = model.storage(of: number) else { return nil }
    return try view.withRecord(number, storage) { _ in number }
  }

  /// Returns the members of an object's to-many relationship.
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

  /// Returns whether an object belongs to an entity or one of its subentities.
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
    if object.isDeleted { return .null }
    if case .toOne = property.kind, let context = object.storeContext, !context.deleted.isEmpty {
      return context.toOneTarget(of: object, property).map { .integer($0.number.bits) } ?? .null
    }
    return try object.storedValue(property)
  }
}

/// The position of a property's field in records.
///
/// The position depends on the layout of the record. The position in the most recently used layout
/// is cached, because consecutive records usually have the same layout.
final class PropertyLocation {
  let property: PropertyDescription
  // The properties below skip exclusivity checks, because they are read for every record. Skipping
  // the checks is safe, because only one thread uses the properties.
  @exclusivity(unchecked) private(set) var entityNumber = -1
  @exclusivity(unchecked) private(set) var layoutNumber = -1
  @exclusivity(unchecked) private(set) var field = 0
  /// The field in the cached layout, or `nil` if that layout has no field for the property.
  @exclusivity(unchecked) private(set) var found: RecordLayout.Field?
  /// The value to use for the property if a record's field is missing or null.
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
