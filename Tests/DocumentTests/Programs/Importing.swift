import Foundation
import Heartwood

final class Network: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute var title: String = ""
}

final class Quake: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute var magnitude: Double = 0
  @Attribute var place: String? = nil
  @Attribute var time: Date = .distantPast
  @ToOne var network: Network?
}

func importFeed(_ file: URL, into context: ManagedObjectContext) throws {
  var options = ImportOptions()
  options.elements = "features"
  options.keys = [
    "code": "id", "magnitude": "properties.mag", "place": "properties.place",
    "time": "properties.time", "network": "properties.net",
  ]
  options.dateDecodingStrategy = .millisecondsSince1970
  let report = try context.upsert(Quake.self, matching: \.code, contentsOf: file, options)
  print("\(report.insertedCount) new, \(report.updatedCount) changed")
}

func exportQuakes(to file: URL, from context: ManagedObjectContext) throws {
  let request = FetchRequest<Quake>(where: #Predicate { $0.magnitude >= 4.5 })
  try context.export(request, as: .csv, to: file)
}

struct QuakeRow: Codable, Sendable {
  struct NetworkRow: Codable, Sendable { let title: String }
  let code: String
  let magnitude: Double?
  let network: NetworkRow?
}

func answer(_ context: ManagedObjectContext) throws -> Data {
  let request = FetchRequest<Quake>(sort: [SortDescriptor(\.time, order: .reverse)], limit: 20)
  return try JSONEncoder().encode(try context.fetch(request, as: QuakeRow.self))
}

@main
struct Program {
  static func main() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(Quake.self, Network.self))
    let context = container.newContext()
    let file = URL.temporaryDirectory.appending(path: "importing-\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: file) }
    let text = """
      {"features": [
        {"id": "a", "properties": {"mag": 4.5, "time": 0, "net": {"code": "us", "title": "USGS"}}},
        {"id": "b", "properties": {"mag": 5, "time": 1000, "net": "us", "place": "Here, there"}}]}
      """
    try Data(text.utf8).write(to: file)
    try importFeed(file, into: context)
    print(String(decoding: try answer(context), as: UTF8.self))
    try exportQuakes(to: file, from: context)
    print(try String(contentsOf: file, encoding: .utf8))
  }
}
