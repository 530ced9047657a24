import Foundation

/// The application of events in one transaction.
struct FeedBatch {
  /// An object of another store.
  private struct Subject: Hashable {
    let source: String
    let id: String
  }

  private var run: BatchRun
  private let records: FeedRecords
  private var positions: [String: FeedPosition] = [:]
  /// The known counterparts in this store of objects of other stores.
  private var numbers: [Subject: ObjectNumber] = [:]
  /// By source, the time of a snapshot of existing objects that these events complete.
  private var completed: [String: Int64] = [:]
  private var report = StoredObjects.FeedReport()

  init(_ run: BatchRun, _ transaction: WriteTransaction) throws {
    self.run = run
    records = try FeedRecords(transaction)
  }

  mutating func apply(_ elements: [FeedElement]) throws -> StoredObjects.FeedReport {
    let events = try lastEvents(elements)
    var changes: [(change: RowChange, values: FeedValues, source: String)] = []
    var deletions: [(subject: Subject, number: ObjectNumber)] = []
    // Find all objects before anything changes, because unique values can move between objects.
    for (subject, event) in events {
      if event.operation == .deleted {
        let number =
          try known(subject) ?? event.entity.flatMap { try found(subject, $0, event.key) }
        if let number { deletions.append((subject, number)) }
      } else if let values = event.values, let entity = event.entity {
        let change = try change(subject, entity, values)
        try bind(subject, change.number, seen: event.time)
        changes.append((change, values, subject.source))
      }
    }
    for (change, values, _) in changes { assign(values.attributes, to: change) }
    for (change, values, source) in changes {
      for (property, objects) in values.targets {
        let targets = try objects.map { try target($0, source) }
        _ = try run.relate(change, property, to: targets)
      }
    }
    for (source, time) in completed {
      // An earlier, interrupted snapshot may have contained objects that have been deleted since.
      for (id, number) in try records.unseen(since: time, source) {
        deletions.append((Subject(source: source, id: id), number))
      }
    }
    for (subject, number) in deletions {
      try run.changes.delete(number)
      try records.forget(subject.source, subject.id, number)
    }
    try run.flush()
    try run.changes.finish()
    for (source, position) in positions { try records.put(position, of: source) }
    return report
  }

  /// Returns the last new event about each object, in the order of the objects' first new events.
  private mutating func lastEvents(
    _ elements: [FeedElement]
  ) throws -> [(subject: Subject, event: FeedElement)] {
    var order: [Subject] = []
    var last: [Subject: FeedElement] = [:]
    for element in elements {
      guard try isNew(element) else {
        report.repeatedCount += 1
        continue
      }
      // A transaction may continue in later events; existing objects end with a `complete` event.
      switch element.operation {
      case .existing: break
      case .complete:
        report.lastTransaction = element.transaction
        completed[element.source] = element.time
      case .inserted, .updated, .deleted: report.lastTransaction = element.transaction - 1
      }
      guard let id = element.subject else { continue }
      report.appliedCount += 1
      let subject = Subject(source: element.source, id: id)
      var latest = element
      if let earlier = last[subject] {
        latest.complete(from: earlier)
      } else {
        order.append(subject)
      }
      last[subject] = latest
    }
    return order.compactMap { subject in last[subject].map { (subject, $0) } }
  }

  /// Returns whether an event has not been applied before, and records it as applied.
  private mutating func isNew(_ element: FeedElement) throws -> Bool {
    let known = try positions[element.source] ?? records.position(of: element.source)
    var new = FeedPosition(
      transaction: element.transaction, index: element.index, time: element.time)
    switch element.operation {
    case .existing, .complete:
      // Existing objects have the number of the newest transaction when the feed began. If the
      // source was restored from a backup, the number may be lower, but the time is later.
      guard element.transaction >= known.transaction || element.time > known.time else {
        return false
      }
      new.index = .max
      positions[element.source] = new
    case .inserted, .updated, .deleted:
      guard new > known else {
        try requireRepeated(element, known)
        return false
      }
      // The clock may have been set back.
      new.time = max(new.time, known.time)
      positions[element.source] = new
    }
    return true
  }

  /// Throws an error if an event has the number of an earlier transaction, but a later time.
  private func requireRepeated(_ element: FeedElement, _ known: FeedPosition) throws {
    guard element.time > known.time else { return }
    throw ObjectGraphError(
      .historyExpired,
      "The feed contains a new transaction with the number \(element.transaction), but events up "
        + "to \(known.transaction) have been applied, so its source was restored to an earlier "
        + "state. Begin the feed again with --snapshot and another consumer.")
  }

  // MARK: Objects

  /// Returns the number of a known object that exists, or `nil`.
  private mutating func known(_ subject: Subject) throws -> ObjectNumber? {
    if let number = numbers[subject] { return number }
    guard let number = try records.number(of: subject.source, subject.id),
      try run.changes.exists(number)
    else { return nil }
    numbers[subject] = number
    return number
  }

  /// Returns the change to an object, which is inserted if it is neither known nor found by a
  /// unique attribute.
  private mutating func change(
    _ subject: Subject, _ entity: EntityDescription, _ values: FeedValues
  ) throws -> RowChange {
    let number = try known(subject) ?? found(subject, entity, values.attributes)
    if let number, let change = try run.changes.change(of: number) {
      return change
    }
    return try insert(subject, entity)
  }

  /// Returns the number of an object with one of the unique values, unless that object already
  /// corresponds to another object of the source.
  private func found(
    _ subject: Subject, _ entity: EntityDescription,
    _ values: [(property: PropertyDescription, value: StoredValue)]
  ) throws -> ObjectNumber? {
    for (property, value) in values where !value.isNull {
      guard property.fieldStorageType != .decimal,
        let index = entity.indexes.first(where: { $0.isUnique && $0.slots == [property.slot] })
      else { continue }
      let key = RowChanges.UniqueKey(index, [value])
      guard let number = try run.changes.owner(index, [value], key, [:])?.number,
        run.model.storage(of: number)?.entity === entity,
        try records.isUnknown(number, subject.source)
      else { continue }
      return number
    }
    return nil
  }

  /// Returns the number of the object with a key, unless that object corresponds to another object
  /// of the source.
  private func found(
    _ subject: Subject, _ entity: EntityDescription, _ key: StoredValue?
  ) throws -> ObjectNumber? {
    guard let attribute = entity.referringAttribute, let key else { return nil }
    return try found(subject, entity, [(attribute, key)])
  }

  private mutating func insert(
    _ subject: Subject, _ entity: EntityDescription
  ) throws -> RowChange {
    guard !entity.isAbstract else {
      throw ObjectGraphError(
        .unknownEntity, "\(entity.name) is abstract, so no new object can be created.")
    }
    let storage = run.model.storage(of: entity)
    let change = RowChange(
      try run.rows.nextNumber(storage), storage, before: nil,
      after: entity.properties.map(\.initialValue))
    change.isNew = true
    for property in entity.columns where change.after[property.slot].isNull {
      // The object's own event provides the required values.
      guard case .attribute(let type, isOptional: false) = property.kind else { continue }
      change.after[property.slot] = type.zero
    }
    run.changes.add(change)
    try bind(subject, change.number, seen: 0)
    return change
  }

  private mutating func bind(
    _ subject: Subject, _ number: ObjectNumber, seen time: Int64
  ) throws {
    numbers[subject] = number
    try records.put(number, for: subject.source, subject.id, seen: time)
  }

  /// Returns the number of a related object, whose own event may not have arrived yet.
  private mutating func target(
    _ reference: FeedReference, _ source: String
  ) throws -> ObjectNumber {
    let subject = Subject(source: source, id: reference.id)
    if let known = try known(subject) { return known }
    guard let entity = run.model.schema.entity(named: reference.entityName) else {
      throw ObjectGraphError(
        .unknownEntity, "The store has no entity named \(reference.entityName).")
    }
    if let number = try found(subject, entity, reference.key) {
      try bind(subject, number, seen: 0)
      return number
    }
    return try insert(subject, entity).number
  }

  private func assign(
    _ attributes: [(property: PropertyDescription, value: StoredValue)], to change: RowChange
  ) {
    let derived = change.storage.entity.derived
    for (property, value) in attributes
    where !derived.contains(where: { $0.slot == property.slot }) {
      change.after[property.slot] = value
      change.assigned.insert(property.slot)
    }
  }
}
