import Foundation
import Heartwood

final class Quake: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute var magnitude: Double? = nil
  @Attribute var place: String = ""
  @Attribute(.indexed) var time: Date = .distantPast
}

func openQuakes() throws -> PersistentContainer {
  try PersistentContainer(url: URL(filePath: "quakes.store"), schema: Schema(Quake.self))
}

struct Feed: Decodable, Sendable {
  struct Feature: Decodable, Sendable {
    struct Properties: Decodable, Sendable {
      let mag: Double?
      let place: String?
      let time: Double  // milliseconds since 1970
    }
    let id: String
    let properties: Properties
  }
  let features: [Feature]

  init(contentsOf path: String) throws {
    let content = try Data(contentsOf: URL(filePath: path))
    self = try JSONDecoder().decode(Feed.self, from: content)
  }
}

func importFeed(_ path: String, into container: PersistentContainer) async throws {
  let feed = try Feed(contentsOf: path)
  let background = container.newBackgroundContext()
  try await background.perform { context in
    context.transactionAuthor = path
    context.mergePolicy = .mergeByPropertyObjectTrump
    for feature in feed.features {
      let quake = Quake(context: context)
      quake.code = feature.id
      quake.magnitude = feature.properties.mag
      quake.place = feature.properties.place ?? ""
      quake.time = Date(timeIntervalSince1970: feature.properties.time / 1000)
    }
    try context.save()
  }
}

func show(_ context: ManagedObjectContext) throws {
  let floor = 4.5
  let strong = FetchRequest<Quake>(
    where: #Predicate { ($0.magnitude ?? 0) >= floor },
    sort: [SortDescriptor(\.time, order: .reverse)], limit: 10)
  for quake in try context.fetch(strong) {
    print("  \(quake.time.formatted(.iso8601))  \(quake.magnitude ?? 0)  \(quake.place)")
  }
  print("  \(try context.count(for: strong)) of \(try context.count(for: FetchRequest<Quake>()))")
}

func watch(_ container: PersistentContainer) throws {
  let view = container.newContext()
  try view.setQueryGenerationFrom(.current)
  var position = try container.currentHistoryToken
  print("The view is pinned:")
  try show(view)
  print("Import something elsewhere, then press return.")
  fflush(nil)  // show the output at once, even through a pipe

  while readLine() != nil {
    print("The view is unchanged:")
    try show(view)
    for transaction in try container.fetchHistory(after: position) {
      try view.mergeChanges(from: transaction)
      position = transaction.token
      print("Merged \(transaction.changes.count) quakes from \(transaction.author ?? "unknown").")
    }
    try show(view)
    fflush(nil)
  }
}

@main struct Tremors {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    let container = try openQuakes()
    switch (arguments.first, arguments.dropFirst().first) {
    case ("import", let path?): try await importFeed(path, into: container)
    case ("list", nil): try show(container.newContext())
    case ("watch", nil): try watch(container)
    default: print("Usage: tremors import FILE | list | watch")
    }
  }
}
