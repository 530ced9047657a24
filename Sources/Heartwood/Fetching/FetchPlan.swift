/// What a request asks for, resolved: which rows, which conditions, in which order.
///
/// How the rows are found is chosen for each generation anew, by ``AccessPlanner``.
struct FetchPlan {
  private let question: Question
  /// The order by stored values; `nil` if the descriptors compare something else, so that objects
  /// are needed.
  let order: FetchOrder?
  /// The most objects that matter, those that are left out at the start included.
  let limit: Int?

  /// - Parameters:
  ///   - renumbered: The numbers that objects had when their IDs were put into the predicate.
  ///   - section: What objects are grouped by, before anything else.
  init<M>(
    _ request: FetchRequest<M>, _ model: StoreModel, _ renumbered: RenumberedObjects,
    section: AnyKeyPath? = nil
  ) throws {
    let entity = try model.schema.requiredEntity(of: M.self)
    let storages =
      request.includesSubentities
      ? model.family(of: entity) : entity.isAbstract ? [] : [model.storage(of: entity)]
    let resolver = QueryResolver(model.schema, model.space, entity, renumbered)
    let terms = try Self.parts(of: request.predicate?.expression(in: model.schema))
      .map { try resolver.resolve($0) }
    let conditions = try terms.map { try resolver.condition($0) }
    order = try FetchOrder(request.sortDescriptors, resolver, section: section)
    limit = request.end
    question = Question(entity, storages, terms, conditions, resolver)
  }

  private init(_ question: Question, _ order: FetchOrder?, limit: Int?) {
    self.question = question
    self.order = order
    self.limit = limit
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

  /// The entity whose objects are asked for.
  var entity: EntityDescription { question.entity }

  /// The entities whose rows are looked at, in the order of their numbers.
  var storages: [EntityStorage] { question.storages }

  /// Whether other objects are asked than the one in question, too.
  var leavesObject: Bool { question.leavesObject }

  /// The entities whose objects are asked, that of the objects in question included.
  var askedEntities: [EntityDescription] { question.askedEntities }

  /// The objects that the conditions name, by the numbers they had when the plan was made.
  var namedObjects: [ObjectNumber] { question.namedObjects }

  /// For how many variables a scope needs room.
  var variableCount: Int { question.variableCount }

  /// Whether every row matches.
  var isEverything: Bool { question.conditions.isEmpty }

  /// How many conditions must hold.
  var conditionCount: Int { question.conditions.count }

  /// What each condition is called.
  var names: [String] { question.terms.map(\.name) }

  /// Whether objects belong in another order than that of their rows.
  var needsSorting: Bool { order.map { !$0.terms.isEmpty } ?? true }

  /// The plan for all objects, in the order of their rows.
  var everything: FetchPlan {
    FetchPlan(question.everything, .byRow, limit: nil)
  }

  /// The plan for all objects that the conditions hold for, in the order of their rows.
  var unordered: FetchPlan { FetchPlan(question, .byRow, limit: nil) }

  /// The plan in the order of the rows.
  var counting: FetchPlan { FetchPlan(question, .byRow, limit: limit) }

  /// The plan for the first objects only.
  func limited(to limit: Int?) -> FetchPlan { FetchPlan(question, order, limit: limit) }

  /// Whether the request asks for objects of this class.
  func includes(_ object: ManagedObject) -> Bool {
    question.storages.contains { $0.entity === object.entityDescription }
  }

  /// Whether the request asks for objects of the entity that a number names.
  func includes(_ number: ObjectNumber) -> Bool {
    question.storages.contains { $0.number == number.entity }
  }

  /// What a key path of an object leads to; of `nil`, the object itself.
  func value(at keyPath: AnyKeyPath?, _ model: StoreModel) throws -> QueryTerm.Value {
    guard let keyPath else { return { $0.own } }
    let resolver = QueryResolver(model.schema, model.space, entity, RenumberedObjects())
    let term = try resolver.term(at: keyPath)
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
    for condition in question.conditions where try !condition(scope) { return false }
    return true
  }

  /// What each condition is called, with the values that it compares.
  var namesWithValues: [String] {
    question.terms.map { term in
      // Those of a condition that is put together of others are not all that it compares.
      term.demands.count == 1 ? "\(term.name) (\(term.demands[0].text))" : term.name
    }
  }

  // MARK: What can be looked up

  /// How many conditions ask only for these properties.
  func demandCount(of slots: Set<Int>) -> Int {
    question.terms.count { term in
      term.demands.contains { demand in
        if case .property(let slot) = demand.subject { return slots.contains(slot) }
        return false
      }
    }
  }

  /// The objects that are asked for by their numbers; `nil` if none are.
  var namedNumbers: [ObjectNumber]? {
    for demand in question.demands {
      guard case .own = demand.subject, case .among(let values) = demand.test else { continue }
      return values.compactMap { value in
        if case .integer(let bits) = value { return ObjectNumber(bits: bits) }
        return nil
      }
    }
    return nil
  }

  /// What is asked of each property that an index could help with, by slot.
  var demandsBySlot: [Int: PropertyDemand] {
    var result: [Int: PropertyDemand] = [:]
    for demand in question.demands {
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

extension FetchPlan {
  /// Which rows a plan asks for: what all plans made of it share.
  ///
  /// A class, so that a plan is handed on without retaining each of its parts.
  private final class Question {
    let entity: EntityDescription
    let storages: [EntityStorage]
    /// What each condition is made of; all must hold.
    let terms: [QueryTerm]
    let conditions: [QueryTerm.Condition]
    /// What the conditions ask, as far as it can be looked up.
    let demands: [QueryDemand]
    let leavesObject: Bool
    let askedEntities: [EntityDescription]
    let namedObjects: [ObjectNumber]
    let variableCount: Int

    init(
      _ entity: EntityDescription, _ storages: [EntityStorage], _ terms: [QueryTerm],
      _ conditions: [QueryTerm.Condition], _ resolver: QueryResolver
    ) {
      self.entity = entity
      self.storages = storages
      self.terms = terms
      self.conditions = conditions
      demands = terms.flatMap(\.demands)
      leavesObject = resolver.leavesObject
      askedEntities = resolver.askedEntities
      namedObjects = resolver.namedObjects
      variableCount = resolver.variableCount
    }

    private init(everythingOf other: Question) {
      entity = other.entity
      storages = other.storages
      terms = []
      conditions = []
      demands = []
      leavesObject = false
      askedEntities = other.askedEntities
      namedObjects = []
      variableCount = other.variableCount
    }

    /// The same rows without a condition.
    var everything: Question { Question(everythingOf: self) }
  }
}
