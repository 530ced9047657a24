/// Methods that resolve operations on collections.
extension QueryResolver {
  /// Returns the type of a collection's elements, and a function that reads the elements.
  func elements(_ collection: QueryTerm) throws -> (QueryTerm.Values, QueryType) {
    switch (collection.content, collection.type) {
    case (.values(let values), .list(let type)): return (values, type)
    case (.value(let value), .array(let type)):
      return (
        { try type.elements(of: value($0)) }, QueryType(type.elementStorageType)
      )
    default:
      throw Self.unsupported(
        "The predicate uses \(collection.phrase) as a collection. Instead, use a list, a to-many "
          + "relationship, or an attribute that is an array or set of simple values.")
    }
  }

  func quantified(
    _ quantifier: Quantifier, _ collection: QueryExpression, _ variable: Int,
    _ test: QueryExpression
  ) throws -> QueryTerm {
    let (values, type) = try elements(resolve(collection))
    let condition = try with(variable, type) { () throws in try self.condition(test) }
    let isAny = if case .all = quantifier { false } else { true }
    let isNone = if case .none = quantifier { true } else { false }
    return QueryTerm("a condition for a collection") { scope in
      for element in try values(scope) {
        scope.variables[variable] = element
        // Stop at the first element that determines the result. For `any` and `none`, this is the
        // first element that matches. For `all`, it is the first element that does not match.
        if try condition(scope) == isAny { return isAny != isNone }
      }
      return isAny == isNone
    }
  }

  func filter(
    _ collection: QueryExpression, _ variable: Int, _ test: QueryExpression
  ) throws -> QueryTerm {
    let collection = try resolve(collection)
    let (values, type) = try elements(collection)
    let condition = try with(variable, type) { () throws in try self.condition(test) }
    return QueryTerm(
      collection.name, .list(type),
      values: { scope in
        try values(scope).filter { element in
          scope.variables[variable] = element
          return try condition(scope)
        }
      })
  }

  func summary(_ summary: Summary, _ collection: QueryTerm) throws -> QueryTerm {
    if case .count = summary, collection.type.isText { return try length(collection) }
    let (values, type) = try elements(collection)
    let name = "@\(summary.rawValue) of \(collection.name)"
    let isFit =
      switch summary {
      case .count: true
      case .sum, .average: type.isNumeric || type.isNothing
      case .min, .max: type.isOrdered
      }
    guard isFit else {
      throw Self.unsupported(
        "\(name) cannot be computed, because each element of \(collection.name) is \(type.phrase). "
          + "Aggregate another property, or count the elements instead.")
    }
    let result: QueryType =
      switch summary {
      case .count: .integer
      case .average: type.isDecimal ? .decimal : .number()
      case .sum: type.isFloat ? .number() : type
      case .min, .max: type
      }
    return QueryTerm(name, result) { summary.result(try values($0), type) }
  }

  func end(_ collection: QueryTerm, _ isFirst: Bool) throws -> QueryTerm {
    let (values, type) = try elements(collection)
    return QueryTerm("\(collection.name).\(isFirst ? "first" : "last")", type) { scope in
      let values = try values(scope)
      return (isFirst ? values.first : values.last) ?? .null
    }
  }
}
