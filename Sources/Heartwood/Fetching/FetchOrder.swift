import Foundation

/// The sort order of a fetch, based on stored values.
///
/// In ascending order, `nil` comes first and NaN comes last. Strings are compared as Swift compares
/// `String` values. Objects with equal values are in creation order, or in reverse creation order
/// if the last descriptor is reversed. Every access path therefore yields the same list.
struct FetchOrder {
  struct Term {
    let name: String
    let value: QueryTerm.Value
    /// The slot of the sorted property, or `nil` if the term is not a property of the fetched
    /// object itself.
    let slot: Int?
    let isReversed: Bool
    /// A Boolean value that indicates whether the values are decimal numbers, which are stored as
    /// strings.
    let isDecimal: Bool
    /// A Boolean value that indicates whether all values have the same size.
    let hasFixedLength: Bool
    /// The text search to sort by, if this sort term orders rows by relevance; otherwise, `nil`.
    var textSearch: TextSearch?
  }

  /// The sort terms, which begin with the section key if the request has sections.
  let terms: [Term]

  private init() { terms = [] }

  /// The order in which objects were created.
  static var byRow: FetchOrder { FetchOrder() }

  /// Creates the sort order of a request.
  ///
  /// The order is based on the request's sort descriptors. If the entity has no class, the order is
  /// based on the request's property paths instead.
  ///
  /// - Parameters:
  ///   - search: The text search whose relevance determines the order if there are no descriptors.
  ///   - section: The key by which objects are grouped, which takes precedence over the sort
  ///     descriptors.
  /// - Returns: `nil` unless all descriptors compare stored values.
  init?<M>(
    _ request: FetchRequest<M>, _ resolver: QueryResolver, _ search: TextSearch?,
    section: AnyKeyPath? = nil
  ) throws {
    if let named = request.named {
      terms = try named.order.map { try Term($0.path, isReversed: $0.isReversed, resolver) }
      return
    }
    let descriptors = request.sortDescriptors
    var terms: [Term] = []
    if let section, descriptors.first?.keyPath != section {
      terms.append(try Term(section: section, isReversed: false, resolver))
    }
    for descriptor in descriptors {
      guard let keyPath = descriptor.keyPath, descriptor.isPlain,
        let type = StoredOrder(of: Swift.type(of: keyPath).valueType),
        let term = try? resolver.term(at: keyPath), case .value(let value) = term.content
      else {
        // Record every entity, because this descriptor and the later ones may read any object. Do
        // not resolve their key paths to find out which entities they read, because a getter may
        // trap if it is called on a prototype.
        for entity in resolver.schema.entities { resolver.recordReference(entity) }
        return nil
      }
      terms.append(
        Term(
          name: term.name, value: value, slot: term.property?.slot,
          isReversed: descriptor.order == .reverse, isDecimal: type == .decimal,
          hasFixedLength: term.type.hasFixedLength))
    }
    if let search, descriptors.isEmpty {
      // An object's relevance depends on how many objects contain the words, and therefore on other
      // objects.
      resolver.dependsOnOtherObjects = true
      terms.append(
        Term(
          name: "relevance", value: search.relevance, slot: nil, isReversed: false,
          isDecimal: false, hasFixedLength: true, textSearch: search))
    }
    self.terms = terms
  }

  /// A Boolean value that indicates whether objects with equal values are in reverse creation
  /// order.
  var endsReversed: Bool { terms.last?.isReversed ?? false }

  /// Returns the sort keys of the subject of `scope`.
  ///
  /// - Parameter number: The object number of the subject.
  func keys(_ number: ObjectNumber, _ scope: QueryScope) throws -> Keys {
    Keys(values: try Values(of: terms, scope), number: number)
  }

  /// Returns whether the object with the sort keys `first` precedes the object with the keys
  /// `second`.
  func areInOrder(_ first: Keys, _ second: Keys) -> Bool {
    // Use indices, because an iterator would retain and release each term.
    for position in terms.indices {
      let order = terms[position].order(first.values[position], second.values[position])
      if order != 0 { return (order < 0) != terms[position].isReversed }
    }
    return first.number.isCreated(before: second.number) != endsReversed
      && first.number != second.number
  }
}

extension ObjectNumber {
  /// Returns whether an object was created before another object.
  ///
  /// Unsaved objects, whose numbers are negative, come last.
  func isCreated(before other: ObjectNumber) -> Bool {
    UInt64(bitPattern: bits) < UInt64(bitPattern: other.bits)
  }
}

extension FetchRequest {
  /// Returns the objects in the request's order, sorted by their values in memory.
  func sorted(_ objects: [M]) -> [M] {
    let endsReversed = sortDescriptors.last?.order == .reverse
    let comparisons = sortDescriptors.map(\.comparison)
    return objects.sorted { first, second in
      for compare in comparisons {
        let order = compare(first, second)
        if order != .orderedSame { return order == .orderedAscending }
      }
      return first.number.isCreated(before: second.number) != endsReversed && first !== second
    }
  }
}

extension FetchOrder.Term {
  /// Creates the sort term for a section key.
  ///
  /// - Throws: `unknownProperty` if the key path does not refer to a sortable value.
  init(section: AnyKeyPath, isReversed: Bool, _ resolver: QueryResolver) throws {
    try self.init(try resolver.term(at: section), isReversed: isReversed, "be used for sections")
  }

  /// Creates the term for a path in the format language, such as `team.name`.
  ///
  /// - Throws: `predicateSyntax` if the path cannot be parsed; `unknownProperty` if the path does
  ///   not refer to a value that has an order.
  init(_ path: String, isReversed: Bool, _ resolver: QueryResolver) throws {
    let term = try resolver.resolve(try FormatParser.expression(path, []))
    try self.init(term, isReversed: isReversed, "be used for sorting")
  }

  /// Creates a sort term from a resolved query term.
  ///
  /// - Parameter use: The purpose of the term, for the error message.
  /// - Throws: `unknownProperty` if the values of the query term have no order.
  private init(_ term: QueryTerm, isReversed: Bool, _ use: String) throws {
    guard case .value(let value) = term.content, term.type.hasOrder else {
      throw ObjectGraphError(
        .unknownProperty,
        "\(term.name) cannot \(use), because it is \(term.type.phrase). Values of this type have "
          + "no order. Use a property whose values have an order.")
    }
    self.init(
      name: term.name, value: value, slot: term.property?.slot, isReversed: isReversed,
      isDecimal: term.type.isDecimal, hasFixedLength: term.type.hasFixedLength)
  }

  /// Compares two values in ascending order, even if the term is reversed.
  ///
  /// - Returns: A negative number if `first` precedes `second`, a positive number if `first`
  ///   follows `second`, and 0 if the values are equal.
  func order(_ first: StoredValue, _ second: StoredValue) -> Int {
    first.sortOrder(relativeTo: second, isDecimal: isDecimal)
  }
}

extension QueryType {
  fileprivate var hasFixedLength: Bool {
    switch self {
    case .bool, .integer, .number, .date, .uuid: true
    case .nothing, .text, .bytes, .decimal, .opaque, .object, .list, .array: false
    }
  }

  /// A Boolean value that indicates whether values of the type can be sorted so that equal values
  /// are adjacent.
  fileprivate var hasOrder: Bool {
    switch self {
    case .bool, .integer, .number, .decimal, .date, .uuid, .text: true
    case .nothing, .bytes, .opaque, .object, .list, .array: false
    }
  }
}

extension QueryResolver {
  /// Returns the query term for a key path of the fetched object.
  func term(at keyPath: AnyKeyPath) throws -> QueryTerm {
    var expression = QueryExpression.variable(0)
    for step in try schema.path(keyPath) {
      expression = .property(expression, .known(step.property, step.entity))
    }
    return try resolve(expression)
  }
}

extension StoredValue {
  /// Returns whether one value precedes another, with `nil` first and NaN last.
  static func areInOrder(
    _ first: StoredValue, _ second: StoredValue, isDecimal: Bool
  ) -> Bool {
    first.sortOrder(relativeTo: second, isDecimal: isDecimal) < 0
  }

  /// Returns a negative number if this value precedes `other`, a positive number if it follows
  /// `other`, and 0 if the values are equal.
  fileprivate func sortOrder(relativeTo other: StoredValue, isDecimal: Bool) -> Int {
    if self == other { return 0 }
    if isNull || other.isNull { return isNull ? -1 : 1 }
    if case (.bool(let first), .bool) = (self, other) { return first ? 1 : -1 }
    let order = isDecimal ? decimalOrder(to: other) : order(to: other)
    // Sort NaN after all other values. `order` is `nil` only if one of the values is NaN.
    return order ?? (isNaN ? (other.isNaN ? 0 : 1) : -1)
  }

  fileprivate var isNaN: Bool { isNotANumber || self == .string("NaN") }
}

extension SortDescriptor where Compared: ManagedObject {
  /// A function that compares two objects.
  ///
  /// A descriptor that compares values with `<` must sort objects in memory in the same order as a
  /// fetch that compares stored values. Foundation's `compare` provides this order only for decimal
  /// numbers: it treats NaN as equal to every number and, on Darwin, sorts strings by locale.
  fileprivate var comparison: (Compared, Compared) -> ComparisonResult {
    // Use `compare` for decimal numbers, because their stored values are strings.
    guard isPlain, let keyPath,
      let type = Swift.type(of: keyPath).valueType as? any AttributeValue.Type,
      StoredOrder(of: type) == .plain, let value = Self.storedValue(type, keyPath)
    else { return compare }
    return { [order] first, second in
      let result = value(first).sortOrder(relativeTo: value(second), isDecimal: false)
      if result == 0 { return .orderedSame }
      return (result < 0) == (order == .forward) ? .orderedAscending : .orderedDescending
    }
  }

  /// Returns a function that reads the stored value at a key path, or `nil` if the value is not of
  /// the given type.
  private static func storedValue<Value: AttributeValue>(
    _ type: Value.Type, _ keyPath: PartialKeyPath<Compared>
  ) -> ((Compared) -> StoredValue)? {
    (keyPath as? KeyPath<Compared, Value>).map { keyPath in
      // The conversion never fails for the types that are compared in this way.
      { (try? $0[keyPath: keyPath].storedValue) ?? .null }
    }
  }
}

extension SortDescriptor {
  /// A Boolean value that indicates whether the descriptor compares values with `<`.
  fileprivate var isPlain: Bool {
    #if canImport(Darwin)
      // On Darwin, a string descriptor without an explicit comparator uses `.localizedStandard`.
      // Treat it as `<`, as on other platforms.
      if stringComparator == .localizedStandard { return true }
    #endif
    return stringComparator == nil
  }
}

/// The order of a type's stored values.
private enum StoredOrder {
  case plain
  case decimal

  /// Creates the order of a type's values, or returns `nil` if the order is unknown.
  init?(of type: Any.Type) {
    let type = (type as? any NestableOptional.Type)?.wrappedType ?? type
    if type == Decimal.self {
      self = .decimal
    } else if StandardTypes.ordered.contains(ObjectIdentifier(type)) {
      self = .plain
    } else {
      return nil
    }
  }
}
