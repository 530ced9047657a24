import Foundation
import Heartwood

/// The `quakes search` command, which finds quakes by words in their place descriptions.
struct SearchCommand: Command {
  static let name = "search"
  static let summary = "find quakes by words in their places"
  static let help = """
    quakes search: \(summary), most relevant first.

    Usage: quakes search TEXT [options]
    Example: quakes search "km ne of ridge*"

    All words of TEXT must occur. Words in quotation marks must occur as a phrase.
    ridg* finds words that begin with ridg, and rigde~ finds similar words. OR, NOT
    and parentheses combine words.

      --limit N             only the first N (default: 20)
      --json                print a JSON document
    """

  private let query: TextQuery
  private let limit: Int
  private let wantsJSON: Bool

  init(_ arguments: inout Arguments) throws {
    limit =
      try arguments.value(of: "--limit", "a positive number, such as 20") { text in
        Int(text).flatMap { $0 > 0 ? $0 : nil }
      } ?? 20
    wantsJSON = arguments.flag("--json")
    var words: [String] = []
    while let word = arguments.operand() { words.append(word) }
    guard !words.isEmpty else {
      throw CommandError.usage(
        "Missing argument TEXT. Example: quakes search \"km ne of\"")
    }
    query = TextQuery(userInput: words.joined(separator: " "))
  }

  func run(in store: QuakeStore) throws {
    let container = try store.openForReading()
    // Pin the context, so that the list and the count agree even during an import.
    let context = try container.newContext(pinnedTo: .current)
    try context.performAndWait {
      let request = FetchRequest<Quake>(matching: query, limit: limit)
      let found = try context.fetch(request)
      if wantsJSON { return try printJSON(found.map { ListedQuake($0, nil) }) }
      if !found.isEmpty { print(ListCommand.table(found.map { ($0, nil) }).text + "\n") }
      let all = try context.count(for: FetchRequest<Quake>(matching: query))
      print("\(found.count.grouped) of \(all.quakes) found")
    }
  }
}
