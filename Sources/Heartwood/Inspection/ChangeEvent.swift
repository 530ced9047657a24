import Foundation

/// A change to an object, in the JSON format of CloudEvents 1.0.
package struct ChangeEvent: Encodable {
  /// The part of the event that describes the change.
  struct Content: Encodable {
    let operation: Operation
    var entity: String?
    /// A unique attribute and its value, by which programs know the object; `nil` if there is none.
    var key: EventKey?
    /// The properties that an update changed.
    var properties: [String]?
    /// The values in the generation `generation`, or `nil` if the object does not exist there.
    var values: EventValues?
    var author: String?
    /// The number of the transaction in the history.
    let transaction: Int64
    /// The position of the change in its transaction.
    var index = 0
    let generation: UInt64
  }

  enum Operation: String, Codable {
    /// The object existed when the feed began.
    case existing
    /// All objects that existed when the feed began have been written.
    case complete
    case inserted, updated, deleted
  }

  private let specversion = "1.0"
  private let id: String
  private let source: String
  private let type: String
  private let subject: String?
  private let time: String
  private let datacontenttype = "application/json"
  private let data: Content

  init(_ data: Content, subject: String?, store: UUID, time: Date) {
    let isOfSnapshot = data.operation == .existing || data.operation == .complete
    id = "\(data.transaction)-" + (isOfSnapshot ? subject ?? "complete" : "\(data.index)")
    source = "x-heartwood://\(store.uuidString)"
    type = "heartwood.object.\(data.operation)"
    self.subject = subject
    self.time = time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    self.data = data
  }
}

/// A unique attribute and its value.
struct EventKey: Encodable {
  let attribute: PropertyDescription
  let value: StoredValue

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: ImportKey.self)
    try container.encode(ExportedValue(value, attribute), forKey: ImportKey(attribute.name))
  }
}

/// An object to which another one refers.
struct EventReference: Encodable {
  let id: String
  let key: EventKey?
}

/// The values of an object in an event.
struct EventValues: Encodable {
  fileprivate(set) var attributes: [(property: PropertyDescription, value: StoredValue)] = []
  /// The to-one relationships.
  fileprivate(set) var references: [(name: String, target: EventReference?)] = []
  /// The to-many relationships whose members the inverse does not determine.
  fileprivate(set) var lists: [(name: String, members: [EventReference])] = []

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: ImportKey.self)
    for (property, value) in attributes {
      var inner = container
      let keys = property.importKeys
      for key in keys.dropLast() {
        inner = inner.nestedContainer(keyedBy: ImportKey.self, forKey: key)
      }
      try inner.encode(ExportedValue(value, property), forKey: keys[keys.count - 1])
    }
    for (name, target) in references {
      try container.encode(target, forKey: ImportKey(name))
    }
    for (name, members) in lists { try container.encode(members, forKey: ImportKey(name)) }
  }
}

extension StoredObjects {
  /// Calls `body` with an event for each object of this generation, and finally with a `complete`
  /// event.
  ///
  /// - Parameter transaction: The newest transaction that the generation contains.
  package func forEachExistingObject(
    _ transaction: Int64, _ body: (ChangeEvent) throws -> Void
  ) throws {
    let time = Date(timeIntervalSince1970: Double(snapshot.state.point.time) / 1000)
    for facts in entities {
      guard let entity = model.schema.entity(named: facts.name), !entity.isAbstract else {
        continue
      }
      let storage = model.storage(of: entity)
      try view.objects(storage)?.forEach { key, _ in
        let number = ObjectNumber(entity: storage.number, row: try key.lastKeyComponent())
        let content = ChangeEvent.Content(
          operation: .existing, entity: entity.name, key: try self.key(of: number),
          values: try self.eventValues(of: number, nil), transaction: transaction,
          generation: self.snapshot.generation.frame)
        try body(event(content, number, time))
        return true
      }
    }
    let end = ChangeEvent.Content(
      operation: .complete, transaction: transaction, generation: snapshot.generation.frame)
    try body(ChangeEvent(end, subject: nil, store: model.space.store, time: time))
  }

  /// Returns the event for a change, with values of this generation.
  package func event(
    for change: PersistentHistoryChange, _ index: Int, of transaction: Transaction
  ) throws -> ChangeEvent {
    let number = change.objectID.number
    var properties: Set<String>?
    let operation: ChangeEvent.Operation
    switch change.kind {
    case .insert: operation = .inserted
    case .update(let names): (operation, properties) = (.updated, names)
    case .delete: operation = .deleted
    }
    let isDeleted = operation == .deleted
    let content = ChangeEvent.Content(
      operation: operation, entity: change.objectID.entityName ?? "",
      key: try key(of: number) ?? key(of: change),
      properties: properties?.sorted(),
      values: isDeleted ? nil : try eventValues(of: number, properties),
      author: transaction.content.author, transaction: transaction.number, index: index,
      generation: snapshot.generation.frame)
    // Rounded down, as the times of generations are: a snapshot is not older than what it contains.
    let milliseconds = (transaction.content.timestamp.timeIntervalSince1970 * 1000).rounded(.down)
    return event(content, number, Date(timeIntervalSince1970: milliseconds / 1000))
  }

  private func event(
    _ content: ChangeEvent.Content, _ number: ObjectNumber, _ time: Date
  ) -> ChangeEvent {
    ChangeEvent(
      content, subject: ManagedObjectID(number, model.space).shortText, store: model.space.store,
      time: time)
  }

  // MARK: Values

  /// Returns the key of an object, or `nil` if it does not exist or has none.
  private func key(of number: ObjectNumber) throws -> EventKey? {
    guard let storage = model.storage(of: number),
      let attribute = storage.entity.referringAttribute,
      let value = try view.withRecord(number, storage, { try storage.values($0)[attribute.slot] }),
      !value.isNull
    else { return nil }
    return EventKey(attribute: attribute, value: value)
  }

  /// Returns the key of a deleted object, if the history preserves it.
  private func key(of change: PersistentHistoryChange) throws -> EventKey? {
    guard case .delete(let tombstone) = change.kind,
      let entity = model.storage(of: change.objectID.number)?.entity,
      let attribute = entity.referringAttribute, let text = tombstone[attribute.name],
      case .attribute(let type, _) = attribute.kind, let value = try type.value(text)
    else { return nil }
    return EventKey(attribute: attribute, value: value)
  }

  private func reference(to number: ObjectNumber) throws -> EventReference {
    EventReference(
      id: ManagedObjectID(number, model.space).shortText, key: try key(of: number))
  }

  /// Returns the values of an object, or `nil` if it does not exist.
  ///
  /// - Parameter changed: The names of the to-many relationships to include, or `nil` for all.
  private func eventValues(
    of number: ObjectNumber, _ changed: Set<String>?
  ) throws -> EventValues? {
    guard let storage = model.storage(of: number),
      let values = try view.withRecord(number, storage, { try storage.values($0) })
    else { return nil }
    let entity = storage.entity
    var result = EventValues()
    for property in entity.properties {
      if property.isAttribute {
        guard !entity.derived.contains(where: { $0.slot == property.slot }) else { continue }
        result.attributes.append((property, values[property.slot]))
      } else if property.isReference {
        let target = try values[property.slot].reference.map { try reference(to: $0) }
        result.references.append((property.name, target))
      } else if property.isRelationship,
        entity.inverses[property.slot]?.property.isReference != true
          || property.isOrdered, changed?.contains(property.name) ?? true
      {
        let keyspace = model.memberKeyspace(property, of: entity)
        let members = try view.numbers(in: keyspace, [.integer(number.bits)])
        result.lists.append((property.name, try members.map { try reference(to: $0) }))
      }
    }
    return result
  }
}
