import Foundation

/// Where the objects with unsaved changes are that have a value of one unique attribute.
///
/// Without it, to find or create n objects would ask n objects n times. It takes up an object when
/// somebody looks for one after that was changed. From then on the object tells of each value that
/// is set, as one with a row does, and is taken up again at the next search. An entry only says
/// that its object had the value once: whoever finds one compares.
struct PendingValues {
  let property: PropertyDescription
  let entity: EntityDescription
  /// The numbers of the objects by what they had.
  private var numbers: [StoredValue: [ObjectNumber]] = [:]
  private var entryCount = 0
  /// Objects that may have another value since.
  private var stale: Set<ObjectNumber> = []
  private var inserted = ObjectList.Place()
  private var updated = ObjectList.Place()

  /// How many entries there may be beside twice as many as there are objects, before all are taken
  /// up anew.
  private static let mostSpare = 64

  init(_ property: PropertyDescription, of entity: EntityDescription) {
    self.property = property
    self.entity = entity
  }

  /// Notes that an object has another value, or may have.
  mutating func note(_ object: ManagedObject) { stale.insert(object.number) }

  /// Returns the objects of a context that are changed and have a value.
  ///
  /// - Throws: What a value cannot be read for.
  mutating func objects(
    with value: StoredValue, in context: ManagedObjectContext
  ) throws -> [ManagedObject] {
    let count = context.inserted.count + context.updated.count
    if !context.inserted.continues(inserted) || !context.updated.continues(updated)
      || entryCount > 2 * count + Self.mostSpare
    {
      self = PendingValues(property, of: entity)
    }
    for object in context.inserted.objects(after: &inserted) { try add(object) }
    for object in context.updated.objects(after: &updated) { try add(object) }
    for number in stale {
      if let object = context.registeredObject(context.resolved(number)) { try add(object) }
    }
    stale.removeAll()
    var found: Set<ManagedObject> = []
    for number in numbers[value.asKey] ?? [] {
      guard let object = context.registeredObject(context.resolved(number)), object.hasChanges,
        !object.isDeleted, try object.storedValue(property).isEqual(to: value)
      else { continue }
      found.insert(object)
    }
    return Array(found)
  }

  private mutating func add(_ object: ManagedObject) throws {
    guard object.entityDescription?.isKind(of: entity) == true, object.hasChanges else { return }
    // Without that, a new object sets its values without a word.
    if object.isInserted { object.setHelp(.writing) }
    let key = try object.storedValue(property).asKey
    guard !key.isNull else { return }
    numbers[key, default: []].append(object.number)
    entryCount += 1
  }
}

extension StoredValue {
  /// The same for all values that are equal.
  fileprivate var asKey: StoredValue {
    switch self {
    case .string(let text): .string(text.composed)
    case .number(let bits): Double(bitPattern: bits) == 0 ? .number(0 as UInt64) : self
    case .date(let bits): Double(bitPattern: bits) == 0 ? .date(0) : self
    default: self
    }
  }
}

extension ManagedObjectContext {
  /// The object of a number if it is here.
  func registeredObject(_ number: ObjectNumber) -> ManagedObject? {
    registered[number]?.takeUnretainedValue()
  }

  /// Notes that an object with unsaved changes has another value of a property, or of any, or may
  /// have.
  func notePendingValue(of object: ManagedObject, _ property: PropertyDescription? = nil) {
    guard object.hasChanges else { return }
    for position in pendingValues.indices
    where property == nil || pendingValues[position].property.slot == property?.slot {
      pendingValues[position].note(object)
    }
  }

  /// The object of the row that has a unique value; the context has no parent.
  func storedObject(
    with value: StoredValue, _ index: IndexDescription
  ) throws -> ManagedObject? {
    let view = try currentView()
    guard let number = try view.number(in: model.keyspace(index), [value]),
      let storage = model.storage(of: number)
    else { return nil }
    return try view.withRecord(number, storage) { try realise(number, storage, $0) } ?? nil
  }

  /// Returns the objects that have a value of a unique attribute, as they are here.
  ///
  /// - Throws: What kept rows from being read.
  func objects(
    with value: StoredValue, of property: PropertyDescription, _ index: IndexDescription
  ) throws -> [ManagedObject] {
    var found: [ManagedObject] = []
    if let parent {
      found = try parent.objects(with: value, of: property, index).compactMap { object($0.number) }
    } else if let object = try storedObject(with: value, index) {
      found = [object]
    }
    found.removeAll { $0.hasChanges }
    guard hasOwnChanges else { return found }
    let position = pendingValues.firstIndex {
      $0.property.slot == property.slot && $0.entity === index.entity
    }
    var pending =
      position.map { pendingValues.remove(at: $0) } ?? PendingValues(property, of: index.entity)
    defer { pendingValues.append(pending) }
    return try found + pending.objects(with: value, in: self)
  }
}
