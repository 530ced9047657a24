import Foundation

/// A batch of events that is applied in one transaction.
struct FeedBatch {
  /// The object in this store that corresponds to an object of another store.
  private struct Counterpart {
    let number: ObjectNumber
    /// The number recorded for the object before this batch, or `nil` if the source's object was
    /// unknown.
    var recorded: ObjectNumber?
    var values: AppliedValues
  }

  /// An object, its last new event, and the resulting change to the object's row.
  private struct Work {
    let subject: FeedSubject
    let event: FeedElement
    let values: FeedValues
    let change: RowChange
  }

  private var run: BatchRun
  private let records: FeedRecords
  private let policy: MergePolicy.Kind
  private var events = FeedEvents()
  private var counterparts: [FeedSubject: Counterpart] = [:]
  /// The objects in this store that this batch has matched to previously unknown objects in the
  /// source.
  private var found: Set<ObjectNumber> = []

  init(_ run: BatchRun, _ transaction: WriteTransaction, _ policy: MergePolicy.Kind) throws {
    self.run = run
    self.policy = policy
    records = try FeedRecords(transaction)
  }

  /// Applies the given events in this batch's transaction.
  ///
  /// - Throws: ``FeedFailure`` if an event violates the model or conflicts with the store; any
  ///   error from reading or writing the store.
  mutating func apply(_ elements: ArraySlice<FeedElement>) throws -> FeedReport {
    do {
      try events.collect(elements, records)
      try applyCollected()
    } catch let error as ObjectGraphError {
      throw failure(error, elements)
    }
    return events.report
  }

  private mutating func applyCollected() throws {
    var works: [Work] = []
    var deletions: [(subject: FeedSubject, number: ObjectNumber)] = []
    // Find all objects by their unique values before changing any object, because a change can move
    // a unique value to another object.
    for subject in events.subjects {
      let event = events.last[subject]
      if let event, event.operation == .deleted {
        if let number = try counterpart(ofDeleted: subject, event) {
          deletions.append((subject, number))
        }
      } else if let event, let values = event.values, let entity = event.entity {
        if let change = try change(subject, event, entity, values) {
          works.append(Work(subject: subject, event: event, values: values, change: change))
        }
      }
    }
    for work in works { try merge(work) }
    for work in works { try relate(work) }
    for (source, time) in events.completed {
      // Delete the objects that a completed snapshot does not contain, because the source has
      // deleted them since their last event.
      for (id, number) in try records.unseen(since: time, source) {
        deletions.append((FeedSubject(source: source, id: id), number))
      }
    }
    for (subject, number) in deletions {
      if try !keeps(number, subject) {
        // Exempt the source's own objects from the delete rules. The source has already applied the
        // rules, and its events report which other objects were deleted.
        try run.changes.delete(number) { [records] other in
          try !records.isUnknown(other, subject.source)
        }
      }
      try records.forget(subject.source, subject.id, number)
    }
    try run.flush()
    try run.changes.finish()
    for (source, position) in events.snapshots { try records.putSnapshot(position, of: source) }
    for (source, position) in events.positions { try records.put(position, of: source) }
  }

  // MARK: Errors

  /// Converts an object graph error into a failure that names an event.
  ///
  /// The failure names the event about the affected object. If that object has no event, for
  /// example because only related objects have events, the failure names the first and last events.
  private func failure(
    _ error: ObjectGraphError, _ elements: ArraySlice<FeedElement>
  ) -> FeedFailure {
    if let number = error.objectID?.number,
      let subject = counterparts.first(where: { $0.value.number == number })?.key,
      let event = events.last[subject]
    {
      return event.failure(error.kind, error.message, error)
    }
    let names = [elements.first, elements.last].compactMap { $0?.id }
    return FeedFailure(
      error.kind, elements.first?.source,
      "Events \(names.joined(separator: " to ")) cannot be applied: \(error.message)", error)
  }

  // MARK: Objects

  /// Returns the object that is recorded as the counterpart of the source's object, or `nil` if
  /// there is none.
  ///
  /// The counterpart may no longer exist.
  private mutating func known(_ subject: FeedSubject) throws -> Counterpart? {
    if let known = counterparts[subject] { return known }
    guard let (number, values) = try records.object(of: subject.source, subject.id) else {
      return nil
    }
    let known = Counterpart(number: number, recorded: number, values: values)
    counterparts[subject] = known
    return known
  }

  /// Returns this store's number for an object that was deleted in the source, or `nil` if the
  /// object does not exist in this store.
  private mutating func counterpart(
    ofDeleted subject: FeedSubject, _ event: FeedElement
  ) throws -> ObjectNumber? {
    if let known = try known(subject) { return known.number }
    guard let entity = event.entity, let number = try find(subject, entity, event.key) else {
      return nil
    }
    counterparts[subject] = Counterpart(number: number, values: AppliedValues())
    return number
  }

  /// Returns the change to the object that corresponds to `subject`, or `nil` if that object was
  /// deleted in this store and the merge policy keeps the deletion.
  ///
  /// If the source's object is neither known nor found by a unique attribute, the method inserts a
  /// new object.
  private mutating func change(
    _ subject: FeedSubject, _ event: FeedElement, _ entity: EntityDescription, _ values: FeedValues
  ) throws -> RowChange? {
    let known = try known(subject)
    if let known {
      if let change = try run.changes.change(of: known.number) { return change }
      switch policy {
      case .objectTrump, .overwrite: break
      case .storeTrump, .rollback:
        try record(subject, seen: event.seen)
        return nil
      case .error:
        throw event.failure(
          .mergeConflict,
          "The object was deleted in this store. Use a merge policy that resolves such conflicts.")
      }
    }
    if let number = try find(subject, entity, values.attributes),
      let change = try run.changes.change(of: number)
    {
      counterparts[subject] = Counterpart(
        number: number, recorded: known?.recorded, values: AppliedValues())
      return change
    }
    return try insert(subject, entity)
  }

  /// Returns the number of an object that has one of the given unique values and does not
  /// correspond to another object in the source, or `nil` if there is none.
  private mutating func find(
    _ subject: FeedSubject, _ entity: EntityDescription,
    _ values: [(property: PropertyDescription, value: StoredValue)]
  ) throws -> ObjectNumber? {
    for (property, value) in values where !value.isNull {
      guard let number = try owner(of: value, property, entity),
        run.model.storage(of: number)?.entity === entity,
        try records.isUnknown(number, subject.source), found.insert(number).inserted
      else { continue }
      return number
    }
    return nil
  }

  /// Returns the number of the object whose unique attribute has the given value, or `nil` if there
  /// is none.
  private func owner(
    of value: StoredValue, _ property: PropertyDescription, _ entity: EntityDescription
  ) throws -> ObjectNumber? {
    guard
      let index = entity.indexes.first(where: { $0.isUnique && $0.slots == [property.slot] })
    else { return nil }
    let key = RowChanges.UniqueKey(index, [value])
    return try run.changes.owner(index, [value], key, [:])?.number
  }

  /// Returns the number of the object with the given key, or `nil` if there is none or if it
  /// corresponds to another object in the source.
  private mutating func find(
    _ subject: FeedSubject, _ entity: EntityDescription, _ key: StoredValue?
  ) throws -> ObjectNumber? {
    guard let attribute = entity.referringAttribute, let key else { return nil }
    return try find(subject, entity, [(attribute, key)])
  }

  private mutating func insert(
    _ subject: FeedSubject, _ entity: EntityDescription
  ) throws -> RowChange {
    let change = try run.insert(entity)
    for property in entity.columns where change.after[property.slot].isNull {
      // Fill required attributes with zero or empty values for now. The object's own event will
      // provide the real values.
      guard case .attribute(let type, isOptional: false) = property.kind else { continue }
      change.after[property.slot] = type.zero
    }
    counterparts[subject] = Counterpart(
      number: change.number, recorded: counterparts[subject]?.recorded, values: AppliedValues())
    return change
  }

  /// Records the counterpart of the source's object and the time of the last event.
  private mutating func record(_ subject: FeedSubject, seen time: Int64) throws {
    if let known = counterparts[subject] {
      try records.put(
        known.number, insteadOf: known.recorded, for: subject.source, subject.id, seen: time,
        known.values)
      counterparts[subject]?.recorded = known.number
    }
  }

  // MARK: Values

  /// Sets an object's attributes to the event's values, except where the merge policy prefers the
  /// values in this store.
  private mutating func merge(_ work: Work) throws {
    let (change, storage) = (work.change, work.change.storage)
    let known = counterparts[work.subject]?.values
    var applied = AppliedValues()
    var (kept, edited) = (SlotSet(), SlotSet())
    for (property, value) in work.values.attributes {
      guard let number = storage.propertyNumbers[property.slot],
        !storage.entity.isDerived(property)
      else { continue }
      applied.append(number, value)
      guard policy != .overwrite, let before = change.before?[property.slot],
        !before.isIdentical(to: value), known?.contains(number, before) != true
      else { continue }
      edited.insert(property.slot)
      // Keep this store's edit if the source has not changed the value, or if the policy prefers
      // the store's values.
      if known?.contains(number, value) == true || policy == .storeTrump {
        kept.insert(property.slot)
      }
    }
    counterparts[work.subject]?.values = applied
    try record(work.subject, seen: work.event.seen)
    if !edited.isEmpty {
      if policy == .error {
        throw work.event.failure(
          .mergeConflict,
          "The object was changed in this store. Use a merge policy that resolves such conflicts.")
      }
      if policy == .rollback { return }
    }
    for (property, value) in work.values.attributes
    where !kept.contains(property.slot) && !storage.entity.isDerived(property) {
      change.after[property.slot] = value
      change.assigned.insert(property.slot)
    }
  }

  /// Sets the relationships contained in the event.
  ///
  /// For an existing object, the method sets only the relationships changed by the event, unless
  /// the policy is `overwrite`.
  private mutating func relate(_ work: Work) throws {
    for (property, objects) in work.values.targets {
      if policy != .overwrite, !work.change.isNew, let changed = work.event.changed,
        !changed.contains(property.name)
      {
        continue
      }
      let targets = try objects.compactMap { try target($0, of: work) }
      _ = try run.relate(work.change, property, to: targets)
    }
  }

  /// Returns the number of a related object.
  ///
  /// Returns `nil` if a later event deletes the object, or if the object was deleted in this store
  /// and the merge policy keeps the deletion. Otherwise, a missing object is inserted, because its
  /// own event may not have arrived yet.
  ///
  /// - Throws: `mergeConflict` if the object was deleted in this store and the policy is `error`.
  private mutating func target(
    _ reference: FeedReference, of work: Work
  ) throws -> ObjectNumber? {
    let subject = FeedSubject(source: work.subject.source, id: reference.id)
    if events.last[subject]?.operation == .deleted { return nil }
    if let known = try known(subject) {
      if try run.changes.exists(known.number) { return known.number }
      if policy == .error {
        throw work.event.failure(
          .mergeConflict,
          "The related object \(reference.id) was deleted in this store. Use a merge policy that "
            + "resolves such conflicts.")
      }
      if policy != .objectTrump, policy != .overwrite { return nil }
    }
    guard let entity = run.model.schema.entity(named: reference.entityName) else {
      throw ObjectGraphError(
        .unknownEntity,
        "The store has no entity named \(reference.entityName). Add the entity to the schema.")
    }
    if let number = try find(subject, entity, reference.key) {
      counterparts[subject] = Counterpart(
        number: number, recorded: counterparts[subject]?.recorded, values: AppliedValues())
      try record(subject, seen: 0)
      return number
    }
    let change = try insert(subject, entity)
    if let attribute = entity.referringAttribute, let key = reference.key,
      try owner(of: key, attribute, entity) == nil
    {
      // Set the key now. Otherwise, all objects whose own events have not arrived would have the
      // same default key.
      change.after[attribute.slot] = key
    }
    for property in entity.columns where property.isAttribute {
      if let number = change.storage.propertyNumbers[property.slot] {
        counterparts[subject]?.values.append(number, change.after[property.slot])
      }
    }
    try record(subject, seen: 0)
    return change.number
  }

  /// Returns whether the merge policy keeps an object that the source has deleted but this store
  /// has changed.
  private mutating func keeps(_ number: ObjectNumber, _ subject: FeedSubject) throws -> Bool {
    guard policy != .overwrite, policy != .objectTrump,
      let change = try run.changes.change(of: number), let before = change.before
    else { return false }
    let (storage, known) = (change.storage, try known(subject)?.values)
    let isEdited = storage.entity.columns.contains { property in
      guard property.isAttribute, let number = storage.propertyNumbers[property.slot],
        !storage.entity.isDerived(property)
      else { return false }
      return known?.contains(number, before[property.slot]) != true
    }
    if isEdited, policy == .error, let event = events.last[subject] {
      throw event.failure(
        .mergeConflict,
        "The object was changed in this store. Use a merge policy that resolves such conflicts.")
    }
    if isEdited { run.changes.protect(number) }
    return isEdited
  }
}
