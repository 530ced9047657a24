import Foundation

/// The plans for the entities of a feed, which a decoder's `userInfo` contains.
final class FeedPlans: @unchecked Sendable {
  // @unchecked because a decoder's `userInfo` requires it. Only the thread of the import uses the
  // plans.
  private let schema: Schema.Content
  private var plans: [String: ImportPlan] = [:]

  // swift-format-ignore: NeverForceUnwrap
  static let key = CodingUserInfoKey(rawValue: "plans")!

  init(_ schema: Schema.Content) { self.schema = schema }

  /// Returns the plan for the entity with a name, or `nil` if there is none.
  func plan(_ name: String) throws -> ImportPlan? {
    if let known = plans[name] { return known }
    guard let entity = schema.entity(named: name) else { return nil }
    let new = try ImportPlan(entity, schema)
    plans[name] = new
    return new
  }
}

/// A ``ChangeEvent`` that is applied to another store.
struct FeedElement: Decodable {
  /// The store from which the event comes.
  let source: String
  /// The object's ID in that store, or `nil` if the event is not about an object.
  let subject: String?
  let operation: ChangeEvent.Operation
  let transaction: Int64
  let index: Int64
  /// The object's entity, or `nil` if the event is not about an object.
  let entity: EntityDescription?
  /// The values, or `nil` if the object did not exist any more.
  private(set) var values: FeedValues?

  /// Adds the relationships of an earlier event about the same object, because an event has only
  /// those that its transaction changed.
  mutating func complete(from earlier: FeedElement) { values?.add(earlier.values?.targets ?? []) }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: ImportKey.self)
    source = try container.decode(String.self, forKey: ImportKey("source"))
    let data = try container.nestedContainer(keyedBy: ImportKey.self, forKey: ImportKey("data"))
    operation = try data.decode(ChangeEvent.Operation.self, forKey: ImportKey("operation"))
    transaction = try data.decode(Int64.self, forKey: ImportKey("transaction"))
    index = try data.decode(Int64.self, forKey: ImportKey("index"))
    guard operation != .complete else {
      (subject, entity, values) = (nil, nil, nil)
      return
    }
    subject = try container.decode(String.self, forKey: ImportKey("subject"))
    guard let plans = decoder.userInfo[FeedPlans.key] as? FeedPlans else {
      preconditionFailure("The decoder has no plans.")
    }
    let name = try data.decode(String.self, forKey: ImportKey("entity"))
    guard let plan = try plans.plan(name) else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: data.codingPath + [ImportKey("entity")],
          debugDescription: "The store has no entity named \(name)."))
    }
    entity = plan.entity
    let key = ImportKey("values")
    values =
      try data.contains(key) && !data.decodeNil(forKey: key)
      ? FeedValues(plan, data.nestedContainer(keyedBy: ImportKey.self, forKey: key)) : nil
  }
}

/// The values of an object in an event.
struct FeedValues {
  private(set) var attributes: [(property: PropertyDescription, value: StoredValue)] = []
  /// The IDs, in the store from which the event comes, of the objects to which relationships lead.
  private(set) var targets: [(property: PropertyDescription, ids: [String])] = []

  fileprivate mutating func add(_ earlier: [(property: PropertyDescription, ids: [String])]) {
    targets += earlier.filter { old in !targets.contains { $0.property === old.property } }
  }

  private struct Reference: Decodable {
    let id: String
  }

  init(_ plan: ImportPlan, _ container: KeyedDecodingContainer<ImportKey>) throws {
    for field in plan.fields {
      guard let (inner, key) = try ImportedRow.container(of: field.keys, in: container) else {
        continue
      }
      if field.property.isAttribute {
        let decoder = try inner.superDecoder(forKey: key)
        attributes.append((field.property, try field.property.storage.decodedValue(decoder)))
      } else if field.property.isReference {
        let target = try inner.decodeIfPresent(Reference.self, forKey: key)
        targets.append((field.property, target.map { [$0.id] } ?? []))
      } else {
        targets.append((field.property, try inner.decode([Reference].self, forKey: key).map(\.id)))
      }
    }
  }
}
