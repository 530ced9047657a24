import Foundation

/// A resolver for predicates on an entity.
///
/// The resolver looks up the names in a predicate, checks the types, and compiles the predicate
/// into closures that are called for each row.
///
/// Resolving throws `unknownProperty` for a name that the entity does not have, and
/// `unsupportedPredicate` for an unsupported expression. A resolved predicate throws only if the
/// store cannot be read.
final class QueryResolver {
  let schema: Schema.Content
  let space: ManagedObjectID.Space
  private let entity: EntityDescription
  private let renumbered: RenumberedObjects
  /// The nesting depth of the expression that is being resolved.
  private var depth = 0
  /// The model if the predicate can contain strings in place of dates, UUIDs and objects;
  /// otherwise, `nil`.
  var textModel: StoreModel?
  /// The types of the variables in scope.
  var variables: [Int: QueryType] = [:]
  /// The number of variables that a scope must provide, including the fetched object.
  private(set) var variableCount = 1
  /// A Boolean value that indicates whether the predicate depends on objects other than the fetched
  /// object.
  var dependsOnOtherObjects = false
  /// A Boolean value that indicates whether the predicate reads a relationship.
  var usesRelationships = false
  /// The entities whose objects the predicate depends on.
  private(set) var referencedEntities: [EntityDescription]
  /// The current numbers of the objects that the request mentions.
  ///
  /// These are the objects whose IDs are constants in the predicate, and the object after which the
  /// results begin.
  var namedObjects: [ObjectNumber] = []

  /// Creates a resolver for predicates on an entity.
  ///
  /// - Parameter renumbered: A map from the old numbers of renumbered objects to their current
  ///   numbers. The map is needed because object IDs in the predicate may contain old numbers.
  init(
    _ schema: Schema.Content, _ space: ManagedObjectID.Space, _ entity: EntityDescription,
    _ renumbered: RenumberedObjects
  ) {
    self.schema = schema
    self.space = space
    self.entity = entity
    self.renumbered = renumbered
    referencedEntities = [entity]
  }

  /// Resolves an expression to a condition.
  func condition(_ expression: QueryExpression) throws -> QueryTerm.Condition {
    try condition(try resolve(expression))
  }

  /// Returns the condition represented by a term.
  func condition(_ term: QueryTerm) throws -> QueryTerm.Condition {
    switch term.content {
    case .condition(let condition): return condition
    case .value(let value) where term.type.isBool: return { try value($0) == .bool(true) }
    case .value, .values:
      throw Self.unsupported(
        "The predicate uses \(term.phrase) as a condition. Use a comparison or a "
          + "boolean property instead.")
    }
  }

  static func unsupported(_ message: String) -> ObjectGraphError {
    ObjectGraphError(.unsupportedPredicate, message)
  }

  /// Resolves a text query for the fetched objects.
  func textSearch(_ query: TextQuery) throws -> TextSearch {
    try TextSearch(query, entity, schema)
  }

  // MARK: Terms

  func resolve(_ expression: QueryExpression) throws -> QueryTerm {
    depth += 1
    defer { depth -= 1 }
    try QueryExpression.requireDepth(depth)
    // Resolve each kind of expression in its own function, because a single function for all kinds
    // would take kilobytes of stack for each level of nesting.
    switch expression {
    case .constant(let constant): return term(constant)
    case .list(let elements): return try list(elements.map { try resolve($0) })
    case .variable(let variable): return try self.variable(variable)
    case .all(let operands): return try all(operands)
    case .any(let operands): return try any(operands)
    case .not(let operand): return try not(operand)
    case .comparison, .range, .membership, .text: return try comparison(expression)
    case .coalescing, .whenPresent, .choice, .arithmetic, .negation:
      return try calculation(expression)
    case .property, .quantified, .filter, .summary, .end, .cast:
      return try path(expression)
    case .textSearch(let query): return try textSearch(query).term
    }
  }

  private func comparison(_ expression: QueryExpression) throws -> QueryTerm {
    switch expression {
    case .comparison(let first, let comparison, let second, let options):
      try compare(resolve(first), comparison, resolve(second), options)
    case .range(let value, let lower, let upper, let isClosed):
      try range(value, lower, upper, isClosed)
    case .membership(let value, .list(let elements), let options):
      try membership(value, elements, options)
    case .membership(let value, let collection, let options):
      try membership(resolve(value), resolve(collection), options)
    case .text(let subject, let test, let pattern, let options):
      try text(resolve(subject), test, resolve(pattern), options)
    default: preconditionFailure("Expected a comparison, but found another kind of expression.")
    }
  }

  private func calculation(_ expression: QueryExpression) throws -> QueryTerm {
    switch expression {
    case .coalescing(let first, let second):
      try coalescing(resolve(first), resolve(second))
    case .whenPresent(let first, let then): try whenPresent(first, then)
    case .choice(let test, let then, let otherwise):
      try choice(condition(test), resolve(then), resolve(otherwise))
    case .arithmetic(let first, let operation, let second, let isFloat):
      try arithmetic(resolve(first), operation, resolve(second), isFloat: isFloat)
    case .negation(let operand): try negation(resolve(operand))
    default: preconditionFailure("Expected a calculation, but found another kind of expression.")
    }
  }

  private func path(_ expression: QueryExpression) throws -> QueryTerm {
    switch expression {
    case .property(let base, .name(let name)): try property(name, of: base)
    case .property(let base, let property): try self.property(property, of: resolve(base))
    case .quantified(let quantifier, let collection, let variable, let test):
      try quantified(quantifier, collection, variable, test)
    case .filter(let collection, let variable, let test):
      try filter(collection, variable, test)
    case .summary(let summary, let collection):
      try self.summary(summary, resolve(collection))
    case .end(let collection, let isFirst): try end(resolve(collection), isFirst)
    case .cast(let object, let entity): try cast(resolve(object), entity)
    default: preconditionFailure("Expected a path, but found another kind of expression.")
    }
  }

  // MARK: Logic

  private func all(_ operands: [QueryExpression]) throws -> QueryTerm {
    let (conditions, demands) = try conditions(operands)
    var result = QueryTerm("AND") { scope in
      for condition in conditions where try !condition(scope) { return false }
      return true
    }
    result.demands = demands.flatMap { $0 }
    return result
  }

  private func any(_ operands: [QueryExpression]) throws -> QueryTerm {
    let (conditions, demands) = try conditions(operands)
    var result = QueryTerm("OR") { scope in
      for condition in conditions where try condition(scope) { return true }
      return false
    }
    result.demands = QueryDemand.common(to: demands)
    return result
  }

  /// Resolves expressions to conditions, and returns each condition with its demands.
  private func conditions(
    _ operands: [QueryExpression]
  ) throws -> ([QueryTerm.Condition], [[QueryDemand]]) {
    var conditions: [QueryTerm.Condition] = []
    var demands: [[QueryDemand]] = []
    for operand in operands {
      let term = try resolve(operand)
      conditions.append(try condition(term))
      demands.append(term.demands)
    }
    return (conditions, demands)
  }

  private func not(_ operand: QueryExpression) throws -> QueryTerm {
    let condition = try condition(operand)
    return QueryTerm("NOT") { try !condition($0) }
  }

  // MARK: Constants and variables

  /// Resolves a constant.
  ///
  /// If the constant is an object ID, the term uses the object's current number, because a save may
  /// have replaced the temporary number in the ID.
  private func term(_ constant: QueryConstant) -> QueryTerm {
    guard let other = constant.space, case .integer(let bits) = constant.value else {
      var term = QueryTerm(constant: constant.value, constant.type)
      term.decimal = constant.decimal
      return term
    }
    // Check the store, because the ID of an object in another store must not match an object with
    // the same number in this store.
    guard other.store == space.store else {
      return QueryTerm(constant: .integer(0), constant.type)
    }
    let number = renumbered.resolved(ObjectNumber(bits: bits))
    namedObjects.append(number)
    return QueryTerm(constant: .integer(number.bits), constant.type)
  }

  private func variable(_ variable: Int) throws -> QueryTerm {
    if variable == 0 { return QueryTerm("SELF", .object(entity), isSubject: true) { $0.own } }
    guard let type = variables[variable] else {
      throw Self.unsupported(
        "The predicate uses a variable outside the closure or SUBQUERY that declares it. Use the "
          + "variable only inside that closure or SUBQUERY.")
    }
    return QueryTerm("a variable", type) { $0.variables[variable] }
  }

  /// Calls `body` while a variable for the elements of a collection is in scope.
  func with<Result>(
    _ variable: Int, _ type: QueryType, _ body: () throws -> Result
  ) rethrows -> Result {
    let before = variables[variable]
    variables[variable] = type
    variableCount = max(variableCount, variable + 1)
    defer { variables[variable] = before }
    return try body()
  }

  /// Ensures that scopes have room for at least `count` variables.
  func reserve(variableCount count: Int) { variableCount = max(variableCount, count) }

  /// Records that the predicate depends on objects of an entity.
  func recordReference(_ entity: EntityDescription) {
    if !referencedEntities.contains(where: { $0 === entity }) { referencedEntities.append(entity) }
  }

  // MARK: Optional values

  private func coalescing(_ first: QueryTerm, _ second: QueryTerm) throws -> QueryTerm {
    let type = try commonType(first, second)
    let (value, other) = (try value(first, as: type), try value(second, as: type))
    return QueryTerm("\(first.name) ?? \(second.name)", type) { scope in
      let found = try value(scope)
      return found.isNull ? try other(scope) : found
    }
  }

  private func whenPresent(
    _ first: QueryExpression, _ then: QueryExpression
  ) throws -> QueryTerm {
    let (first, then) = (try resolve(first), try resolve(then))
    guard case .value(let value) = first.content else { return then }
    if case .values(let values) = then.content {
      return QueryTerm(
        then.name, then.type, values: { try value($0).isNull ? [] : try values($0) })
    }
    let result = try self.value(then, as: then.type)
    return QueryTerm(then.name, then.type) { try value($0).isNull ? .null : try result($0) }
  }

  private func choice(
    _ test: @escaping QueryTerm.Condition, _ then: QueryTerm, _ otherwise: QueryTerm
  ) throws -> QueryTerm {
    let type = try commonType(then, otherwise)
    let (first, second) = (try value(then, as: type), try value(otherwise, as: type))
    return QueryTerm("a choice", type) { try test($0) ? try first($0) : try second($0) }
  }

  private func commonType(_ first: QueryTerm, _ second: QueryTerm) throws -> QueryType {
    if let type = first.type.commonType(with: second.type) { return type }
    throw Self.unsupported(
      "The predicate chooses between \(first.phrase) and \(second.phrase), whose types do not "
        + "match. Use two values of the same type.")
  }

  private func cast(_ object: QueryTerm, _ entity: EntityDescription) throws -> QueryTerm {
    let value = try value(object, as: object.type)
    guard case .object = object.type else {
      throw Self.unsupported(
        "The predicate casts \(object.phrase), but only objects can be cast. Remove the cast.")
    }
    return QueryTerm(object.name, .object(entity), isSubject: false) { scope in
      let object = try value(scope)
      return scope.isObject(object, of: entity) ? object : .null
    }
  }

  /// Returns a function that reads the value of a term.
  ///
  /// The term must not be a collection. If `type` is decimal, the function converts the value to a
  /// decimal number if possible.
  func value(_ term: QueryTerm, as type: QueryType) throws -> QueryTerm.Value {
    switch term.content {
    case .condition(let condition): return { .bool(try condition($0)) }
    case .value(let value):
      guard type.isDecimal, !term.type.isDecimal else { return value }
      let isFloat = term.type.isFloat
      if let constant = term.decimal ?? term.constant?.asDecimal(isFloat: isFloat) {
        return { _ in constant }
      }
      return { try value($0).asDecimal(isFloat: isFloat) }
    case .values:
      throw Self.unsupported(
        "A single value is required, but \(term.name) is a collection. Use an aggregate, such as "
          + "@count or count, or a quantifier, such as ANY or contains(where:).")
    }
  }
}
