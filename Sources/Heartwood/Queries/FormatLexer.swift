/// A token and its position in an `NSPredicate` format string.
struct FormatToken {
  enum Kind: Equatable {
    /// A name or a case-insensitive keyword.
    case word(String)
    /// A name written as `#name`, which is never treated as a keyword.
    case name(String)
    case integer(UInt64)
    case number(Double)
    case text(String)
    /// A variable, such as `$x`.
    case variable(String)
    /// An aggregate, such as `@count`.
    case summary(String)
    case argument(ArgumentKind)
    case sign(String)
    case end
  }

  /// The kind of argument accepted by a placeholder.
  enum ArgumentKind {
    case value
    case path
    case integer
    case number
  }

  let kind: Kind
  /// The column of the token's first character, counted from 1.
  let column: Int
  /// The source text of the token.
  let source: String

  /// Returns whether the token is the given keyword.
  func isWord(_ keyword: String) -> Bool {
    if case .word(let word) = kind { return word.uppercased() == keyword }
    return false
  }

  func isSign(_ sign: String) -> Bool { kind == .sign(sign) }

  /// A description of the token for error messages.
  var found: String { kind == .end ? "the end" : "\"\(source)\"" }
}

/// A lexer that splits an `NSPredicate` format string into tokens.
struct FormatLexer {
  private let characters: [Character]
  private var position = 0

  private init(_ format: String) { characters = Array(format) }

  static func tokens(_ format: String) throws(ObjectGraphError) -> [FormatToken] {
    var lexer = FormatLexer(format)
    var tokens: [FormatToken] = []
    while true {
      let token = try lexer.next()
      tokens.append(token)
      if token.kind == .end { return tokens }
    }
  }

  static func error(_ column: Int, _ message: String) -> ObjectGraphError {
    ObjectGraphError(
      .predicateSyntax, "Syntax error at column \(column) of the predicate format: \(message).")
  }

  private var current: Character? {
    position < characters.count ? characters[position] : nil
  }

  private func character(_ distance: Int) -> Character? {
    position + distance < characters.count ? characters[position + distance] : nil
  }

  private mutating func next() throws(ObjectGraphError) -> FormatToken {
    while current?.isWhitespace == true { position += 1 }
    let start = position
    let kind = try kind()
    return FormatToken(
      kind: kind, column: start + 1, source: String(characters[start..<position]))
  }

  private mutating func kind() throws(ObjectGraphError) -> FormatToken.Kind {
    guard let first = current else { return .end }
    if first.isLetter || first == "_" { return .word(word()) }
    if first.isASCIIDigit { return try number() }
    switch first {
    case "\"", "'": return .text(try text(endingWith: first))
    case "#": return .name(try name(behind: "#"))
    case "$": return .variable(try name(behind: "$"))
    case "@": return .summary(try name(behind: "@"))
    case "%": return .argument(try argument())
    default: return .sign(try sign())
    }
  }

  private mutating func word() -> String {
    let start = position
    while let character = current, character.isLetter || character.isNumber || character == "_" {
      position += 1
    }
    return String(characters[start..<position])
  }

  private mutating func name(behind mark: Character) throws(ObjectGraphError) -> String {
    position += 1
    guard let first = current, first.isLetter || first == "_" else {
      throw Self.error(position + 1, "expected a name after \(mark)")
    }
    return word()
  }

  // MARK: Values

  private mutating func number() throws(ObjectGraphError) -> FormatToken.Kind {
    let start = position
    if current == "0", character(1) == "x" || character(1) == "X" {
      position += 2
      let digits = consume { $0.isHexDigit && $0.isASCII }
      guard let value = UInt64(digits, radix: 16) else {
        throw Self.error(start + 1, "expected a hexadecimal number of at most 16 digits")
      }
      return .integer(value)
    }
    var text = consume { $0.isASCIIDigit }
    var isInteger = true
    if current == ".", character(1)?.isASCIIDigit == true {
      isInteger = false
      position += 1
      text += "." + consume { $0.isASCIIDigit }
    }
    if current == "e" || current == "E" {
      let hasSign = character(1) == "-" || character(1) == "+"
      if character(hasSign ? 2 : 1)?.isASCIIDigit == true {
        isInteger = false
        text += String(characters[position...(position + (hasSign ? 1 : 0))])
        position += hasSign ? 2 : 1
        text += consume { $0.isASCIIDigit }
      }
    }
    if isInteger, let value = UInt64(text) { return .integer(value) }
    guard let value = Double(text), !isInteger || value.isFinite else {
      throw Self.error(start + 1, "expected a smaller integer")
    }
    return .number(value)
  }

  private mutating func consume(while belongs: (Character) -> Bool) -> String {
    let start = position
    while let character = current, belongs(character) { position += 1 }
    return String(characters[start..<position])
  }

  private mutating func text(endingWith quote: Character) throws(ObjectGraphError) -> String {
    let start = position
    position += 1
    var text = ""
    while let character = current {
      position += 1
      switch character {
      case quote: return text
      case "\\": text.append(try escaped())
      case "%" where current == "%":
        // Skip the second percent sign, because `%%` always means a single percent sign.
        position += 1
        text.append("%")
      default: text.append(character)
      }
    }
    throw Self.error(
      start + 1,
      "expected \(quote) at the end of the string that starts at this column")
  }

  private mutating func escaped() throws(ObjectGraphError) -> Character {
    let start = position
    guard let character = current else {
      throw Self.error(start, "expected a character after the backslash")
    }
    position += 1
    switch character {
    case "\\", "\"", "'", "*", "?":
      return character
    case "n": return "\n"
    case "t": return "\t"
    case "r": return "\r"
    case "u":
      var digits = ""
      while digits.count < 4, let digit = current, digit.isHexDigit, digit.isASCII {
        digits.append(digit)
        position += 1
      }
      guard digits.count == 4, let value = UInt32(digits, radix: 16),
        let scalar = Unicode.Scalar(value)
      else { throw Self.error(start, "expected four hexadecimal digits after \\u") }
      return Character(scalar)
    default: throw Self.error(start, "expected n, t, r, u, a quote, \\, * or ? after the backslash")
    }
  }

  private mutating func argument() throws(ObjectGraphError) -> FormatToken.ArgumentKind {
    let start = position
    position += 1
    // Skip a length modifier (`l` or `ll`), because numeric arguments may have any size.
    var width = 0
    while width < 2, current == "l", character(1).map({ "dilufg".contains($0) }) == true {
      position += 1
      width += 1
    }
    let kind: FormatToken.ArgumentKind
    switch current {
    case "@" where width == 0: kind = .value
    case "K" where width == 0: kind = .path
    case "d", "i", "u": kind = .integer
    case "f", "g": kind = .number
    default: throw Self.error(start + 1, "expected %@, %K, %d, %i, %u, %f or %g")
    }
    position += 1
    return kind
  }

  private static let signs: Set<String> = [
    "==", "=<", "=>", "!=", "<>", "<=", ">=", "&&", "||", "**", "=", "<", ">", "!", "+", "-", "*",
    "/", "(", ")", "{", "}", "[", "]", ",", ".",
  ]

  private mutating func sign() throws(ObjectGraphError) -> String {
    for count in [2, 1] where position + count <= characters.count {
      let sign = String(characters[position..<position + count])
      guard Self.signs.contains(sign) else { continue }
      position += count
      return sign
    }
    throw Self.error(
      position + 1, "expected an operator, a name or a value, but found \"\(characters[position])\""
    )
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
