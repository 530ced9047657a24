import Foundation

/// An index that finds objects with unsaved changes by the value of one unique attribute.
///
/// Without the index, finding or creating n objects would take O(n²) time. A changed object is
/// added at the first search after the change. From then on, each assignment to the attribute marks
/// the object as stale, and the next search adds it again. An entry may be outdated, so a search
/// verifies the object's current value.
struct PendingValues {
  let property: PropertyDescription
  let entity: EntityDescription
  /// The numbers of the added objects, keyed by the values they had when they were added.
  private var numbers: [StoredValue: [ObjectNumber]] = [:]
  private var entryCount = 0
  /// The objects whose values may have changed since they were added.
  private var stale: Set<ObjectNumber> = []
  private var inserted = ObjectList.Cursor()
  private var updated = ObjectList.Cursor()

  /// The number of entries that the index may contain beyond two per changed object.
  ///
  /// An index with more entries is rebuilt.
  private static let maxSpareCount = 64

  init(_ property: PropertyDescription, of entity: EntityDescription) {
    self.property = property
    self.entity = entity
  }

  /// Records that the value of an object may have changed.
  mutating func markStale(_ object: ManagedObject) { stale.insert(object.number) }

  /// Returns a context's changed objects whose attribute has the given value.
  ///
  /// - Throws: Any error from reading a value.
  mutating func objects(
    with value: StoredValue, in context: ManagedObjectContext
  ) throws -> [ManagedObject] {
    let count = context.inserted.count + context.updated.count
    if !context.inserted.continues(inserted) || !context.updated.continues(updated)
      || entryCount > 2 * count + Self.maxSpareCount
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
    let key = value.asKey
    for number in numbers[key] ?? [] {
      guard let object = context.registeredObject(context.resolved(number)) else { continue }
      // An object can be edited while its row does not exist in the pinned generation. Load the
      // object, because the row may exist now.
      if object.isFault {
        context.fire(object)
        markStale(object)
      }
      guard object.hasChanges, !context.discardNoOpEdits(of: object), !object.isDeleted,
        try object.storedValue(property).asKey == key
      else { continue }
      found.insert(object)
    }
    return Array(found)
  }

  private mutating func add(_ object: ManagedObject) throws {
    guard object.entityDescription?.isKind(of: entity) == true, object.hasChanges else { return }
    // Without this hook, the setters of a new object would not report changes.
    if object.isInserted { object.setHooks(.writing) }
    let key = try object.storedValue(property).asKey
    guard !key.isNull else { return }
    numbers[key, default: []].append(object.number)
    entryCount += 1
  }
}

extension StoredValue {
  /// The canonical form of the value, for use as a key.
  ///
  /// Values that are equal in a unique constraint have the same canonical form.
  fileprivate var asKey: StoredValue {
    switch self {
    case .string(let text): .string(text.composed)
    case .double(bits: let bits): .double(bits: Self.canonical(bits))
    case .date(bits: let bits): .date(bits: Self.canonical(bits))
    default: self
    }
  }

  private static func canonical(_ bits: UInt64) -> UInt64 {
    let number = Double(bitPattern: bits)
    return number == 0 ? 0 : number.isNaN ? Double.nan.bitPattern : bits
  }
}

extension ManagedObjectContext {
  /// Returns the registered object with the given number, or `nil` if there is none.
  func registeredObject(_ number: ObjectNumber) -> ManagedObject? {
    registered[number]?.takeUnretainedValue()
  }

  /// Records that a property of an object with unsaved changes may have changed.
  ///
  /// If `property` is `nil`, any property may have changed.
  func markPendingValueStale(of object: ManagedObject, _ property: PropertyDescription? = nil) {
    guard object.hasChanges else { return }
    for position in pendingValues.indices
    where property == nil || pendingValues[position].property.slot == property?.slot {
      pendingValues[position].markStale(object)
    }
  }

  /// Returns the object whose row has the given unique value, or `nil` if there is none.
  ///
  /// - Precondition: The context has no parent.
  func storedObject(
    with value: StoredValue, _ index: IndexDescription
  ) throws -> ManagedObject? {
    let view = try currentView()
    guard let number = try view.owner(index, [value], model),
      let storage = model.storage(of: number)
    else { return nil }
    // Discard edits that set values to their original values, so that an object without other edits
    // is treated as unchanged and gets the row's values.
    if let object = registeredObject(number) { _ = discardNoOpEdits(of: object) }
    return try view.withRecord(number, storage) { try materialize(number, storage, $0) } ?? nil
  }

  /// Returns this context's objects whose unique attribute has the given value.
  ///
  /// - Throws: Any error from reading rows.
  func objects(
    with value: StoredValue, of property: PropertyDescription, _ index: IndexDescription
  ) throws -> [ManagedObject] {
    var found: [ManagedObject] = []
    if let parent {
      loadReturnedObjects()
      found = try parent.objects(with: value, of: property, index).compactMap { original in
        guard let object = object(original.number) else { return nil }
        if object.isFault { fire(object) }
        if !object.hasChanges || discardNoOpEdits(of: object) {
          fillAgainIfStale(object, from: original)
        }
        return object
      }
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
