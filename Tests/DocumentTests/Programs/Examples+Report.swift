import Foundation
import Heartwood

final class Expense: ManagedObject {
  @Attribute(.unique) var id: Int = 0
  @Attribute(.indexed) var day: String = ""
  @Attribute var purpose: String = ""
  @Attribute var amount: Decimal = 0
}

/// The commands of the tool.
struct Report {
  let context: ManagedObjectContext

  init(_ url: URL) throws {
    let container = try PersistentContainer(url: url, schema: Schema(Expense.self))
    context = container.newContext()
  }

  func importFile(_ file: URL) throws {
    let report = try context.upsert(Expense.self, matching: \.id, contentsOf: file)
    print("\(report.insertedCount) new, \(report.updatedCount) changed")
  }

  func show(_ purpose: String?) throws {
    var request = FetchRequest<Expense>()
    if let purpose {
      request.predicate = QueryPredicate(\.purpose, .begins(with: purpose), ignoring: .case)
    }
    let groups: [AggregateGroup<String, (Int, Decimal)>] =
      try context.aggregate(request, by: \.purpose, .count, .sum(\.amount))
    for group in groups {
      let (count, sum) = group.values
      print(group.key.padding(toLength: 10, withPad: " ", startingAt: 0), count, sum)
    }
  }

  func export(_ file: URL) throws {
    let request = FetchRequest<Expense>(sort: [SortDescriptor(\.day), SortDescriptor(\.id)])
    let count = try context.export(request, as: .csv, to: file)
    print("\(count) expenses exported")
  }

  func run(_ arguments: [String]) throws {
    switch (arguments.first, arguments.dropFirst().first) {
    case ("import", let file?): try importFile(URL(filePath: file))
    case ("show", let purpose): try show(purpose)
    case ("export", let file?): try export(URL(filePath: file))
    default: print("usage: report import FILE | show [PURPOSE] | export FILE")
    }
  }
}

@main struct Program {
  static func main() throws {
    let expenses = """
      [{"id": 1, "day": "2026-11-02", "purpose": "Travel", "amount": 120.5},
       {"id": 2, "day": "2026-11-01", "purpose": "Food", "amount": 8.9},
       {"id": 3, "day": "2026-11-03", "purpose": "Travel", "amount": 30}]
      """
    try Data(expenses.utf8).write(to: URL(filePath: "expenses.json"))
    let report = try Report(URL(filePath: "expenses"))
    for line in ["import expenses.json", "show", "show trav", "export expenses.csv", "help"] {
      try report.run(line.split(separator: " ").map(String.init))
    }
    print(try String(contentsOf: URL(filePath: "expenses.csv"), encoding: .utf8).count)
  }
}
