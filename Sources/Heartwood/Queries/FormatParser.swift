/// A parser for the format language of `NSPredicate`.
///
/// Arguments become constants in the expression. Property names come only from the format itself
/// and from arguments for `%K`, which are always treated as names.
struct FormatParser {
  private let tokens: [FormatToken]
  private var position = 0
  private var arguments: ArraySlice<any Sendable>
  private let argumentCount: Int
  /// The numbers of the variables declared by the enclosing subqueries, keyed by variable name.
  private var variables: [String: Int] = [:]
  private var lastVariable = 0
  /// The nesting depth of the expression that is being parsed.
  private var depth = 0

  /// The maximum nesting depth, and also the maximum number of operators in a calculation.
  ///
  /// The limit prevents stack overflow and is far higher than predicates need in practice.
  private static let maxDepth = 64

  static func expression(
    _ format: String, _ arguments: [any Sendable]
  ) throws(ObjectGraphError) -> QueryExpression {
    var parser = FormatParser(try FormatLexer.tokens(format), arguments)
    let expression = try parser.disjunction()
    guard parser.current.kind == .end else {
      throw parser.failure("AND, OR, an operator or the end")
    }
    guard parser.arguments.isEmpty else {
      throw FormatLexer.error(
        parser.current.column,
        "there are fewer placeholders (\(parser.argumentCount - parser.arguments.count)) than "
          + "arguments (\(parser.argumentCount))")
    }
    return expression
  }

  private init(_ tokens: [FormatToken], _ arguments: [any Sendable]) {
    self.tokens = tokens
    self.arguments = arguments[...]
    argumentCount = arguments.count
  }

  // MARK: Tokens

  private var current: FormatToken { tokens[position] }

  private mutating func advance() { position = min(position + 1, tokens.count - 1) }

  private func failure(_ expected: String) -> ObjectGraphError {
    FormatLexer.error(current.column, "expected \(expected), but found \(current.found)")
  }

  private mutating func consume(sign: String) -> Bool {
    guard current.isSign(sign) else { return false }
    advance()
    return true
  }

  private mutating func consume(word: String) -> Bool {
    guard current.isWord(word) else { return false }
    advance()
    return true
  }

  private mutating func require(sign: String) throws(ObjectGraphError) {
    guard consume(sign: sign) else { throw failure(sign) }
  }

  private func requireShallow(_ count: Int) throws(ObjectGraphError) {
    guard count <= Self.maxDepth else {
      throw FormatLexer.error(
        current.column, "expected at most \(Self.maxDepth) levels of nesting")
    }
  }

  // MARK: Logic

  private mutating func disjunction() throws(ObjectGraphError) -> QueryExpression {
    depth += 1
    defer { depth -= 1 }
    try requireShallow(depth)
    var operands = [try conjunction()]
    while consume(word: "OR") || consume(sign: "||") { operands.append(try conjunction()) }
    return operands.count == 1 ? operands[0] : .any(operands)
  }

  private mutating func conjunction() throws(ObjectGraphError) -> QueryExpression {
    var operands = [try negation()]
    while consume(word: "AND") || consume(sign: "&&") { operands.append(try negation()) }
    return operands.count == 1 ? operands[0] : .all(operands)
  }

  private mutating func negation() throws(ObjectGraphError) -> QueryExpression {
    depth += 1
    defer { depth -= 1 }
    try requireShallow(depth)
    if consume(word: "NOT") || consume(sign: "!") { return .not(try negation()) }
    if consume(word: "ANY") || consume(word: "SOME") { return try quantified(.any) }
    if consume(word: "ALL") { return try quantified(.all) }
    if consume(word: "NONE") { return try quantified(.none) }
    return try comparison(sum())
  }

  private mutating func quantified(
    _ quantifier: Quantifier
  ) throws(ObjectGraphError) -> QueryExpression {
    let collection = try sum()
    lastVariable += 1
    let variable = lastVariable
    let before = position
    let test = try comparison(.variable(variable))
    guard position > before else { throw failure("an operator") }
    return .quantified(quantifier, collection, variable: variable, test)
  }

  // MARK: Comparisons

  private static let comparisons: [String: QueryComparison] = [
    "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less, "<=": .lessOrEqual,
    "=<": .lessOrEqual, ">": .greater, ">=": .greaterOrEqual, "=>": .greaterOrEqual,
  ]
  private static let tests: [String: StringOperator] = [
    "CONTAINS": .contains, "BEGINSWITH": .begins, "ENDSWITH": .ends, "LIKE": .like,
    "MATCHES": .matches,
  ]

  /// Parses the comparison that follows a value, or returns the value if no comparison follows.
  private mutating func comparison(
    _ value: QueryExpression
  ) throws(ObjectGraphError) -> QueryExpression {
    if case .sign(let sign) = current.kind, let comparison = Self.comparisons[sign] {
      advance()
      let options = try options()
      return .comparison(value, comparison, try sum(), options)
    }
    guard case .word(let word) = current.kind else { return value }
    if let test = Self.tests[word.uppercased()] {
      advance()
      let options = try options()
      return .text(value, test, try sum(), options)
    }
    if consume(word: "IN") {
      let options = try options()
      return .membership(value, try sum(), options)
    }
    guard consume(word: "BETWEEN") else { return value }
    let column = current.column
    guard case .list(let ends) = try sum(), ends.count == 2 else {
      throw FormatLexer.error(column, "expected a list of two values after BETWEEN")
    }
    return .range(value, lower: ends[0], upper: ends[1], isClosed: true)
  }

  /// Parses the options `[c]`, `[d]` or `[cd]`, if present.
  private mutating func options() throws(ObjectGraphError) -> StringDifferences {
    guard consume(sign: "[") else { return [] }
    guard case .word(let letters) = current.kind else { throw failure("c, d or both") }
    var options: StringDifferences = []
    for letter in letters {
      switch letter {
      case "c", "C": options.insert(.case)
      case "d", "D": options.insert(.diacritics)
      default: throw failure("c, d or both")
      }
    }
    advance()
    try require(sign: "]")
    return options
  }

  // MARK: Arithmetic

  private mutating func sum() throws(ObjectGraphError) -> QueryExpression {
    try chain(["+": .plus, "-": .minus]) { (parser) throws(ObjectGraphError) in
      try parser.chain(["*": .times, "/": .divided]) { (parser) throws(ObjectGraphError) in
        try parser.power()
      }
    }
  }

  private mutating func chain(
    _ operations: [String: ArithmeticOperation],
    _ operand: (inout FormatParser) throws(ObjectGraphError) -> QueryExpression
  ) throws(ObjectGraphError) -> QueryExpression {
    var result = try operand(&self)
    var count = 0
    while case .sign(let sign) = current.kind, let operation = operations[sign] {
      advance()
      count += 1
      try requireShallow(count)
      result = .arithmetic(result, operation, try operand(&self))
    }
    return result
  }

  private mutating func power() throws(ObjectGraphError) -> QueryExpression {
    depth += 1
    defer { depth -= 1 }
    try requireShallow(depth)
    if consume(sign: "-") { return try negated() }
    let value = try path(from: atom())
    return consume(sign: "**") ? .arithmetic(value, .power, try power()) : value
  }

  /// Parses the operand of a minus sign.
  ///
  /// The sign becomes part of a number literal, because the smallest integer cannot be represented
  /// without its sign.
  private mutating func negated() throws(ObjectGraphError) -> QueryExpression {
    let operand = try power()
    guard case .constant(let constant) = operand, let negated = constant.negated else {
      return .negation(operand)
    }
    return .constant(negated)
  }

  // MARK: Values

  /// The keywords that cannot be used as property names where a value is expected.
  private static let reserved: Set<String> = [
    "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES",
    "ANY", "SOME", "ALL", "NONE",
  ]

  private mutating func atom() throws(ObjectGraphError) -> QueryExpression {
    let token = current
    switch token.kind {
    case .word(let word): return try named(word)
    case .name(let name):
      advance()
      return .property(.variable(0), .name(name))
    case .integer(let value):
      advance()
      return .constant(QueryConstant(value: .unsigned(value), type: .integer))
    case .number(let value):
      advance()
      return .constant(QueryConstant(literal: token.source, value))
    case .text(let text):
      advance()
      return .constant(QueryConstant(value: .string(text), type: .text))
    case .variable(let name):
      guard let variable = variables[name] else {
        throw FormatLexer.error(token.column, "expected a variable of an enclosing SUBQUERY")
      }
      advance()
      return .variable(variable)
    case .argument(let kind): return try argument(kind)
    case .sign("("):
      advance()
      let operand = try disjunction()
      try require(sign: ")")
      return operand
    case .sign("{"):
      advance()
      return try list()
    case .summary, .sign, .end: throw failure("a value")
    }
  }

  private mutating func named(_ word: String) throws(ObjectGraphError) -> QueryExpression {
    let keyword = word.uppercased()
    guard !Self.reserved.contains(keyword) else { throw failure("a value") }
    if keyword == "SUBQUERY" { return try subquery() }
    let column = current.column
    advance()
    guard !current.isSign("(") else {
      throw FormatLexer.error(column, "expected a value, but found the unknown function \(word)")
    }
    switch keyword {
    case "SELF": return .variable(0)
    case "TRUE", "YES", "TRUEPREDICATE": return .constant(.yes)
    case "FALSE", "NO", "FALSEPREDICATE": return .constant(.no)
    case "NIL", "NULL": return .constant(.null)
    default: return .property(.variable(0), .name(word))
    }
  }

  private mutating func list() throws(ObjectGraphError) -> QueryExpression {
    var elements: [QueryExpression] = []
    if consume(sign: "}") { return .list([]) }
    repeat { elements.append(try sum()) } while consume(sign: ",")
    try require(sign: "}")
    return .list(elements)
  }

  private mutating func subquery() throws(ObjectGraphError) -> QueryExpression {
    advance()
    try require(sign: "(")
    let collection = try sum()
    try require(sign: ",")
    guard case .variable(let name) = current.kind else { throw failure("a variable such as $x") }
    advance()
    try require(sign: ",")
    lastVariable += 1
    let variable = lastVariable
    let before = variables[name]
    variables[name] = variable
    defer { variables[name] = before }
    let test = try disjunction()
    try require(sign: ")")
    return .filter(collection, variable: variable, test)
  }

  private mutating func argument(
    _ kind: FormatToken.ArgumentKind
  ) throws(ObjectGraphError) -> QueryExpression {
    let token = current
    guard let value = arguments.popFirst() else {
      throw FormatLexer.error(token.column, "expected an argument for \(token.source)")
    }
    advance()
    if case .path = kind { return try path(value as Any, token) }
    let fits =
      switch kind {
      case .integer: value is any BinaryInteger
      case .number: value is any BinaryFloatingPoint || value is any BinaryInteger
      case .value, .path: true
      }
    guard fits, let expression = QueryExpression(value: value) else {
      throw FormatLexer.error(
        token.column,
        "expected an argument that is suitable for \(token.source), but the argument has the type "
          + "\(type(of: value))")
    }
    return expression
  }

  // MARK: Paths

  /// Parses the dot-separated properties that follow a value.
  private mutating func path(from base: QueryExpression) throws(ObjectGraphError) -> QueryExpression
  {
    var steps: [FormatStep] = []
    while consume(sign: ".") {
      switch current.kind {
      case .word(let name), .name(let name): steps.append(.property(name))
      case .summary(let name):
        guard let summary = Summary(rawValue: name) else {
          throw failure("@count, @sum, @min, @max or @avg")
        }
        steps.append(.summary(summary))
      default: throw failure("the name of a property")
      }
      advance()
      try requireShallow(steps.count)
    }
    return base.following(steps[...])
  }

  /// Parses a path of dot-separated names that was passed as an argument.
  private func path(
    _ argument: Any, _ token: FormatToken
  ) throws(ObjectGraphError) -> QueryExpression {
    guard let text = argument as? String else {
      throw FormatLexer.error(
        token.column,
        "expected the name of a property for %K, but the argument has the type "
          + "\(type(of: argument))")
    }
    var steps: [FormatStep] = []
    for component in text.split(separator: ".", omittingEmptySubsequences: false) {
      let summary =
        component.first == "@" ? Summary(rawValue: String(component.dropFirst())) : nil
      steps.append(summary.map { .summary($0) } ?? .property(String(component)))
    }
    try requireShallow(steps.count)
    return steps.count == 1 && text.uppercased() == "SELF"
      ? .variable(0) : QueryExpression.variable(0).following(steps[...])
  }
}

/// A component of a path: a property or an aggregate.
enum FormatStep {
  case property(String)
  case summary(Summary)
}

extension QueryExpression {
  /// Returns an expression that applies a path to the value of this expression.
  ///
  /// The steps after an aggregate specify the property to aggregate.
  func following(_ steps: ArraySlice<FormatStep>) -> QueryExpression {
    guard let first = steps.first else { return self }
    switch first {
    case .property(let name):
      return QueryExpression.property(self, .name(name)).following(steps.dropFirst())
    case .summary(let summary): return .summary(summary, following(steps.dropFirst()))
    }
  }
}
