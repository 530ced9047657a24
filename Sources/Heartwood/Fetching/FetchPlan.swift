/// What a request asks for, resolved: which rows, which conditions, in which order.
///
/// How the rows are found is chosen for each generation anew, by ``AccessPlanner``.
struct FetchPlan {
  let entity: EntityDescription
  /// The entities whose rows are looked at, in the order of their numbers.
  let storages: [EntityStorage]
  /// What each condition is called; all must hold.
  private(set) var names: [String]
  private var conditions: [QueryTerm.Condition]
  /// What each condition asks of the object itself, if that can be looked up.
  private var demands: [QueryDemand?]
  /// Whether other objects are asked than the one in question, too.
  private(set) var leavesObject: Bool
  /// For how many variables a scope needs room.
  let variableCount: Int
  /// The order by stored values; `nil` if the descriptors compare something else, so that objects
  /// are needed.
  private(set) var order: FetchOrder?
  /// The most objects that matter, those that are left out at the start included.
  private(set) var limit: Int?
  private let entityNumbers: [Int]

  init<M>(_ request: FetchRequest<M>, _ model: StoreModel) throws {
    let schema = model.schema
    entity = try schema.requiredEntity(of: M.self)
    let family = request.includesSubentities ? entity.family : [entity]
    storages = family.filter { !$0.isAbstract }.map { model.storage(of: $0) }
      .sorted { $0.number < $1.number }
    entityNumbers = storages.map(\.number)
    let resolver = QueryResolver(schema, model.space, entity)
    let terms = try Self.parts(of: request.predicate?.expression(in: schema))
      .map { try resolver.resolve($0) }
    names = terms.map(\.name)
    conditions = try terms.map { try resolver.condition($0) }
    demands = terms.map(\.demand)
    leavesObject = resolver.leavesObject
    order = try FetchOrder(request.sortDescriptors, resolver)
    variableCount = resolver.variableCount
    limit = request.fetchLimit.map { max(0, $0) + max(0, request.fetchOffset) }
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

  var conditionCount: Int { conditions.count }

  /// Whether objects belong in another order than that of their rows.
  var needsSorting: Bool { order.map { !$0.terms.isEmpty } ?? true }

  /// The plan for all objects, in the order of their rows.
  var everything: FetchPlan {
    var plan = unordered
    plan.names = []
    plan.conditions = []
    plan.demands = []
    plan.leavesObject = false
    return plan
  }

  /// The plan for all objects that the conditions hold for, in the order of their rows.
  var unordered: FetchPlan {
    var plan = counting
    plan.limit = nil
    return plan
  }

  /// The plan in the order of the rows.
  var counting: FetchPlan {
    var plan = self
    plan.order = FetchOrder.byRow
    return plan
  }

  /// Whether the request asks for objects of this class.
  func includes(_ object: ManagedObject) -> Bool {
    storages.contains { $0.entity === object.entityDescription }
  }

  /// Whether the request asks for objects of the entity that a number names.
  func includes(_ number: ObjectNumber) -> Bool { entityNumbers.contains(number.entity) }

  /// What a key path of an object leads to; of `nil`, the object itself.
  func value(at keyPath: AnyKeyPath?, _ model: StoreModel) throws -> QueryTerm.Value {
    guard let keyPath else { return { $0.own } }
    let term = try QueryResolver(model.schema, model.space, entity).term(at: keyPath)
    guard case .value(let value) = term.content else {
      throw QueryResolver.unsupported(
        "\(term.name) is \(term.type.sentence); ask for one value of each object.")
    }
    return value
  }

  // MARK: Conditions

  /// Whether an object is asked for, as it is in memory.
  func holds(for object: ManagedObject, _ scope: QueryScope) throws -> Bool {
    try scope.with(object) { try holds(in: scope) }
  }

  /// Whether what a scope is about meets the conditions.
  func holds(in scope: QueryScope) throws -> Bool {
    for condition in conditions where try !condition(scope) { return false }
    return true
  }

  /// What each condition is called, with the values that it compares.
  var namesWithValues: [String] {
    zip(names, demands).map { name, demand in demand.map { "\(name) (\($0.text))" } ?? name }
  }

  // MARK: What can be looked up

  /// How many conditions ask only for these properties.
  func demandCount(of slots: Set<Int>) -> Int {
    demands.count { demand in
      if case .property(let slot) = demand?.subject { return slots.contains(slot) }
      return false
    }
  }

  /// The objects that are asked for by their numbers; `nil` if none are.
  var namedNumbers: [ObjectNumber]? {
    for case .some(let demand) in demands {
      guard case .own = demand.subject, case .among(let values) = demand.test else { continue }
      return values.compactMap { value in
        if case .integer(let bits) = value { return ObjectNumber(bits: bits) }
        return nil
      }
    }
    return nil
  }

  /// What is asked of each property that an index could help with, by slot.
  private var demandsBySlot: [Int: PropertyDemand] {
    var result: [Int: PropertyDemand] = [:]
    for case .some(let demand) in demands {
      guard case .property(let slot) = demand.subject else { continue }
      result[slot, default: PropertyDemand()].add(demand.test)
    }
    return result
  }

  /// The indexes, and the lists of references, that name the rows asked for, or have them in order.
  func indexUses(_ model: StoreModel) -> [IndexUse] {
    let demands = demandsBySlot
    guard !demands.isEmpty || needsSorting else { return [] }
    let indexes = entity.indexes.compactMap { index in
      IndexUse(
        index, keyspace: model.keyspace(index), demands, needsDemands: !needsSorting
      ) { slot in
        if case .attribute(_, isOptional: false) = entity.properties[slot].kind { return true }
        return false
      }
    }
    let references = model.references(of: entity).compactMap { slot, keyspace -> IndexUse? in
      guard let demand = demands[slot], let owners = demand.values, !demand.includesNull else {
        return nil
      }
      return IndexUse(entity, entity.properties[slot], keyspace: keyspace, owners)
    }
    return indexes + references
  }
}
