/// A resolved fetch request: the entities whose rows are examined, the conditions, the order and
/// the limit.
///
/// The plan does not depend on a generation. An ``AccessPlanner`` chooses the access path for each
/// search.
struct FetchPlan {
  private let resolved: ResolvedRequest
  /// The order based on stored values, or `nil` if the sort descriptors compare anything else.
  ///
  /// If the property is `nil`, the objects are created first and then sorted in memory.
  let order: FetchOrder?
  /// The maximum number of objects needed, including objects skipped by the offset, or `nil` for no
  /// limit.
  let limit: Int?
  /// The number of leading objects to skip, or 0 if ``order`` is `nil`.
  let offset: Int

  /// Creates a plan by resolving a request.
  ///
  /// - Parameters:
  ///   - renumbered: A map from old object numbers to current object numbers. The first save of an
  ///     object changes its number, so the predicate may contain old numbers.
  ///   - section: The key by which objects are grouped before they are sorted.
  init<M>(
    _ request: FetchRequest<M>, _ model: StoreModel, _ renumbered: RenumberedObjects,
    section: AnyKeyPath? = nil
  ) throws {
    try self.init(
      request, request.predicate?.expression(in: model.schema), model, renumbered, section: section)
  }

  /// Creates a plan from a request whose predicate has already been translated into an expression.
  init<M>(
    _ request: FetchRequest<M>, _ expression: QueryExpression?, _ model: StoreModel,
    _ renumbered: RenumberedObjects, section: AnyKeyPath? = nil
  ) throws {
    let entity = try request.entity(in: model.schema)
    let storages =
      request.includesSubentities
      ? model.family(of: entity) : entity.isAbstract ? [] : [model.storage(of: entity)]
    let resolver = QueryResolver(model.schema, model.space, entity, renumbered)
    if request.named != nil { resolver.textModel = model }
    var terms = try Self.conjuncts(of: expression).map { try resolver.resolve($0) }
    let search = try request.textQuery.map { try resolver.textSearch($0) }
    if let search { terms.append(search.term) }
    order = try FetchOrder(request, resolver, search, section: section)
    if let position = request.position {
      // A position is valid only in an order based on stored values, so throw if the request uses
      // another order.
      guard let order else { throw FetchOrder.changed }
      let first = try request.firstSortKeyPath.map { try resolver.term(at: $0) }
      let number = renumbered.resolved(position.number)
      resolver.namedObjects.append(number)
      terms.append(
        try order.following(FetchOrder.Keys(values: position.values, number: number), first))
    }
    let conditions = try terms.map { try resolver.condition($0) }
    resolver.reserve(variableCount: request.named?.variableCount ?? 1)
    limit = request.end
    offset = order == nil ? 0 : request.offset
    resolved = ResolvedRequest(entity, storages, terms, conditions, resolver)
  }

  private init(_ resolved: ResolvedRequest, _ order: FetchOrder?, limit: Int?) {
    self.resolved = resolved
    self.order = order
    self.limit = limit
    offset = 0
  }

  /// Splits an expression into conditions that must all hold.
  private static func conjuncts(of expression: QueryExpression?) -> [QueryExpression] {
    switch expression {
    case nil: []
    case .all(let operands): operands.flatMap { Self.conjuncts(of: $0) }
    case .constant(let constant) where constant.value == .bool(true): []
    case .range(let value, let lower, let upper, let isClosed):
      [
        lower.map { .comparison(value, .greaterOrEqual, $0, []) },
        upper.map { .comparison(value, isClosed ? .lessOrEqual : .less, $0, []) },
      ].compactMap { $0 }
    case .some(let other): [other]
    }
  }

  /// The entity of the requested objects.
  var entity: EntityDescription { resolved.entity }

  /// The entities whose rows are examined, sorted by number.
  var storages: [EntityStorage] { resolved.storages }

  /// A Boolean value that indicates whether the conditions or the order depend on objects other
  /// than the object that is evaluated.
  var dependsOnOtherObjects: Bool { resolved.dependsOnOtherObjects }

  /// A Boolean value that indicates whether the conditions or the order use a relationship.
  var usesRelationships: Bool { resolved.usesRelationships }

  /// The entities that the conditions depend on, including the entity of the requested objects.
  var referencedEntities: [EntityDescription] { resolved.referencedEntities }

  /// The objects mentioned in the conditions, identified by their numbers at planning time.
  var namedObjects: [ObjectNumber] { resolved.namedObjects }

  /// The number of variables that a scope needs for evaluating the conditions.
  var variableCount: Int { resolved.variableCount }

  /// A Boolean value that indicates whether the plan has no conditions and so matches every row.
  var isEverything: Bool { resolved.conditions.isEmpty }

  /// The number of conditions, all of which must hold.
  var conditionCount: Int { resolved.conditions.count }

  /// The names of the conditions.
  var names: [String] { resolved.terms.map(\.name) }

  /// A Boolean value that indicates whether the requested order differs from the order of the rows.
  var needsSorting: Bool { order.map { !$0.terms.isEmpty } ?? true }

  /// A Boolean value that indicates whether an offset or a limit may exclude matching objects.
  var isPage: Bool { limit != nil || offset > 0 }

  /// A plan that finds all objects of the same entities in row order, ignoring the conditions.
  var everything: FetchPlan {
    FetchPlan(resolved.everything, .byRow, limit: nil)
  }

  /// A plan that finds all matching objects in row order, without a limit.
  var unordered: FetchPlan { FetchPlan(resolved, .byRow, limit: nil) }

  /// A plan that finds the matching objects in row order, up to the limit, so that they can be
  /// counted.
  var counting: FetchPlan { FetchPlan(resolved, .byRow, limit: limit) }

  /// Returns a copy of the plan with a different limit and without an offset.
  func limited(to limit: Int?) -> FetchPlan { FetchPlan(resolved, order, limit: limit) }

  /// Returns whether the request covers the entity of an object.
  func includes(_ object: ManagedObject) -> Bool {
    resolved.storages.contains { $0.entity === object.entityDescription }
  }

  /// Returns whether the request covers the entity of the object with the given number.
  func includes(_ number: ObjectNumber) -> Bool {
    resolved.storages.contains { $0.number == number.entity }
  }

  /// Returns a function that reads an object's value at a key path.
  ///
  /// If the key path is `nil`, the function returns a reference to the object itself.
  func value(at keyPath: AnyKeyPath?, _ model: StoreModel) throws -> QueryTerm.Value {
    guard let keyPath else { return { $0.own } }
    let resolver = QueryResolver(model.schema, model.space, entity, RenumberedObjects())
    return try value(of: try resolver.term(at: keyPath))
  }

  /// Returns a function that evaluates an expression for an object.
  func value(of expression: QueryExpression, _ model: StoreModel) throws -> QueryTerm.Value {
    let resolver = QueryResolver(model.schema, model.space, entity, RenumberedObjects())
    return try value(of: try resolver.resolve(expression))
  }

  private func value(of term: QueryTerm) throws -> QueryTerm.Value {
    guard case .value(let value) = term.content else {
      throw QueryResolver.unsupported(
        "\(term.name) is \(term.type.phrase), but only single values can be fetched. Use a key "
          + "path that yields one value for each object.")
    }
    return value
  }

  // MARK: Conditions

  /// Returns whether an object meets all conditions, based on its values in memory.
  func holds(for object: ManagedObject, _ scope: QueryScope) throws -> Bool {
    try scope.with(object) { try holds(in: scope) }
  }

  /// Returns whether the subject of `scope` meets all conditions.
  func holds(in scope: QueryScope) throws -> Bool {
    for condition in resolved.conditions where try !condition(scope) { return false }
    return true
  }

  /// The names of the conditions, including the values that they compare.
  var namesWithValues: [String] {
    resolved.terms.map { term in
      // Show values only for a condition with a single demand, because the demands of a compound
      // condition may omit some of the values that it compares.
      term.demands.count == 1 ? "\(term.name) (\(term.demands[0].text))" : term.name
    }
  }

  // MARK: Text searches

  /// The first condition that is a text search, or `nil` if there is none.
  var textSearch: TextSearch? { resolved.terms.lazy.compactMap(\.textSearch).first }

  /// The text search if it is the plan's only condition; otherwise, `nil`.
  var onlyTextSearch: TextSearch? { resolved.terms.count == 1 ? textSearch : nil }

  /// Returns whether the request covers every stored object of the search's entity.
  func includesFamily(of search: TextSearch, _ model: StoreModel) -> Bool {
    storages.count == model.family(of: search.entity).count
  }

  /// The text search that alone determines the matching objects and their order, or `nil` if there
  /// is none.
  var rankedTextSearch: TextSearch? {
    guard let search = onlyTextSearch, let order, order.terms.count == 1,
      order.terms[0].textSearch === search
    else { return nil }
    return search
  }

  // MARK: Lookups

  /// Returns the number of conditions that restrict at least one of the given properties.
  func demandCount(of slots: Set<Int>) -> Int {
    resolved.terms.count { term in
      term.demands.contains { demand in slots.contains { demand.subject == .property($0) } }
    }
  }

  /// The numbers of the requested objects, or `nil` if no condition specifies them.
  var namedNumbers: [ObjectNumber]? {
    for demand in resolved.demands {
      guard case .own = demand.subject, case .among(let values) = demand.test else { continue }
      return values.compactMap { value in
        if case .integer(let bits) = value { return ObjectNumber(bits: bits) }
        return nil
      }
    }
    return nil
  }

  /// The demands that an index can satisfy, keyed by the slot of the restricted property.
  var demandsBySlot: [Int: PropertyDemand] {
    var result: [Int: PropertyDemand] = [:]
    for demand in resolved.demands {
      guard case .property(let slot) = demand.subject else { continue }
      result[slot, default: PropertyDemand()].add(demand)
    }
    return result
  }

  /// Returns the indexes and reference lists that can be used to filter or order the requested
  /// rows.
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
      return IndexUse(
        entity, entity.properties[slot], keyspace: keyspace, owners,
        isExact: demands.count == 1 && demand.isExact)
    }
    return indexes + references
  }

  /// Returns an index or a reference list whose entries correspond exactly to the matching objects,
  /// or `nil` if there is none.
  ///
  /// The matching objects can then be counted without reading their rows.
  ///
  /// - Precondition: The plan has conditions.
  func exactIndexUse(_ model: StoreModel) -> IndexUse? {
    indexUses(model).first {
      isExpressed(by: $0) && model.family(of: $0.entity).count == storages.count
    }
  }

  /// Returns whether the entries that `use` reads correspond exactly to the matching objects, apart
  /// from entries for objects of other entities.
  func isExpressed(by use: IndexUse) -> Bool {
    use.isExact && resolved.terms.allSatisfy(\.isExactDemand)
  }
}

extension QueryTerm {
  /// A Boolean value that indicates whether a single demand on a property expresses the condition
  /// exactly.
  fileprivate var isExactDemand: Bool {
    guard demands.count == 1, case .property = demands[0].subject else { return false }
    return demands[0].isExact
  }
}

extension FetchPlan {
  /// The resolved entities and conditions of a request, shared by all plans made from the request.
  ///
  /// This type is a class so that copying a plan does not retain each component.
  private final class ResolvedRequest {
    let entity: EntityDescription
    let storages: [EntityStorage]
    /// The conditions, all of which must hold.
    let terms: [QueryTerm]
    let conditions: [QueryTerm.Condition]
    /// The demands of all conditions, which are used to look up rows instead of scanning them.
    let demands: [QueryDemand]
    let dependsOnOtherObjects: Bool
    let usesRelationships: Bool
    let referencedEntities: [EntityDescription]
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
      dependsOnOtherObjects = resolver.dependsOnOtherObjects
      usesRelationships = resolver.usesRelationships
      referencedEntities = resolver.referencedEntities
      namedObjects = resolver.namedObjects
      variableCount = resolver.variableCount
    }

    private init(everythingOf other: ResolvedRequest) {
      entity = other.entity
      storages = other.storages
      terms = []
      conditions = []
      demands = []
      dependsOnOtherObjects = false
      usesRelationships = false
      referencedEntities = other.referencedEntities
      namedObjects = []
      variableCount = other.variableCount
    }

    /// A copy of the request without conditions, which matches all rows of the same entities.
    var everything: ResolvedRequest { ResolvedRequest(everythingOf: self) }
  }
}
