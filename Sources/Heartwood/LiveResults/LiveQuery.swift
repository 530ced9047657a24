/// What a list is of: a request that was resolved, and how objects are asked whether they belong
/// to it.
final class LiveQuery {
  typealias Entry = ResultsTree.Entry

  /// What a fetch has found.
  struct Found {
    var entries: [Entry]
    /// Whether it is all there is, or only the beginning.
    var isComplete = true
    /// The values of the objects, in a context below another.
    var values: [ObjectNumber: [StoredValue]] = [:]
  }

  let offset: Int
  let limit: Int?
  /// What objects are grouped by; `nil` if they are not.
  let sectionTerm: FetchOrder.Term?
  let includesPendingChanges: Bool
  /// The numbers of the entities whose objects can be in the list.
  let entities: [Int]
  /// The numbers of the entities whose objects decide about the list.
  let askedEntities: Set<Int>
  /// Whether the list has to be fetched again when anything it asks has changed: because other
  /// objects are asked than those in the list, or objects are compared by more than their values.
  let fetchesAgain: Bool
  /// The property by whose values the list is found, and which of them it wants; `nil` if it may
  /// want any.
  private(set) var wanted: (slot: Int, ranges: [(lower: StoredValue?, upper: StoredValue?)])?
  private var plan: FetchPlan
  private let makePlan: () throws -> FetchPlan
  private let renumbered: RenumberedObjects
  /// How many replacements of numbers the plan takes into account.
  private var changeCount: Int
  /// Whether the plan names objects by other numbers than the list was fetched with.
  private(set) var isNamedAnew = false
  private let scope: QueryScope
  /// Puts objects in the order of the request, if that is not one of stored values.
  private let sort: (([ManagedObject]) -> [ManagedObject])?
  /// What the limit and the offset of the request leave.
  private let page: ([Entry]) -> [Entry]

  /// - Parameter section: What objects are grouped by, before anything else.
  /// - Throws: `unknownEntity`, `unknownProperty` or `unsupportedPredicate`.
  init<M: ManagedObject>(
    _ request: FetchRequest<M>, _ part: ManagedObjectContext, section: AnyKeyPath?
  ) throws {
    let (model, renumbered) = (part.model, part.renumbered)
    makePlan = { try FetchPlan(request, model, renumbered, section: section) }
    let plan = try makePlan()
    self.plan = plan
    self.renumbered = renumbered
    changeCount = renumbered.changeCount
    includesPendingChanges = request.includesPendingChanges
    entities = plan.storages.map(\.number)
    askedEntities = Set(plan.askedEntities.flatMap { model.family(of: $0) }.map(\.number))
      .union(entities)
    fetchesAgain = plan.order == nil || plan.leavesObject || part.parent != nil
    // A list that is fetched again is fetched as the part of all that it is.
    offset = fetchesAgain ? 0 : request.offset
    // One that no list can reach is none.
    limit = fetchesAgain || (request.end ?? .max) > Self.mostLimited ? nil : request.limit
    wanted = Self.wanted(plan)
    page = { request.page(of: $0) }
    sort = plan.order == nil ? { request.sorted([M]($0)) } : nil
    sectionTerm = try section.map { section in
      try plan.order?.terms.first
        ?? FetchOrder.Term(
          section: section, QueryResolver(model.schema, model.space, plan.entity, renumbered))
    }
    scope = QueryScope(model, nil, variableCount: plan.variableCount) { part.object($0) }
  }

  /// Has the predicate name its objects by the numbers they have now.
  ///
  /// - Returns: Whether any of them has another one than before.
  func updateNames() throws -> Bool {
    guard changeCount != renumbered.changeCount else { return false }
    if plan.namedObjects.contains(where: { renumbered.resolved($0) != $0 }) {
      plan = try makePlan()
      wanted = Self.wanted(plan)
      isNamedAnew = true
    }
    changeCount = renumbered.changeCount
    return isNamedAnew
  }

  /// Notes that the list was fetched with the plan.
  func noteFetch() { isNamedAnew = false }

  /// Single values rather than a range, and a range with two ends rather than one with one.
  private static func wanted(
    _ plan: FetchPlan
  ) -> (slot: Int, ranges: [(lower: StoredValue?, upper: StoredValue?)])? {
    func rank(_ demand: PropertyDemand) -> Int {
      if let values = demand.values { return values.count }
      return demand.lower == nil || demand.upper == nil ? .max : .max - 1
    }
    let demands = plan.demandsBySlot.sorted { $0.key < $1.key }.filter { $0.value.ranges != nil }
    return demands.min { rank($0.value) < rank($1.value) }
      .flatMap { slot, demand in demand.ranges.map { (slot, $0) } }
  }

  /// The order of the entries of a list, as far as it is not simply kept.
  var treeOrder: FetchOrder { plan.order ?? .byRow }

  /// How many entries a list with a limit is filled up to: more than belong to it, so that not
  /// every one that goes has it fetched again.
  var mostKept: Int? { limit.map { offset + 2 * $0 + Self.leastSpare } }

  /// What a fetch takes, in rows that are read one after the other.
  func fetchCost(_ view: StoreView, _ model: StoreModel) throws -> Double {
    guard !fetchesAgain else { return 0 }
    return try AccessPlanner(plan: plan.limited(to: mostKept), view: view, model: model).best().cost
  }

  private static let leastSpare = 64
  /// The greatest end of a list that is kept in part.
  private static let mostLimited = 1 << 40

  /// Whether two entries are in the same section.
  func areTogether(_ first: Entry, _ second: Entry) -> Bool {
    guard let sectionTerm else { return true }
    return sectionTerm.order(first.keys.values[0], second.keys.values[0]) == 0
  }

  // MARK: One object

  /// What a row is sorted by; `nil` if it does not belong to the list.
  func keys(
    _ number: ObjectNumber, _ storage: EntityStorage, _ record: RecordView
  ) throws -> FetchOrder.Keys? {
    try scope.with(record, storage, number) { try keys(number) }
  }

  /// What an object is sorted by, as it is in memory; `nil` if it does not belong to the list.
  func keys(_ object: ManagedObject) throws -> FetchOrder.Keys? {
    try scope.with(object) { try keys(object.number) }
  }

  private func keys(_ number: ObjectNumber) throws -> FetchOrder.Keys? {
    try plan.holds(in: scope) ? plan.order?.keys(number, scope) : nil
  }

  // MARK: All

  /// What a fetch finds now.
  ///
  /// - Throws: What kept rows from being read.
  func fetch(_ part: ManagedObjectContext) throws -> Found {
    // Nobody has anything of a store that was removed.
    guard !part.model.isRemoved else { return Found(entries: []) }
    guard let order = plan.order, part.parent == nil else { return try fetchObjects(part) }
    let kept = fetchesAgain ? plan : plan.limited(to: mostKept)
    let candidates = try part.candidates(
      kept, includesPendingChanges, .values(order.terms.map(\.value)))
    let entries = candidates.map {
      Entry(keys: .init(values: $0.values, number: $0.number), object: nil)
    }
    if fetchesAgain { return Found(entries: page(entries)) }
    return Found(entries: entries, isComplete: mostKept.map { entries.count < $0 } ?? true)
  }

  /// What a fetch finds, as objects with their values.
  private func fetchObjects(_ part: ManagedObjectContext) throws -> Found {
    var entries: [Entry] = []
    let candidates = try part.candidates(plan, includesPendingChanges, .object)
    if let sort {
      for object in sort(candidates.compactMap(\.object)) {
        let section = try sectionTerm.map { term in
          [try scope.with(object) { try term.value(scope) }]
        }
        entries.append(
          Entry(keys: .init(values: section ?? [], number: object.number), object: object))
      }
      entries = grouped(entries)
    } else {
      entries = candidates.compactMap { candidate in
        candidate.keys.map { Entry(keys: $0, object: candidate.object) }
      }
    }
    entries = page(entries)
    var values: [ObjectNumber: [StoredValue]] = [:]
    if part.parent != nil {
      for entry in entries { values[entry.number] = try entry.object?.columnValues() }
    }
    return Found(entries: entries, values: values)
  }

  /// Puts entries of one section together, which stay in their order within it.
  private func grouped(_ entries: [Entry]) -> [Entry] {
    guard let sectionTerm else { return entries }
    return entries.enumerated().sorted { first, second in
      let order = sectionTerm.order(first.element.keys.values[0], second.element.keys.values[0])
      return order == 0 ? first.offset < second.offset : order < 0
    }.map(\.element)
  }
}

extension ManagedObject {
  /// The values of its attributes and to-one relationships by slot, as they are in memory.
  func columnValues() throws -> [StoredValue] {
    // A fault would show the declared values.
    source?.fire(self)
    guard let entity = entityDescription else { return [] }
    var values = entity.properties.map { _ in StoredValue.null }
    for property in entity.columns { values[property.slot] = try storedValue(property) }
    return values
  }
}
