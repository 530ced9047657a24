import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("History consumers")
struct HistoryConsumerTests {
  private let fixture: GraphFixture
  private let container: PersistentContainer
  private let tokens: [PersistentHistoryToken]

  init() throws {
    fixture = try GraphFixture()
    container = fixture.container
    for name in ["Ada", "Bob", "Cid", "Dan"] { try fixture.person(name) }
    tokens = try container.fetchHistory(after: nil).map(\.token)
  }

  private func left() throws -> [PersistentHistoryToken] {
    try container.fetchHistory(after: nil).map(\.token)
  }

  @Test(.evidence("H-08"))
  func `a registered consumer keeps its position until it registers a new one`() throws {
    #expect(try container.historyConsumers.isEmpty)
    try container.registerHistoryConsumer("search")
    #expect(try container.fetchHistory(after: container.historyConsumers["search"]).count == 4)
    try container.registerHistoryConsumer("search", at: tokens[1])
    let before = try container.store.snapshot().generation
    try container.registerHistoryConsumer("search")
    try container.registerHistoryConsumer("search", at: tokens[1])
    #expect(try container.store.snapshot().generation == before)
    #expect(try container.historyConsumers == ["search": tokens[1]])
    try container.registerHistoryConsumer("sync", at: tokens[3])
    #expect(try container.historyConsumers == ["search": tokens[1], "sync": tokens[3]])
    try container.removeHistoryConsumer("search")
    try container.removeHistoryConsumer("search")
    #expect(try container.historyConsumers == ["sync": tokens[3]])
    let foreign = try GraphFixture().container
    #expect(throws: StorageError.self) {
      try foreign.registerHistoryConsumer("sync", at: tokens[0])
    }
    #expect(throws: StorageError.self) {
      try container.registerHistoryConsumer(String(repeating: "x", count: 5000))
    }
  }

  @Test(.evidence("H-08"))
  func `a consumer prevents deletion of transactions that it has not processed`() throws {
    try container.registerHistoryConsumer("search")
    try container.deleteHistory(before: tokens[3])
    #expect(try left() == tokens)
    try container.registerHistoryConsumer("search", at: tokens[1])
    try container.registerHistoryConsumer("sync", at: tokens[2])
    try container.deleteHistory(before: tokens[3])
    #expect(try left() == Array(tokens[2...]))
    try container.deleteHistory(before: .distantFuture)
    #expect(try left() == Array(tokens[2...]))
    try container.deleteHistory(before: tokens[2], force: true)
    #expect(try left() == [tokens[3]])
    let search = try #require(try container.historyConsumers["search"])
    let error = #expect(throws: ObjectGraphError.self) {
      try container.fetchHistory(after: search)
    }
    #expect(error?.kind == .historyExpired)
    #expect(throws: ObjectGraphError.self) {
      try container.registerHistoryConsumer("search", at: tokens[0])
    }
    // The consumer `search` no longer prevents deletion, because its history was force-deleted.
    try container.registerHistoryConsumer("sync", at: tokens[3])
    try container.deleteHistory(before: tokens[3])
    #expect(try left().isEmpty)
    try container.registerHistoryConsumer("search", at: tokens[3])
    try fixture.person("Eve")
    try container.deleteHistory(before: .distantFuture)
    #expect(try left().count == 1)
  }

  @Test(.evidence("H-08")) func `consumers are shared by all processes`() throws {
    let scratch = try ScratchDirectory()
    let url = URL(filePath: scratch.path(of: "store"))
    do {
      let container = try PersistentContainer(url: url, schema: people)
      try container.registerHistoryConsumer("search")
      try container.store.close()
    }
    let container = try PersistentContainer(url: url, schema: people)
    #expect(try container.historyConsumers.keys.sorted() == ["search"])
    let context = container.newContext()
    Person(context: context).name = "Ada"
    try context.save()
    try container.deleteHistory(before: .distantFuture)
    #expect(try container.fetchHistory(after: nil).count == 1)
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("H-09")) func `history can be fetched and deleted by date`() throws {
    let all = try container.fetchHistory(after: nil)
    #expect(try container.fetchHistory(after: Date.distantPast).count == 4)
    #expect(try container.fetchHistory(after: all[3].timestamp).isEmpty)
    try container.deleteHistory(before: all[0].timestamp)
    #expect(try left() == tokens)
    while Date.now <= all[3].timestamp {}
    let after = Date.now
    try fixture.person("Eve")
    try container.deleteHistory(before: after)
    let rest = try container.fetchHistory(after: nil)
    #expect(rest.count == 1 && rest[0].timestamp >= after)
    #expect(try container.fetchHistory(after: tokens[3]).count == 1)
    #expect(throws: ObjectGraphError.self) { try container.fetchHistory(after: tokens[2]) }
    #expect(try container.fetchHistory(after: after).count == 1)
  }

  @Test(.evidence("H-02")) func `moving an object is an update of both owners`() throws {
    let context = fixture.context()
    let people = try context.fetch(FetchRequest<Person>(sort: [SortDescriptor(\.name)], limit: 2))
    let car = Car(context: context)
    car.owner = people[0]
    try context.save()
    car.owner = people[1]
    try context.save()
    let last = try #require(try container.fetchHistory(after: nil).last)
    #expect(Set(last.changes.map(\.objectID)) == Set(people.map(\.objectID) + [car.objectID]))
  }
}
