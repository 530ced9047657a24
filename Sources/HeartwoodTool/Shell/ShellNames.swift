import Heartwood

/// The words that the shell can complete.
struct ShellNames {
  private var properties: [String: [String]] = [:]

  private static let keywords = [
    "AND", "OR", "NOT", "BEGINSWITH", "BETWEEN", "CONTAINS", "ENDSWITH", "IN", "LIKE", "MATCHES",
    "ANY", "ALL", "NONE", "nil", "true", "false",
  ]

  init() {}

  init(_ entities: [EntityFacts]) {
    for entity in entities {
      properties[entity.name] =
        entity.attributes.map(\.name) + entity.relationships.map(\.name)
    }
  }

  /// Returns the possible completions of a line's last word, in alphabetical order.
  func completions(of line: String) -> [String] {
    let separators = " '\"(,=<>.&|!"
    let last =
      line.lastIndex { separators.contains($0) }.map { line[line.index(after: $0)...] }
      ?? line[...]
    let before = line.dropLast(last.count)
    let words = before.split(separator: " ").map(String.init)
    return candidates(after: words, last).filter { $0.hasPrefix(last) && $0 != last }.sorted()
  }

  private func candidates(after words: [String], _ last: Substring) -> [String] {
    guard let first = words.first else {
      return Command.allCases.filter(\.isInShell).map(\.rawValue)
        + ["pin", "advance", ".help", ".quit"]
    }
    if last.hasPrefix("-") { return Command(rawValue: first)?.flags.map(\.rawValue) ?? [] }
    guard words.count > 1 else { return Array(properties.keys) }
    return (properties[words[1]] ?? properties.values.flatMap { $0 }) + Self.keywords
  }
}
