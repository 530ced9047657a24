import Foundation

/// The query of a live list.
///
/// The query fetches the list, and evaluates the conditions of the request for individual objects.
final class LiveQuery {
  typealias Entry = ResultsTree.Entry

  /// The result of a fetch.
  struct Found {
    var entries: [Entry]
    /// A Boolean value that indicates whether this is the complete result, rather than only its
    /// beginning.
    var isComplete = true
    /// The values of the objects, if the list belongs to a child context.
    var values: [ObjectNumber: [StoredValue]] = [:]
  }

  let offset: Int
  let limit: Int?
  /// A Boolean value that indicates whether the list contains only a range of the matching objects.
  var isWindowed: Bool { offset > 0 || limit != nil }
  /// The section key, or `nil` if the list has no sections.
  let sectionTerm: FetchOrder.Term?
  let includesPendingChanges: Bool
  /// The numbers of the entities whose objects can be in the list.
  let entities: [Int]
  /// The numbers of the entities whose objects can affect the list.
  let referencedEntities: Set<Int>
  /// A Boolean value that indicates whether the list must be refetched after any change to objects
  /// of the entities on which the list depends.
  ///
  /// Refetching is necessary if the conditions depend on objects outside the list, if the sort
  /// order depends on more than the objects' stored values, or if the list belongs to a child
  /// context.
  let fetchesAgain: Bool
  /// A Boolean value that indicates whether unsaved deletions can affect the list by removing the
  /// deleted objects from relationships.
  let showsDeletions: Bool
  /// The slot of the property that ``ListDirectory`` uses to find the list, and the required ranges
  /// of the property's values.
  ///
  /// The value is `nil` if no condition of the request can be used to find the list.
  private(set) var wanted: (slot: Int, ranges: [(lower: StoredValue?, upper: StoredValue?)])?
  private var plan: FetchPlan
  private let makePlan: () throws -> FetchPlan
  private let renumbered: RenumberedObjects
  /// The value of `renumbered.changeCount` when the plan was last checked for renumbered objects.
  private var changeCount: Int
  /// A Boolean value that indicates whether the object numbers in the plan have changed since the
  /// list was fetched.
  private(set) var hasNewNumbers = false
  private let scope: QueryScope
  /// The closure that sorts objects, or `nil` if the request orders them by stored values.
  private let sort: ((ManagedObjectContext, [ManagedObject]) throws -> [ManagedObject])?
  /// The closure that applies the offset and the limit of the request to the entries.
  private let page: ([Entry]) -> [Entry]

  /// Creates the query of a list by resolving a fetch request.
  ///
  /// - Parameter section: The key by which objects are grouped before they are sorted.
  /// - Throws: `unknownEntity`, `unknownProperty` or `unsupportedPredicate`.
  init<M: ManagedObject>(
    _ request: FetchRequest<M>, _ storeContext: ManagedObjectContext, section: AnyKeyPath?
  ) throws {
    let (model, renumbered) = (storeContext.model, storeContext.renumbered)
    makePlan = { try FetchPlan(request, model, renumbered, section: section) }
    let plan = try makePlan()
    self.plan = plan
    self.renumbered = renumbered
    changeCount = renumbered.changeCount
    includesPendingChanges = request.includesPendingChanges
    entities = plan.storages.map(\.number)
    referencedEntities = Set(plan.referencedEntities.flatMap { model.family(of: $0) }.map(\.number))
      .union(entities)
    fetchesAgain = plan.order == nil || plan.dependsOnOtherObjects || storeContext.parent != nil
    showsDeletions =
      plan.usesRelationships && request.includesPendingChanges && storeContext.parent == nil
    // If the list is always refetched, each fetch applies the request's offset and limit, so the
    // list must not apply them again. Also ignore a limit so large that no list can reach it,
    // because computing with it could overflow.
    offset = fetchesAgain ? 0 : request.offset
    limit = fetchesAgain || (request.end ?? .max) > Self.maxLimitedEnd ? nil : request.limit
    wanted = Self.wanted(plan)
    page = { request.page(of: $0) }
    sort = plan.order == nil ? { try $0.sorted([M]($1), request) } : nil
    sectionTerm = try section.map { section in
      // If the first sort descriptor sorts by the section property, it also orders the sections.
      let first = request.sortDescriptors.first
      return try plan.order?.terms.first
        ?? FetchOrder.Term(
          section: section, isReversed: first?.keyPath == section && first?.order == .reverse,
          QueryResolver(model.schema, model.space, plan.entity, renumbered))
    }
    scope = QueryScope(model, nil, variableCount: plan.variableCount) { storeContext.object($0) }
  }

  /// Updates the plan if any object named in the predicate has been renumbered.
  ///
  /// - Returns: `false` if no object has been renumbered since the last call; otherwise, whether
  ///   the object numbers in the plan have changed since the list was fetched.
  func updateNames() throws -> Bool {
    guard changeCount != renumbered.changeCount else { return false }
    if plan.namedObjects.contains(where: { renumbered.resolved($0) != $0 }) {
      plan = try makePlan()
      wanted = Self.wanted(plan)
      hasNewNumbers = true
    }
    changeCount = renumbered.changeCount
    return hasNewNumbers
  }

  /// Records that the list was fetched with the current plan.
  func markFetched() { hasNewNumbers = false }

  /// Returns the property restricted by a plan's most selective demand, and the required ranges of
  /// its values.
  ///
  /// Returns `nil` if no demand can be used. The method prefers values to ranges, and ranges with
  /// two bounds to ranges with only one.
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

  /// A Boolean value that indicates whether a fetch sorts the objects by their values in memory.
  ///
  /// The order may then depend on the values of any loaded object of ``referencedEntities``.
  var sortsObjects: Bool { sort != nil }

  /// The order of the entries in a list.
  var treeOrder: FetchOrder { plan.order ?? .byRow }

  /// The number of entries to which a list is trimmed, or `nil` if the list has no limit.
  ///
  /// The list keeps more entries than it shows so that a removal does not always require a fetch.
  var maxKeptCount: Int? { limit.map { offset + 2 * $0 + Self.minSpareCount } }

  /// Returns the cost of a fetch, or 0 if the list must be refetched in any case.
  ///
  /// The unit is the cost of reading one row sequentially.
  func fetchCost(_ view: StoreView, _ model: StoreModel) throws -> Double {
    guard !fetchesAgain else { return 0 }
    return try AccessPlanner(plan: plan.limited(to: maxKeptCount), view: view, model: model).best()
      .cost
  }

  private static let minSpareCount = 64
  /// The greatest sum of offset and limit for which a list is treated as limited.
  private static let maxLimitedEnd = 1 << 40

  /// Returns whether two entries are in the same section.
  func areTogether(_ first: Entry, _ second: Entry) -> Bool {
    guard let sectionTerm else { return true }
    return sectionTerm.order(first.keys.values[0], second.keys.values[0]) == 0
  }

  // MARK: Evaluating one object

  /// Returns the sort keys of a row, or `nil` if the row does not match.
  func keys(
    _ number: ObjectNumber, _ storage: EntityStorage, _ record: RecordView
  ) throws -> FetchOrder.Keys? {
    try scope.with(record, storage, number) { try keys(number) }
  }

  /// Returns the sort keys of an object, based on its values in memory, or `nil` if the object does
  /// not match.
  func keys(_ object: ManagedObject) throws -> FetchOrder.Keys? {
    try scope.with(object) { try keys(object.number) }
  }

  private func keys(_ number: ObjectNumber) throws -> FetchOrder.Keys? {
    try plan.holds(in: scope) ? plan.order?.keys(number, scope) : nil
  }

  // MARK: Fetching

  /// Fetches the entries of the list in order.
  ///
  /// - Throws: Any error from reading rows.
  func fetch(_ storeContext: ManagedObjectContext) throws -> Found {
    // If the store was removed, return an empty list, whereas an ordinary fetch would throw.
    guard !storeContext.model.isRemoved else { return Found(entries: []) }
    guard let order = plan.order, storeContext.parent == nil else {
      return try fetchObjects(storeContext)
    }
    let kept = fetchesAgain ? plan : plan.limited(to: maxKeptCount)
    let candidates = try storeContext.candidates(
      kept, includesPendingChanges, .values(order.terms.map(\.value)))
    let entries = candidates.map {
      Entry(keys: .init(values: .init($0.values), number: $0.number), object: nil)
    }
    if fetchesAgain { return Found(entries: entries) }
    return Found(entries: entries, isComplete: maxKeptCount.map { entries.count < $0 } ?? true)
  }

  /// Fetches the entries of the list by creating all objects, which is necessary if the objects are
  /// sorted in memory or belong to a child context.
  private func fetchObjects(_ storeContext: ManagedObjectContext) throws -> Found {
    var entries: [Entry] = []
    let candidates = try storeContext.candidates(plan, includesPendingChanges, .object)
    if let sort {
      let stored =
        try includesPendingChanges || !storeContext.hasOwnChanges
        ? [:] : storedSectionValues(storeContext)
      for object in try sort(storeContext, candidates.compactMap(\.object)) {
        let section = try sectionTerm.map { term in
          [try stored[object.number] ?? scope.with(object) { try term.value(scope) }]
        }
        entries.append(
          Entry(keys: .init(values: .init(section ?? []), number: object.number), object: object))
      }
      entries = page(grouped(entries))
    } else {
      entries = candidates.compactMap { candidate in
        candidate.keys.map { Entry(keys: $0, object: candidate.object) }
      }
    }
    var values: [ObjectNumber: [StoredValue]] = [:]
    if storeContext.parent != nil {
      for entry in entries { values[entry.number] = try entry.object?.columnValues() }
    }
    return Found(entries: entries, values: values)
  }

  /// Returns the stored section value of each object, ignoring unsaved changes, or an empty
  /// dictionary if there are no sections.
  private func storedSectionValues(
    _ storeContext: ManagedObjectContext
  ) throws -> [ObjectNumber: StoredValue] {
    guard let sectionTerm else { return [:] }
    let found = try storeContext.candidates(
      plan.unordered, false, .values([sectionTerm.value]))
    return Dictionary(uniqueKeysWithValues: found.map { ($0.number, $0.values[0]) })
  }

  /// Groups the entries by section, preserving their order within each section.
  private func grouped(_ entries: [Entry]) -> [Entry] {
    guard let sectionTerm else { return entries }
    return entries.enumerated().sorted { first, second in
      let order = sectionTerm.order(first.element.keys.values[0], second.element.keys.values[0])
      return order == 0
        ? first.offset < second.offset : (order < 0) != sectionTerm.isReversed
    }.map(\.element)
  }
}

extension ManagedObject {
  /// Returns the values of the object's attributes and to-one relationships, indexed by slot.
  ///
  /// If the object is a fault, the method loads the object first.
  func columnValues() throws -> [StoredValue] {
    // Load a fault first, because its properties contain only default values.
    source?.fire(self)
    guard let entity = entityDescription else { return [] }
    var values = entity.properties.map { _ in StoredValue.null }
    for property in entity.columns { values[property.slot] = try storedValue(property) }
    return values
  }
}
