/// How the objects of a request are found.
struct FetchPlan {
  let entity: EntityDescription
  /// The entities whose rows are looked at.
  let storages: [EntityStorage]
  /// All of them must hold.
  private let conditions: [QueryTerm.Condition]
  /// What the conditions ask of one property each, as far as that is all they ask.
  private let demands: [QueryDemand]
  /// Whether other objects are asked than the one in question, too.
  let leavesObject: Bool
  /// For how many variables a scope needs room.
  let variableCount: Int

  init<M>(_ request: FetchRequest<M>, _ model: StoreModel) throws {
    let schema = model.schema
    entity = try schema.requiredEntity(of: M.self)
    let family = request.includesSubentities ? entity.family : [entity]
    storages = family.filter { !$0.isAbstract }.map { model.storage(of: $0) }
    let resolver = QueryResolver(schema, model.space, entity)
    let terms = try Self.parts(of: request.predicate?.expression(in: schema))
      .map { try resolver.resolve($0) }
    conditions = try terms.map { try resolver.condition($0) }
    demands = terms.compactMap(\.demand)
    leavesObject = resolver.leavesObject
    variableCount = resolver.variableCount
  }

  private init(everythingOf plan: FetchPlan) {
    entity = plan.entity
    storages = plan.storages
    conditions = []
    demands = []
    leavesObject = false
    variableCount = plan.variableCount
  }

  /// The conditions that must all hold for an expression to.
  private static func parts(of expression: QueryExpression?) -> [QueryExpression] {
    switch expression {
    case nil: []
    case .all(let parts): parts.flatMap { Self.parts(of: $0) }
    case .constant(let constant) where constant.value == .bool(true): []
    case .range(let value, let lower, let upper, let isClosed):
      [
        lower.map { .comparison(value, .greaterOrEqual, $0, []) },
        upper.map { .comparison(value, isClosed ? .lessOrEqual : .less, $0, []) },
      ].compactMap { $0 }
    case .some(let other): [other]
    }
  }

  /// Whether every row matches.
  var isEverything: Bool { conditions.isEmpty }

  /// The plan without its conditions.
  var everything: FetchPlan { FetchPlan(everythingOf: self) }

  /// Whether the request asks for objects of this class.
  func includes(_ object: ManagedObject) -> Bool {
    storages.contains { $0.entity === object.entityDescription }
  }

  /// Whether an object is asked for, as it is in memory.
  func holds(for object: ManagedObject, _ scope: QueryScope) throws -> Bool {
    try scope.with(object) { try holds(in: scope) }
  }

  /// Whether a record meets the conditions.
  func holds(
    for record: RecordView, _ storage: EntityStorage, _ number: ObjectNumber, _ scope: QueryScope
  ) throws -> Bool {
    guard !conditions.isEmpty else { return true }
    return try scope.with(record, storage, number) { try holds(in: scope) }
  }

  private func holds(in scope: QueryScope) throws -> Bool {
    for condition in conditions where try !condition(scope) { return false }
    return true
  }

  /// The values that attributes must have, by slot.
  private var wanted: [Int: StoredValue] {
    let equalities = demands.filter { $0.comparison == .equal }
    return Dictionary(
      equalities.map { ($0.property.slot, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The index by which the rows of an entity are found; `nil` if all of them are looked at.
  private func index(for storage: EntityStorage) -> IndexDescription? {
    let wanted = wanted
    let fitting = storage.entity.indexes.filter { $0.slots.allSatisfy { wanted[$0] != nil } }
    guard let index = fitting.first(where: \.isUnique) ?? fitting.first else { return nil }
    // Unique indexes have no entries for what is like no other.
    let isListed = !index.isUnique || !index.slots.contains { wanted[$0] == .null }
    return isListed ? index : nil
  }

  /// The rows that an index names for the conditions; `nil` if none fits.
  func indexedNumbers(
    _ storage: EntityStorage, _ view: StoreView, _ model: StoreModel
  ) throws -> [ObjectNumber]? {
    guard let index = index(for: storage) else { return nil }
    let wanted = wanted
    let values = index.slots.compactMap { wanted[$0] }
    let keyspace = model.keyspace(index)
    if index.isUnique { return try view.number(in: keyspace, values).map { [$0] } ?? [] }
    return try view.numbers(in: keyspace, values)
  }

  // MARK: In words, for the log

  /// What is asked for, with the values that are compared if the log wants them.
  func sentence(withValues: Bool) -> String {
    let terms = demands.map { demand in
      let value = withValues ? " \(demand.comparison.rawValue) \(demand.value)" : ""
      return demand.property.name + value
    }
    let others = conditions.count - demands.count
    return entity.name + (terms.isEmpty ? "" : " by \(terms.joined(separator: ", "))")
      + (others == 0 ? "" : " and \(others) more conditions")
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
