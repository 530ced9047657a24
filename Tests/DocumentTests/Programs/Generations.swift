import Foundation
import Heartwood

final class Quake: ManagedObject {
  @Attribute var code: String = ""
  @Attribute var kind: String = ""
  @ToMany(inverse: \Comment.quake) var comments: Set<Comment>
}

final class Comment: ManagedObject {
  @ToOne var quake: Quake?
}

func pin(_ container: PersistentContainer, _ request: FetchRequest<Quake>) async throws {
  let view = container.newContext()
  try view.setQueryGenerationFrom(.current)  // takes effect at the next read
  let strong = try view.fetch(request)  // chooses a generation, such as 7
  // other contexts insert, change and delete
  let again = try view.fetch(request)  // the same result
  print(strong[0].comments.count)  // faults read generation 7 too, even for rows deleted since

  let token = view.queryGenerationToken
  let report = try await container.performBackgroundTask(pinnedTo: token) { context in
    try context.aggregate(FetchRequest<Quake>(), by: \.kind, .count)
  }

  _ = (again, report)
}

@MainActor func goOn(
  _ container: PersistentContainer, feed: [(code: String, kind: String)],
  _ start: PersistentHistoryToken?
) async throws {
  var lastToken = start

  let view = container.viewContext
  try view.setQueryGenerationFrom(.current)
  try await container.newBackgroundContext().perform { context in
    context.transactionAuthor = "import"
    context.mergePolicy = .mergeByPropertyObjectTrump
    var rows = feed.makeIterator()
    let insertion = BatchInsertRequest<Quake> { row in
      guard let next = rows.next() else { return true }
      (row[\.code], row[\.kind]) = (next.code, next.kind)
      return false
    }
    try context.execute(insertion)
  }
  for transaction in try container.fetchHistory(after: lastToken) {
    try view.mergeChanges(from: transaction)
    lastToken = transaction.token
  }
}

func keep(
  _ container: PersistentContainer, _ token: QueryGenerationToken, _ id: ManagedObjectID,
  _ yesterday: Date
) throws {
  // Keeps the generation across restarts, under this name.
  try container.keepGeneration(token, as: "before the import")
  if let kept = try container.keptGeneration("before the import") {
    let old = try container.newContext(pinnedTo: kept)
    print(try old.count(for: FetchRequest<Quake>()))
  }
  let count = try container.read(at: yesterday) { try $0.count(for: FetchRequest<Quake>()) }
  // Compares pages; needs no history.
  let changes = try container.changes(from: token, to: .current)
  let versions = try container.versions(of: id, from: token, to: .current)
  // Commits one new generation, equal to the old one.
  try container.revert(to: token, author: "undo")

  _ = (count, changes, versions)
}
