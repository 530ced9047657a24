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

  /// The object that is asked: a record, or the object of the context.
  private var subject = Subject.none

  private enum Subject {
    case none
    case record(RecordView, EntityStorage, ObjectNumber)
    case object(ManagedObject)
  }

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
    subject = .record(record, storage, number)
    defer { subject = .none }
    return try body()
  }

  /// Asks of an object as it is in memory.
  func with<Result>(_ object: ManagedObject, _ body: () throws -> Result) rethrows -> Result {
    subject = .object(object)
    defer { subject = .none }
    return try body()
  }

  // MARK: The object that is asked

  /// The number of the object, as a value.
  var own: StoredValue {
    switch subject {
    case .none: .null
    case .record(_, _, let number): .integer(number.bits)
    case .object(let object): .integer(object.number.bits)
    }
  }

  /// A property of the object.
  func own(_ property: PropertyDescription) throws -> StoredValue {
    switch subject {
    case .none: .null
    case .record(let record, let storage, _): try Self.value(property, record, storage)
    case .object(let object): try Self.value(property, object)
    }
  }

  /// Whether a property of the object is a text; `bytes` are those of the text.
  func own(_ property: PropertyDescription, is text: String, _ bytes: [UInt8]) throws -> Bool {
    if case .record(let record, let storage, _) = subject,
      let field = storage.fields[Int(record.layout.number)][property.slot]
    {
      return try record.isText(field, text, bytes)
    }
    return try own(property) == .string(text)
  }

  // MARK: Others

  /// A property of an object that a relationship has led to.
  func value(_ property: PropertyDescription, of object: StoredValue) throws -> StoredValue {
    guard case .integer(let bits) = object else { return .null }
    let number = ObjectNumber(bits: bits)
    if let object = replacement(number) { return try Self.value(property, object) }
    guard let view, let storage = model.storage(of: number) else { return .null }
    return try view.withRecord(number, storage) { try Self.value(property, $0, storage) } ?? .null
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
    _ property: PropertyDescription, _ record: RecordView, _ storage: EntityStorage
  ) throws -> StoredValue {
    guard let field = storage.fields[Int(record.layout.number)][property.slot] else {
      return property.initialValue
    }
    return try record.value(field)
  }

  private static func value(
    _ property: PropertyDescription, _ object: ManagedObject
  ) throws -> StoredValue {
    if object.isFault, !object.isDeleted { object.source?.fire(object) }
    return object.isDeleted ? .null : try object.storedValue(property)
  }
}
