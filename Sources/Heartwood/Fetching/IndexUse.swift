/// A description of how a plan uses an index, or a list of references, to filter or order rows.
struct IndexUse {
  let entity: EntityDescription
  /// The slots of the indexed attributes.
  private let attributes: [Int]
  let isUnique: Bool
  let keyspace: String
  /// The keys to look up individually.
  ///
  /// Each key contains the values of all attributes of a unique index.
  let keys: [Key]
  /// The ordered ranges of entries to read, in addition to the entries for the keys.
  let ranges: [EntryRange]
  /// The slots of the properties whose conditions are evaluated with this index.
  let slots: [Int]
  /// The slots of the attributes that determine the order of the entries to read.
  ///
  /// All entries to read have the same values for the index's preceding attributes.
  let orderedSlots: [Int]
  /// The slots of the attributes that have the same values in all entries to read.
  let fixedSlots: [Int]
  /// A Boolean value that indicates whether the entries to read correspond exactly to the objects
  /// that meet all demands.
  ///
  /// The entries may belong to objects of any class in the family of `entity`.
  let isExact: Bool
}

/// The combined restrictions that a plan's conditions place on one property.
struct PropertyDemand {
  var values: [StoredValue]?
  var lower: StoredValue?
  var upper: StoredValue?
  var prefix: String?
  /// A Boolean value that indicates whether the conditions are expressed exactly: by `values` if
  /// that list is not `nil`, and otherwise by the range.
  private(set) var isExact = true

  mutating func add(_ demand: QueryDemand) {
    let isFirst = values == nil && lower == nil && upper == nil && prefix == nil
    let isRange = if case .range = demand.test { values == nil } else { false }
    isExact = isExact && demand.isExact && (isFirst || isRange)
    switch demand.test {
    case .among(let others):
      if values.map({ $0.count > others.count }) ?? true { values = others }
    case .range(var first, var last):
      if demand.isExact {
        if demand.isStrict { (first, last) = (first?.successor, last?.predecessor) }
        // NaN satisfies no comparison but sorts after all other values, so end the range at
        // infinity.
        if let first, last == nil { last = first.infinity }
      }
      // At each end, keep the tighter of the two bounds.
      if let first, (lower?.order(to: first) ?? -1) < 0 { lower = first }
      if let last, (upper?.order(to: last) ?? 1) > 0 { upper = last }
    case .prefix(let text):
      if text.utf8.count > prefix?.utf8.count ?? 0 { prefix = text }
    }
  }

  /// A Boolean value that indicates whether the conditions match objects in which the property is
  /// `nil`.
  var includesNull: Bool {
    if let values { return values.contains(.null) }
    return false
  }
}

extension IndexUse {
  /// The maximum number of lookups for one index.
  ///
  /// If restricting another attribute would require more lookups, the index use does not restrict
  /// that attribute. A unique index on one attribute allows more lookups, because the planner need
  /// not estimate how many entries these lookups yield.
  private static func maxLookups(_ index: IndexDescription) -> Int {
    index.isUnique && index.slots.count == 1 ? 50_000 : 1000
  }

  /// The names of the attributes, separated by commas.
  var name: String { attributes.map { entity.properties[$0].name }.joined(separator: ", ") }

  /// Creates an index use for the demands of a plan.
  ///
  /// - Parameter needsDemands: Whether the index must satisfy a demand. If `false`, the initialiser
  ///   also accepts an index that only orders the rows.
  /// - Returns: `nil` if the index cannot be used, for example because it may not contain all
  ///   requested objects.
  init?(
    _ index: IndexDescription, keyspace: String, _ demands: [Int: PropertyDemand],
    needsDemands: Bool, isNeverNull: (Int) -> Bool
  ) {
    guard !needsDemands || index.slots.first.flatMap({ demands[$0] }) != nil else { return nil }
    if let use = IndexUse(lookingUp: index, keyspace: keyspace, demands) {
      self = use
      return
    }
    // Do not use a unique index if the request could match objects with a `nil` value, because the
    // index has no entries for such objects.
    if index.isUnique {
      for slot in index.slots where !isNeverNull(slot) {
        guard let demand = demands[slot], !demand.includesNull else { return nil }
      }
    }
    var prefixes: [[StoredValue]] = [[]]
    var used: [Int] = []
    for slot in index.slots {
      guard let values = demands[slot]?.values,
        values.count * prefixes.count <= Self.maxLookups(index)
      else { break }
      prefixes = prefixes.flatMap { prefix in values.map { prefix + [$0] } }
      used.append(slot)
    }
    let fixed = index.slots.prefix { demands[$0]?.values?.count == 1 && used.contains($0) }
    let rest = index.slots.dropFirst(used.count)
    var ranges: [EntryRange]
    if let slot = rest.first, let demand = demands[slot], demand.values == nil {
      used.append(slot)
      ranges = prefixes.map { prefix in
        if let text = demand.prefix { return EntryRange(prefix, text: text) }
        return EntryRange(prefix, from: demand.lower, through: demand.upper)
      }
    } else {
      ranges = prefixes.map {
        rest.isEmpty ? EntryRange($0, ofAllIn: index) : EntryRange($0)
      }
    }
    let isLookup =
      index.isUnique && rest.isEmpty
      && !prefixes.contains { EntryKey.isShortened($0, isUnique: true) }
    // Merge overlapping ranges, so that each entry is read once, in index order.
    ranges = EntryRange.merged(ranges)
    entity = index.entity
    attributes = index.slots
    isUnique = index.isUnique
    self.keyspace = keyspace
    keys = isLookup ? Set(prefixes.map { EntryKey.key($0) }).sorted() : []
    self.ranges = isLookup ? [] : ranges
    slots = used
    fixedSlots = Array(fixed)
    orderedSlots = Array(index.slots.dropFirst(fixed.count))
    isExact =
      demands.allSatisfy { used.contains($0.key) && $0.value.isExact }
      && self.ranges.allSatisfy(\.isExact)
  }

  /// Creates an index use that looks up a single key in a unique index, or returns `nil` if the
  /// demands do not determine such a key.
  ///
  /// This is the most common case.
  private init?(
    lookingUp index: IndexDescription, keyspace: String, _ demands: [Int: PropertyDemand]
  ) {
    guard index.isUnique else { return nil }
    var values: [StoredValue] = []
    for slot in index.slots {
      guard let all = demands[slot]?.values, all.count == 1, !all[0].isNull else { return nil }
      values.append(all[0])
    }
    let key = EntryKey.key(values)
    guard key.bytes.count <= Limits.maxKeyByteCount else { return nil }
    entity = index.entity
    attributes = index.slots
    isUnique = true
    self.keyspace = keyspace
    keys = [key]
    ranges = []
    slots = index.slots
    orderedSlots = []
    fixedSlots = index.slots
    isExact = demands.allSatisfy { index.slots.contains($0.key) && $0.value.isExact }
  }

  /// Creates an index use that reads the lists of references to the given owners.
  ///
  /// - Parameter isExact: Whether restricting the rows to the given owners satisfies all of the
  ///   plan's demands exactly.
  init(
    _ entity: EntityDescription, _ property: PropertyDescription, keyspace: String,
    _ owners: [StoredValue], isExact: Bool
  ) {
    self.entity = entity
    attributes = [property.slot]
    isUnique = false
    self.keyspace = keyspace
    keys = []
    ranges = EntryRange.merged(owners.filter { !$0.isNull }.map { EntryRange([$0]) })
    slots = [property.slot]
    orderedSlots = []
    fixedSlots = owners.count == 1 ? [property.slot] : []
    // The index use is not exact if the entity has a superentity, because the lists may contain
    // objects of the superclass that declares the relationship.
    self.isExact = isExact && entity.superentity == nil
  }

  /// Returns the number of entries to read, or `limit` if there are more.
  ///
  /// - Complexity: Each index page that contains such entries is read once, up to the page where
  ///   the limit is reached.
  func count(_ view: StoreView, limit: Int) throws -> Int {
    guard let entries = try view.keyspace(keyspace) else { return 0 }
    var found = min(try keys.count { try entries.withValue($0) { _ in } != nil }, limit)
    for range in ranges where found < limit {
      found += try entries.count(range, limit: limit - found)
    }
    return found
  }

  /// Returns the estimated number of entries to read.
  func estimatedCount(_ view: StoreView) throws -> Int {
    guard let entries = try view.keyspace(keyspace) else { return 0 }
    return try ranges.reduce(keys.count) { $0 + (try entries.estimatedCount($1)) }
  }

  /// Returns whether the index must be read backwards to provide the given order, or `nil` if the
  /// index cannot provide that order.
  func direction(of order: FetchOrder) -> Bool? {
    var rest = orderedSlots[...]
    var isBackwards: Bool?
    for term in order.terms {
      guard let slot = term.slot, !term.isDecimal else { return nil }
      if fixedSlots.contains(slot) { continue }
      guard rest.popFirst() == slot, isBackwards == nil || isBackwards == term.isReversed else {
        return nil
      }
      isBackwards = term.isReversed
    }
    // Rows with equal sort values must be sorted by number, so the index must not have a further
    // attribute that would order them differently.
    guard rest.isEmpty, isBackwards ?? order.endsReversed == order.endsReversed else { return nil }
    return order.endsReversed
  }
}
