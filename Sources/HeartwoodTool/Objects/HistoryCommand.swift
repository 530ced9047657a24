import Foundation
import Heartwood

/// The `history` command, which lists the transactions in the history.
enum HistoryCommand {
  private struct Document: Encodable {
    let number: Int64
    let time: String
    let author: String?
    let contextName: String?
    let processID: Int32
    let changes: [Change]
  }

  private struct Change: Encodable {
    let id: String
    let operation: String
    let properties: [String]?
    let tombstone: [String: String]?

    init(_ change: PersistentHistoryChange) {
      id = change.objectID.shortText
      operation = change.kind.operation
      if case .update(let properties) = change.kind {
        self.properties = properties.sorted()
      } else {
        properties = nil
      }
      if case .delete(let tombstone) = change.kind, !tombstone.isEmpty {
        self.tombstone = tombstone
      } else {
        tombstone = nil
      }
    }
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    try ObjectAccess.withObjects(invocation) { objects, _ in
      let transactions = try transactions(objects, invocation)
      if invocation.has(.jsonLines) {
        for transaction in transactions {
          try output.line(try JSONText.line(of: document(transaction)))
        }
      } else if invocation.wantsJSON {
        try output.json(transactions.map(document))
      } else {
        try write(transactions, output)
      }
      try output.flush()
    }
  }

  /// Returns the transactions selected on the command line, oldest first.
  private static func transactions(
    _ objects: StoredObjects, _ invocation: Invocation
  ) throws -> [StoredObjects.Transaction] {
    let first = try invocation[.after].map { try number($0) }
    func transactions(after number: Int64?) throws -> [StoredObjects.Transaction] {
      var found = try objects.history(after: number)
      if let author = invocation[.author] { found.removeAll { $0.content.author != author } }
      return found
    }
    guard let limit = invocation.limit else { return try transactions(after: first) }
    // Read only the end of the history. Double the number of transactions to read until enough
    // matching transactions are found.
    let (deleted, newest) = try objects.historyBounds()
    var count = Int64(limit)
    // If deleted transactions are requested, skip the loop. Reading them below then throws an
    // error.
    let start = first ?? deleted
    while start >= deleted, newest - count > start {
      let found = try transactions(after: newest - count)
      if found.count >= limit { return found.suffix(limit) }
      count = count > newest / 2 ? newest : max(1, 2 * count)
    }
    return try transactions(after: first).suffix(limit)
  }

  /// Parses a transaction number that is given on the command line.
  static func number(_ text: String) throws(ToolFailure) -> Int64 {
    if let number = Int64(text), number >= 0 { return number }
    throw .usage(
      "--after \(text) is invalid. Use a transaction number listed by 'heartwoodctl history'.")
  }

  private static func document(_ transaction: StoredObjects.Transaction) -> Document {
    let content = transaction.content
    return Document(
      number: transaction.number, time: TimeText.text(content.timestamp), author: content.author,
      contextName: content.contextName, processID: content.processID,
      changes: content.changes.map(Change.init))
  }

  private static func write(
    _ transactions: [StoredObjects.Transaction], _ output: Output
  ) throws {
    guard !transactions.isEmpty else { return try output.line("no transactions") }
    var table = TextTable([
      "number": .right, "time": .left, "author": .left, "process": .right, "changes": .left,
    ])
    for transaction in transactions {
      let content = transaction.content
      table.append([
        "\(transaction.number)", TimeText.text(content.timestamp),
        QuotedText.escaped(content.author ?? "-"), "\(content.processID)",
        summary(content.changes),
      ])
    }
    try output.line(table.text())
  }

  /// Returns the numbers of inserted, updated and deleted objects of each entity, such as "Order +3
  /// ~1, Team -1".
  static func summary(_ changes: [PersistentHistoryChange]) -> String {
    var counts: [String: [String: Int]] = [:]
    for change in changes {
      let name = change.objectID.entityName ?? "?"
      counts[name, default: [:]][change.kind.operation, default: 0] += 1
    }
    return counts.sorted { $0.key < $1.key }.map { name, kinds in
      let words = [("inserted", "+"), ("updated", "~"), ("deleted", "-")].compactMap { kind, sign in
        kinds[kind].map { sign + HumanText.count($0) }
      }
      return "\(QuotedText.escaped(name)) \(words.joined(separator: " "))"
    }.joined(separator: ", ")
  }
}

extension PersistentHistoryChange.Kind {
  /// The kind of change as a word.
  var operation: String {
    switch self {
    case .insert: "inserted"
    case .update: "updated"
    case .delete: "deleted"
    }
  }
}
