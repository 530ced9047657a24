/// A type or function that is declared in a source.
struct Declaration: Equatable {
  enum Kind {
    case type
    case function
  }

  let kind: Kind
  let name: String
  /// The line of the keyword that introduces the declaration.
  let line: Int
  /// The number of lines from the keyword to the closing brace, or 0 if there is no body.
  let lineCount: Int
  /// A Boolean value that indicates whether the declaration is outside all braces.
  let isTopLevel: Bool
}

extension SwiftSource {
  private static let typeWords: Set<String> = [
    "class", "struct", "enum", "protocol", "actor", "typealias",
  ]
  private static let functionWords: Set<String> = ["func", "init", "deinit", "subscript"]
  /// The words after which `class` is only a modifier and does not declare a type.
  private static let memberWords: Set<String> = ["func", "var", "let", "subscript"]

  /// All types and functions that are declared in this source, including nested ones.
  var declarations: [Declaration] {
    var result: [Declaration] = []
    var depth = 0
    for (position, token) in tokens.enumerated() {
      if token.text == "{" { depth += 1 }
      if token.text == "}" { depth -= 1 }
      let kind: Declaration.Kind
      if Self.typeWords.contains(token.text) {
        kind = .type
      } else if Self.functionWords.contains(token.text) {
        kind = .function
      } else {
        continue
      }
      guard isKeyword(position), let name = name(after: position, kind) else { continue }
      let end = kind == .function ? endOfBody(after: position) : nil
      result.append(
        Declaration(
          kind: kind, name: name, line: token.line,
          lineCount: end.map { $0 - token.line + 1 } ?? 0, isTopLevel: depth == 0))
    }
    return result
  }

  /// Returns whether a token is used as a keyword and not as a member name or an argument label.
  private func isKeyword(_ position: Int) -> Bool {
    if position > 0, [".", "("].contains(tokens[position - 1].text) { return false }
    if position > 0, tokens[position].text == "init", tokens[position - 1].text == ":" {
      return false
    }
    return position + 1 >= tokens.count || tokens[position + 1].text != ":"
  }

  private func name(after position: Int, _ kind: Declaration.Kind) -> String? {
    guard kind == .type || tokens[position].text == "func" else { return tokens[position].text }
    guard position + 1 < tokens.count else { return nil }
    let next = tokens[position + 1].text
    return kind == .type && Self.memberWords.contains(next) ? nil : next
  }

  /// Returns the line of the closing brace of a function, or `nil` if the function has no body.
  private func endOfBody(after position: Int) -> Int? {
    var next = position + 1
    var open = 0
    while next < tokens.count {
      switch tokens[next].text {
      case "(", "[": open += 1
      case ")", "]": open -= 1
      case "{" where open == 0: return lineOfClosingBrace(from: next)
      case "}" where open == 0: return nil
      case "func", "init", "var", "let", "case", "associatedtype":
        // This token begins a protocol's next requirement, so the previous function has no body.
        if open == 0, tokens[next - 1].text != "." { return nil }
      default: break
      }
      next += 1
    }
    return nil
  }

  private func lineOfClosingBrace(from position: Int) -> Int? {
    var depth = 0
    for token in tokens[position...] {
      if token.text == "{" { depth += 1 }
      if token.text == "}" { depth -= 1 }
      if depth == 0 { return token.line }
    }
    return nil
  }
}
