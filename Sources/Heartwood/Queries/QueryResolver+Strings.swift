/// Methods that resolve operations on strings.
extension QueryResolver {
  func text(
    _ subject: QueryTerm, _ test: StringOperator, _ pattern: QueryTerm, _ options: StringDifferences
  ) throws -> QueryTerm {
    // Handle arrays, because `CONTAINS` in format strings also tests whether an array contains an
    // element.
    if case .contains = test, case .array = subject.type {
      return try membership(pattern, subject, options)
    }
    for term in [subject, pattern] where !term.type.isText {
      throw Self.unsupported(
        "The predicate applies a string operator to \(term.phrase). Use strings for both operands.")
    }
    let value = try value(subject, as: .text)
    let name = "\(subject.name) and its text"
    func term(_ test: @escaping (String) -> Bool) -> QueryTerm {
      QueryTerm(name) { scope in
        guard case .string(let text) = try value(scope) else { return false }
        return test(text)
      }
    }
    switch test {
    case .matches, .containsMatch:
      let search = try regularExpression(pattern, options)
      let folding = options.subtracting(.case)
      let matchesEntireString = if case .matches = test { true } else { false }
      return term { text in
        let text = text.folded(folding)
        return
          (try? matchesEntireString ? search.wholeMatch(in: text) : search.firstMatch(in: text))
          != nil
      }
    case .contains, .begins, .ends, .like: break
    }
    if case .string(let wanted) = pattern.constant {
      let folded = wanted.folded(options)
      var result: QueryTerm
      var prefix: String?
      if case .like = test {
        let wildcards = Wildcards(folded)
        result = term { wildcards.match($0.folded(options)) }
        prefix = wildcards.prefix
      } else {
        let pattern = TextPattern(wanted, test, options)
        if subject.property?.fieldStorageType == .string, let property = subject.property {
          let location = PropertyLocation(property)
          result = QueryTerm(name) { try $0.own(location, matches: pattern) }
        } else {
          result = term(pattern.matches)
        }
        if case .begins = test { prefix = folded }
      }
      if options.isEmpty {
        result.demands = prefix.flatMap { QueryDemand(subject, prefix: $0) }.map { [$0] } ?? []
      }
      return result
    }
    let wanted = try self.value(pattern, as: .text)
    return QueryTerm(name) { scope in
      guard case .string(let text) = try value(scope),
        case .string(let pattern) = try wanted(scope)
      else { return false }
      return TextPattern(pattern, test, options).matches(text)
    }
  }

  private func regularExpression(
    _ pattern: QueryTerm, _ options: StringDifferences
  ) throws -> Regex<AnyRegexOutput> {
    guard case .string(let text) = pattern.constant else {
      throw Self.unsupported(
        "A regular expression must be a constant string, but \(pattern.name) is not. Write the "
          + "expression directly in the predicate, or pass it as an argument.")
    }
    do {
      let regex = try Regex(text.folded(options.subtracting(.case)))
      return options.contains(.case) ? regex.ignoresCase() : regex
    } catch {
      throw Self.unsupported(
        "\"\(text)\" is not a valid regular expression: \(error)")
    }
  }

  func length(_ text: QueryTerm) throws -> QueryTerm {
    let value = try value(text, as: .text)
    return QueryTerm("\(text.name).count", .integer) { scope in
      guard case .string(let text) = try value(scope) else { return .null }
      return .integer(Int64(text.count))
    }
  }
}

extension StringOperator {
  /// Returns whether `text` contains, begins with, ends with or is like `wanted`, depending on the
  /// operator.
  ///
  /// For the operators that use regular expressions, the result is always `false`.
  func holds(_ text: String, _ wanted: String) -> Bool {
    switch self {
    // Compare strings character by character, so that a match never begins or ends within a
    // character. Therefore, this file must not import Foundation, whose `contains` compares Unicode
    // scalars instead. Every string contains the empty string.
    case .contains: wanted.isEmpty || text.contains(wanted)
    case .begins: text.hasPrefix(wanted)
    case .ends: text.hasSuffix(wanted)
    case .like: Wildcards(wanted).match(text)
    case .matches, .containsMatch: false
    }
  }
}

/// A pattern in which `*` matches any number of characters and `?` matches one character.
///
/// A backslash makes the following `*` or `?` literal.
struct Wildcards {
  private enum Element: Equatable {
    case character(Character)
    case one
    case many
  }

  private var elements: [Element] = []

  init(_ text: String) {
    var isEscaped = false
    for character in text {
      switch character {
      case "\\" where !isEscaped:
        isEscaped = true
        continue
      case "*" where !isEscaped: elements.append(.many)
      case "?" where !isEscaped: elements.append(.one)
      default: elements.append(.character(character))
      }
      isEscaped = false
    }
    if isEscaped { elements.append(.character("\\")) }
  }

  /// The characters before the first wildcard.
  ///
  /// Every matching string starts with these characters.
  var prefix: String {
    var result = ""
    for case .character(let character) in elements.prefix(while: { $0 != .one && $0 != .many }) {
      result.append(character)
    }
    return result
  }

  /// Returns whether a string matches the pattern.
  ///
  /// - Complexity: O(m · n) for m characters in the string and n elements in the pattern.
  func match(_ text: String) -> Bool {
    var (element, position) = (0, text.startIndex)
    // Resume from this state if the text after the last `*` does not match.
    var retry: (element: Int, position: String.Index)?
    while position < text.endIndex {
      if element < elements.count, elements[element] == .many {
        retry = (element + 1, position)
        element += 1
      } else if element < elements.count,
        elements[element] == .one || elements[element] == .character(text[position])
      {
        element += 1
        position = text.index(after: position)
      } else if let last = retry {
        let next = text.index(after: last.position)
        retry = (last.element, next)
        (element, position) = (last.element, next)
      } else {
        return false
      }
    }
    return elements[element...].allSatisfy { $0 == .many }
  }
}
