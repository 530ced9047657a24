import Foundation

/// How the objects of a request are found.
struct FetchPlan {
  let entity: EntityDescription
  /// The entities whose rows are looked at.
  let storages: [EntityStorage]
  /// What is compared in the records, and whether that is all there is to ask.
  let terms: EqualityTerms
  private let conditions: [(slot: Int, value: StoredValue)]
  private let evaluate: (ManagedObject) throws -> Bool

  init<M>(_ request: FetchRequest<M>, _ model: StoreModel) throws {
    let schema = model.schema
    entity = try schema.requiredEntity(of: M.self)
    let family = request.includesSubentities ? entity.family : [entity]
    storages = family.filter { !$0.isAbstract }.map { model.storage(of: $0) }
    var terms = EqualityTerms()
    var conditions: [(slot: Int, value: StoredValue)] = []
    if let predicate = request.predicate?.foundation {
      terms = EqualityTerms(predicate)
      for term in terms.terms {
        conditions.append((try schema.property(term.keyPath, of: entity).slot, term.value))
      }
      evaluate = { try ($0 as? M).map { try predicate.evaluate($0) } ?? false }
    } else {
      evaluate = { _ in true }
    }
    self.terms = terms
    self.conditions = conditions
  }

  /// Whether every row matches.
  var isEverything: Bool { conditions.isEmpty && terms.isWhole }

  /// Whether the request asks for objects of this class.
  func includes(_ object: ManagedObject) -> Bool {
    storages.contains { $0.entity === object.entityDescription }
  }

  /// Whether an object is asked for, as it is in memory.
  func holds(for object: ManagedObject) throws -> Bool { try evaluate(object) }

  /// Whether a record meets the conditions.
  func holds(for record: RecordView, _ storage: EntityStorage) throws -> Bool {
    guard !conditions.isEmpty else { return true }
    let fields = storage.fields[Int(record.layout.number)]
    for (slot, value) in conditions {
      let found =
        try fields[slot].map { try record.value($0) } ?? entity.properties[slot].initialValue
      guard found.equals(value) else { return false }
    }
    return true
  }

  /// The index by which the rows of an entity are found; `nil` if all of them are looked at.
  private func index(for storage: EntityStorage) -> IndexDescription? {
    let asked = Set(conditions.map(\.slot))
    let fitting = storage.entity.indexes.filter { $0.slots.allSatisfy(asked.contains) }
    guard let index = fitting.first(where: \.isUnique) ?? fitting.first else { return nil }
    // Unique indexes have no entries for what is like no other.
    let isListed = !index.isUnique || !conditions.contains { $0.value == .null }
    return isListed ? index : nil
  }

  /// The rows that an index names for the conditions; `nil` if none fits.
  func indexedNumbers(
    _ storage: EntityStorage, _ view: StoreView, _ model: StoreModel
  ) throws -> [ObjectNumber]? {
    guard let index = index(for: storage) else { return nil }
    let asked = Dictionary(conditions.map { ($0.slot, $0.value) }, uniquingKeysWith: { $1 })
    let values = index.slots.compactMap { asked[$0] }
    let keyspace = model.keyspace(index)
    if index.isUnique { return try view.number(in: keyspace, values).map { [$0] } ?? [] }
    return try view.numbers(in: keyspace, values)
  }

  // MARK: In words, for the log

  /// What is asked for, with the values that are compared if the log wants them.
  func sentence(withValues: Bool) -> String {
    let terms = conditions.map { slot, value in
      entity.properties[slot].name + (withValues ? " = \(value)" : "")
    }
    let rest = self.terms.isWhole ? "" : ", evaluated for each"
    return "\(entity.name)" + (terms.isEmpty ? "" : " by \(terms.joined(separator: ", "))") + rest
  }

  /// How the rows of each entity are found.
  var way: String {
    storages.map { storage in
      guard let index = index(for: storage) else { return "every row of \(storage.entity.name)" }
      let names = index.slots.map { storage.entity.properties[$0].name }
      return "\(storage.entity.name) by its \(index.isUnique ? "unique" : "index") "
        + names.joined(separator: ", ")
    }.joined(separator: "; ")
  }
}

extension StoredValue {
  /// Whether both are equal as the language compares them: -0 is 0, and NaN is nothing.
  func equals(_ other: StoredValue) -> Bool {
    if case .number(let first) = self, case .number(let second) = other {
      return Double(bitPattern: first) == Double(bitPattern: second)
    }
    if case .date(let first) = self, case .date(let second) = other {
      return Double(bitPattern: first) == Double(bitPattern: second)
    }
    return self == other
  }
}
