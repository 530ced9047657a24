import Foundation

/// The import plans for a feed's entities, stored in a decoder's `userInfo`.
final class FeedPlans: @unchecked Sendable {
  // A decoder's `userInfo` requires `Sendable`. The conformance is `@unchecked` because only the
  // importing thread uses the plans.
  private let schemas: [Schema.Content]
  private var plans: [String: ImportPlan] = [:]

  // swift-format-ignore: NeverForceUnwrap
  static let key = CodingUserInfoKey(rawValue: "plans")!

  init(_ schemas: [Schema.Content]) { self.schemas = schemas }

  /// Returns the import plan that a decoder's `userInfo` contains for the named entity, or `nil` if
  /// there is none.
  static func plan(_ name: String, of decoder: any Decoder) throws -> ImportPlan? {
    try (decoder.userInfo[key] as? FeedPlans)?.plan(name)
  }

  private func plan(_ name: String) throws -> ImportPlan? {
    if let known = plans[name] { return known }
    for schema in schemas {
      guard let entity = schema.entity(named: name) else { continue }
      let new = try ImportPlan(entity, schema)
      plans[name] = new
      return new
    }
    return nil
  }
}

/// A decoded ``ChangeFeed/Event``, to be applied to a store other than its source.
struct FeedElement: Decodable {
  let id: String
  /// The store from which the event comes.
  let source: String
  /// The object's ID in the source store, or `nil` if the event is not about an object.
  let subject: String?
  let operation: ChangeFeed.Event.Operation
  let transaction: Int64
  let index: Int64
  /// A Boolean value that indicates whether this event is the last of its transaction or, for
  /// existing objects, the last event for the store.
  let isLast: Bool
  /// A Boolean value that indicates whether this event is the last of its generation.
  var isLastOfGeneration: Bool { isLast && transaction >= newestTransaction }
  /// The number of the newest transaction whose changes are reflected in the values.
  let newestTransaction: Int64
  /// The time of the transaction or, for existing objects, the time of the generation, in
  /// milliseconds since 1970.
  let time: Int64
  /// The time to record for the object when the event is applied.
  ///
  /// The time is never earlier than the time recorded for the previous event.
  var seen: Int64 = 0
  /// The value of the unique attribute that identifies the object, or `nil` if there is none.
  private(set) var key: StoredValue?
  /// The object's entity, or `nil` if the event is not about an object.
  let entity: EntityDescription?
  /// The names of the changed properties, or `nil` if all properties are treated as changed.
  private(set) var changed: Set<String>?
  /// The values, or `nil` if the object no longer existed in the event's generation.
  private(set) var values: FeedValues?

  /// Adds the changes from an earlier event about the same object.
  ///
  /// Without these changes, the event would be incomplete, because it contains only the to-many
  /// relationships that its own transaction changed.
  mutating func complete(from earlier: FeedElement) {
    values?.add(earlier.values?.targets ?? [])
    changed = changed.flatMap { own in earlier.changed.map { own.union($0) } }
  }

  /// The UUID of the store from which the event comes, or `nil` if the source is not a store.
  var store: UUID? {
    let scheme = "x-heartwood://"
    guard source.hasPrefix(scheme) else { return nil }
    return UUID(uuidString: String(source.dropFirst(scheme.count)))
  }

  /// The name of the event in messages, such as `Event 2-1 about Team/1`.
  var name: String { ["Event \(id)", subject].compactMap(\.self).joined(separator: " about ") }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: ImportKey.self)
    id = try container.decode(String.self, forKey: ImportKey("id"))
    source = try container.decode(String.self, forKey: ImportKey("source"))
    let data = try container.nestedContainer(keyedBy: ImportKey.self, forKey: ImportKey("data"))
    operation = try data.decode(ChangeFeed.Event.Operation.self, forKey: ImportKey("operation"))
    transaction = try data.decode(Int64.self, forKey: ImportKey("transaction"))
    index = try data.decode(Int64.self, forKey: ImportKey("index"))
    isLast = try data.decodeIfPresent(Bool.self, forKey: ImportKey("last")) ?? false
    newestTransaction =
      try data.decodeIfPresent(Int64.self, forKey: ImportKey("newestTransaction")) ?? transaction
    time = try container.decode(Date.self, forKey: ImportKey("time")).milliseconds
    guard operation != .complete else {
      (subject, entity, values) = (nil, nil, nil)
      return
    }
    subject = try container.decode(String.self, forKey: ImportKey("subject"))
    let name = try data.decode(String.self, forKey: ImportKey("entity"))
    guard let plan = try FeedPlans.plan(name, of: decoder) else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: data.codingPath + [ImportKey("entity")],
          debugDescription: "The store has no entity named \(name). Add the entity to the schema."))
    }
    entity = plan.entity
    if operation == .updated {
      let names = try data.decode([String].self, forKey: ImportKey("properties"))
      changed = Set(names.map { plan.name($0) })
    }
    if operation != .deleted {
      guard data.contains(ImportKey("after")) else {
        throw DecodingError.keyNotFound(
          ImportKey("after"),
          DecodingError.Context(
            codingPath: data.codingPath,
            debugDescription: "The event does not contain the object's values after the change. "
              + "Include these values in the feed."))
      }
      values = try Self.container("after", in: data).map { try FeedValues(plan, $0) }
    }
    key = try Self.key(of: plan.entity, in: data)
  }

  /// Returns the unique attribute's value from an event's key, or `nil` if there is none.
  fileprivate static func key(
    of entity: EntityDescription, in data: KeyedDecodingContainer<ImportKey>
  ) throws -> StoredValue? {
    guard let attribute = entity.referringAttribute,
      let container = try container("key", in: data)
    else { return nil }
    let keys = [attribute.name, attribute.otherName].compactMap { $0.map { ImportKey($0) } }
    guard let key = keys.first(where: { container.contains($0) }) else { return nil }
    return try attribute.storage.decodedValue(try container.superDecoder(forKey: key))
  }

  /// Returns the decoding container for the JSON object with the given key, or `nil` if there is no
  /// such object.
  private static func container(
    _ name: String, in data: KeyedDecodingContainer<ImportKey>
  ) throws -> KeyedDecodingContainer<ImportKey>? {
    let key = ImportKey(name)
    guard data.contains(key), try !data.decodeNil(forKey: key) else { return nil }
    return try data.nestedContainer(keyedBy: ImportKey.self, forKey: key)
  }
}

/// An event's reference to a related object.
struct FeedReference: Decodable {
  /// The object's ID in the store from which the event comes.
  let id: String
  /// The name of the object's entity.
  let entityName: String
  /// The value of the unique attribute that identifies the object, or `nil` if there is none.
  let key: StoredValue?

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: ImportKey.self)
    id = try container.decode(String.self, forKey: ImportKey("id"))
    entityName = id.split(separator: "/").dropLast().joined(separator: "/")
    key = try FeedPlans.plan(entityName, of: decoder).flatMap {
      try FeedElement.key(of: $0.entity, in: container)
    }
  }
}

/// The values of an object in an event.
struct FeedValues {
  private(set) var attributes: [(property: PropertyDescription, value: StoredValue)] = []
  typealias Targets = (property: PropertyDescription, objects: [FeedReference])
  /// The related objects, grouped by relationship.
  private(set) var targets: [Targets] = []

  fileprivate mutating func add(_ earlier: [Targets]) {
    targets += earlier.filter { old in !targets.contains { $0.property === old.property } }
  }

  /// A JSON key that does not correspond to a property, or `nil` if there is none.
  let ignoredKey: String?

  init(_ plan: ImportPlan, _ container: KeyedDecodingContainer<ImportKey>) throws {
    ignoredKey = plan.ignoredKeys(container).min()
    for field in plan.fields {
      guard let (inner, key) = try ImportedRow.container(of: field, in: container) else {
        continue
      }
      if field.property.isAttribute {
        let decoder = try inner.superDecoder(forKey: key)
        attributes.append((field.property, try field.property.storage.decodedValue(decoder)))
      } else if field.property.isReference {
        let target = try inner.decodeIfPresent(FeedReference.self, forKey: key)
        targets.append((field.property, target.map { [$0] } ?? []))
      } else {
        targets.append((field.property, try inner.decode([FeedReference].self, forKey: key)))
      }
    }
  }
}
