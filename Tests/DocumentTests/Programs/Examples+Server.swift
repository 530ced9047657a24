import Foundation
import Heartwood

final class Station: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute var city: String = ""
  @ToMany(inverse: \Reading.station) var readings: Set<Reading>
}

final class Reading: ManagedObject {
  @Attribute(.unique) var id: Int = 0
  @Attribute(.indexed) var time: Date = .distantPast
  @Attribute var degrees: Double = 0
  @ToOne var station: Station?
}

/// A response of the server, which contains only values that can leave the context.
struct Answer: Codable, Sendable {
  struct Place: Codable, Sendable { let city: String }
  let id: Int
  let degrees: Double
  let station: Place?
}

/// Writes the observations that a feed sends.
actor Ingest {
  private let executor = ContextExecutor()
  private let context: ManagedObjectContext
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ container: PersistentContainer) {
    context = container.newContext()
    context.transactionAuthor = "feed"
  }

  func receive(_ lines: AsyncStream<Data>) async throws -> ImportReport {
    var options = ImportOptions()
    options.dateDecodingStrategy = .secondsSince1970
    options.invalidElements = .skip
    return try await context.upsert(Reading.self, matching: \.id, from: lines, options)
  }
}

/// Answers queries, each of which reads a single generation.
struct Queries: Sendable {
  let container: PersistentContainer

  func warmest(_ count: Int) throws -> [Answer] {
    let sort = [SortDescriptor(\Reading.degrees, order: .reverse)]
    return try container.read(at: .current) { context in
      try context.fetch(FetchRequest<Reading>(sort: sort, limit: count), as: Answer.self)
    }
  }

  func count(city: String) throws -> Int {
    try container.read(at: .current) { context in
      try context.count(
        for: FetchRequest<Reading>(where: #Predicate { $0.station?.city == city }))
    }
  }
}

@main struct Server {
  static func main() async throws {
    let container = try PersistentContainer(
      url: URL(filePath: "readings"), schema: Schema(Reading.self))
    let (ingest, queries) = (Ingest(container), Queries(container: container))
    let (lines, feed) = AsyncStream<Data>.makeStream()
    for id in 0..<50 {
      let station = #"{"code": "s\#(id % 2)", "city": "\#(id % 2 == 0 ? "Oslo" : "Rome")"}"#
      let text = #"{"id": \#(id), "time": \#(id), "degrees": \#(id % 30), "station": \#(station)}"#
      feed.yield(Data((text + "\n").utf8))
    }
    feed.yield(Data(#"{"id": 51, "degrees": "warm"}"#.utf8))
    feed.finish()
    let report = try await ingest.receive(lines)
    print(report.insertedCount, report.refusals.map(\.path))
    async let oslo = queries.count(city: "Oslo")
    async let rome = queries.count(city: "Rome")
    print(try await oslo, try await rome)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    print(String(decoding: try encoder.encode(queries.warmest(2)), as: UTF8.self))
  }
}
