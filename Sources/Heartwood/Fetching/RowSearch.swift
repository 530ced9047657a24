/// A search that uses an access path to find the rows that match a plan.
struct RowSearch {
  let plan: FetchPlan
  let path: AccessPath
  let view: StoreView
  let model: StoreModel
  /// The number of leading objects to skip without reading their rows.
  private(set) var skippedCount = 0

  /// Creates a search that uses the cheapest access path.
  init(_ plan: FetchPlan, _ view: StoreView, _ model: StoreModel) throws {
    self.plan = plan
    self.view = view
    self.model = model
    path = try AccessPlanner(plan: plan, view: view, model: model).best()
  }

  /// Creates a search over the rows with the given numbers.
  init(
    _ plan: FetchPlan, of numbers: [ObjectNumber], _ view: StoreView, _ model: StoreModel
  ) {
    self.plan = plan
    self.view = view
    self.model = model
    path = AccessPath(kind: .objects(numbers), rowCount: Double(numbers.count), cost: 0)
  }

  /// The maximum number of rows in the first batch of lookups.
  ///
  /// The number is small because a limit may end the search early.
  private static let firstLookups = 16
  private static let maxLookupCount = 512

  /// The number of rows in the first batch of lookups.
  private var firstLookupCount: Int {
    guard path.direction != nil, let limit = plan.limit else { return Self.firstLookups }
    return min(max(limit, 1), Self.firstLookups)
  }

  /// Makes the search skip the objects before the plan's offset if that is possible without reading
  /// their rows.
  mutating func skipOffset() {
    let canSkip =
      switch path.kind {
      case .everyRow: plan.isEverything && !plan.needsSorting
      case .index(let use):
        path.direction != nil && path.leadingTermCount == nil && plan.isExpressed(by: use)
      case .objects, .all, .text: false
      }
    if canSkip { skippedCount = plan.offset }
  }

  /// Calls `body` with each matching record until `body` returns `false`.
  ///
  /// During each call, the record is the subject of `scope`. If the path provides the plan's order,
  /// the records are passed in that order. Otherwise, they are passed in ascending order of their
  /// object numbers.
  func forEach(
    _ scope: QueryScope, _ body: (ObjectNumber, EntityStorage, RecordView) throws -> Bool
  ) throws {
    let lookups = RowLookups(search: self, scope: scope)
    var remainingSkips = skippedCount
    switch path.kind {
    case .everyRow:
      for storage in plan.storages {
        guard try forEachRow(of: storage, scope, skipping: &remainingSkips, body) else { return }
      }
      return
    case .index(let use) where path.direction != nil:
      let ties = EntryTies(search: self, scope: scope)
      func add(_ number: ObjectNumber) throws -> Bool {
        guard remainingSkips == 0 else {
          remainingSkips -= 1
          return true
        }
        lookups.add(number)
        return lookups.isFull ? try lookups.run(body) : true
      }
      try forEachNumber(use, reversed: path.direction == true) { number, key in
        try ties.add(number, key, add)
      }
      guard try ties.finish(add) else { return }
      _ = try lookups.run(body)
    case .objects, .index, .all, .text:
      for number in try numbers(scope) ?? [] {
        lookups.add(number)
        if lookups.isFull, try !lookups.run(body) { return }
      }
      _ = try lookups.run(body)
    }
  }

  /// Returns the numbers of the rows found by the path, in ascending order, or `nil` for a full
  /// scan.
  func numbers(_ scope: QueryScope) throws -> [ObjectNumber]? {
    switch path.kind {
    case .text(let search):
      try scope.textRun(search)?.numbers().filter { plan.includes($0) } ?? []
    case .everyRow: nil
    // Skip temporary numbers, because an object with such a number has no row, although the row
    // bits of the number may match the row of another object.
    case .objects(let numbers):
      Set(numbers).filter { !$0.isTemporary && plan.includes($0) }.sorted()
    case .index(let use): try numbers(use).sorted()
    case .all(let uses):
      try uses.dropFirst().reduce(Set(numbers(uses[0]))) { common, use in
        common.intersection(try numbers(use))
      }.sorted()
    }
  }

  private func numbers(_ use: IndexUse) throws -> [ObjectNumber] {
    var result: [ObjectNumber] = []
    try forEachNumber(use, reversed: false) { number, _ in
      result.append(number)
      return true
    }
    return result
  }

  /// Calls `body` with each index entry covered by the keys and ranges of `use`, until `body`
  /// returns `false`.
  ///
  /// - Parameter body: A closure that is called with the object number and the key of each entry.
  ///   If the entry was looked up by a complete key, the key is `nil`.
  private func forEachNumber(
    _ use: IndexUse, reversed: Bool, _ body: (ObjectNumber, RawSpan?) throws -> Bool
  ) throws {
    guard let entries = try view.keyspace(use.keyspace) else { return }
    func pass(_ number: ObjectNumber, _ key: RawSpan?) throws -> Bool {
      plan.includes(number) ? try body(number, key) : true
    }
    for key in reversed ? use.keys.reversed() : use.keys {
      let number = try entries.withValue(key) { ObjectNumber(bits: try $0.number()) }
      if let number, try !pass(number, nil) { return }
    }
    var isDone = false
    for range in reversed ? use.ranges.reversed() : use.ranges where !isDone {
      try entries.forEach(from: range.lower, upTo: range.upper, reversed: reversed) { key, value in
        isDone = try !pass(EntryKey.number(key, value), key)
        return !isDone
      }
    }
  }

  private func forEachRow(
    of storage: EntityStorage, _ scope: QueryScope, skipping remainingSkips: inout Int,
    _ body: (ObjectNumber, EntityStorage, RecordView) throws -> Bool
  ) throws -> Bool {
    var shouldContinue = true
    try view.objects(storage)?.forEach { key, value in
      guard remainingSkips == 0 else {
        remainingSkips -= 1
        return true
      }
      let number = ObjectNumber(entity: storage.number, row: try key.lastKeyComponent())
      shouldContinue = try value.withRecord(storage.layouts) { record in
        try pass(number, storage, record, scope, body)
      }
      return shouldContinue
    }
    return shouldContinue
  }

  fileprivate func pass(
    _ number: ObjectNumber, _ storage: EntityStorage, _ record: RecordView, _ scope: QueryScope,
    _ body: (ObjectNumber, EntityStorage, RecordView) throws -> Bool
  ) throws -> Bool {
    try scope.with(record, storage, number) {
      guard try plan.holds(in: scope) else { return true }
      return try body(number, storage, record)
    }
  }

  /// Pending row lookups, which run in batches so that their cache misses overlap.
  ///
  /// The rows in a batch belong to one entity. To save time, exclusivity checks are disabled for
  /// the variables, because they are accessed for every entry of an index. This is safe, because
  /// only one thread uses them.
  private final class RowLookups {
    let search: RowSearch
    let scope: QueryScope
    @exclusivity(unchecked) private var numbers: [ObjectNumber] = []
    @exclusivity(unchecked) private var size: Int

    init(search: RowSearch, scope: QueryScope) {
      self.search = search
      self.scope = scope
      size = search.firstLookupCount
    }

    var isFull: Bool { numbers.count >= size }

    func add(_ number: ObjectNumber) { numbers.append(number) }

    /// Looks up the pending rows and passes the matching rows to `body`.
    ///
    /// - Returns: `false` if `body` returned `false`; otherwise, `true`.
    func run(
      _ body: (ObjectNumber, EntityStorage, RecordView) throws -> Bool
    ) throws -> Bool {
      defer { numbers.removeAll(keepingCapacity: true) }
      size = min(2 * size, RowSearch.maxLookupCount)
      var start = 0
      while start < numbers.count {
        let entity = numbers[start].entity
        let end = numbers[start...].firstIndex { $0.entity != entity } ?? numbers.count
        guard try lookUp(numbers[start..<end], body) else { return false }
        start = end
      }
      return true
    }

    private func lookUp(
      _ numbers: ArraySlice<ObjectNumber>,
      _ body: (ObjectNumber, EntityStorage, RecordView) throws -> Bool
    ) throws -> Bool {
      guard let first = numbers.first, let storage = search.model.storage(of: first),
        let rows = try search.view.objects(storage)
      else { return true }
      if numbers.count == 1 {
        return try rows.withValue(first.row) { value in
          try value.withRecord(storage.layouts) { record in
            try search.pass(first, storage, record, scope, body)
          }
        } ?? true
      }
      var shouldContinue = true
      try rows.forEach(of: numbers.map(\.row)) { position, value in
        guard shouldContinue, let value else { return }
        let number = numbers[numbers.startIndex + position]
        shouldContinue = try value.withRecord(storage.layouts) { record in
          try search.pass(number, storage, record, scope, body)
        }
      }
      return shouldContinue
    }
  }
}
