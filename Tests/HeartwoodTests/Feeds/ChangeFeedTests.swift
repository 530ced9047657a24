import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("A change feed")
struct ChangeFeedTests {
  private let fixture: GraphFixture
  private let container: PersistentContainer

  init() throws {
    fixture = try GraphFixture()
    container = fixture.container
  }

  @Test(.mustEnd, .evidence("CF-01"))
  func `a feed contains each change of the history in its order`() async throws {
    try fixture.fill()
    let events = try await container.changeFeed(from: .oldestTransaction).all(of: container)
    let history = try container.fetchHistory(after: nil)
    let changes = history.enumerated().flatMap { number, transaction in
      transaction.changes.enumerated().map { (number, transaction, $0.offset, $0.element) }
    }
    #expect(events.count == changes.count && events.count > 8)
    for (event, (number, transaction, index, change)) in zip(events, changes) {
      switch change.kind {
      case .insert: #expect(event.operation == .inserted)
      case .update(let names):
        #expect(event.operation == .updated && event.changedProperties == names)
      case .delete: #expect(event.operation == .deleted && event.after == nil)
      }
      #expect(event.objectID == change.objectID)
      #expect(event.entityName == change.objectID.entityName)
      #expect(
        event.author == "ada"
          && (0..<0.0011).contains(transaction.timestamp.timeIntervalSince(event.time)))
      #expect(event.transaction == Int64(number + 1) && event.index == index)
      #expect(event.isLast == (index == transaction.changes.count - 1))
    }
    // The history keeps the key of a deleted object.
    let keys = events.filter { $0.entityName == "Person" && $0.operation != .updated }
    #expect(keys.map(\.key?.value) == [nil, .string("Bob"), .string("Ada")])
  }

  @Test(.mustEnd, .evidence("CF-01")) func `an event has the envelope of CloudEvents`() async throws
  {
    try fixture.fill()
    let events = try await container.changeFeed(from: .oldestTransaction).all(of: container)
    let object = try events[0].object
    #expect(object["specversion"] as? String == "1.0")
    #expect(object["id"] as? String == "1-0")
    #expect(object["source"] as? String == events[0].source)
    #expect(events[0].source.hasPrefix("x-heartwood://"))
    #expect(object["type"] as? String == "heartwood.object.inserted")
    #expect(object["datacontenttype"] as? String == "application/json")
    #expect(object["subject"] as? String == "\(events[0].entityName ?? "")/1")
    #expect(try events[0].data["author"] as? String == "ada")
    #expect(try events.map { try $0.data["last"] as? Bool ?? false } == events.map(\.isLast))
    #expect(try events.allSatisfy { try $0.data.keys.contains("after") })
    let bare = try await container.changeFeed(from: .oldestTransaction, values: .none).first(3)
    #expect(try bare.allSatisfy { try !$0.data.keys.contains("after") && $0.after == nil })
  }

  @Test(.mustEnd, .evidence("CF-02")) func `an event has the same ID in every feed`() async throws {
    try fixture.fill()
    let first = try await container.changeFeed(from: .oldestTransaction).all(of: container)
    #expect(Set(first.map(\.id)).count == first.count)
    try fixture.person("Cid")
    let second = try await container.changeFeed(from: .oldestTransaction, values: .both)
      .all(of: container)
    #expect(second.map(\.id).starts(with: first.map(\.id)))
    #expect(second.map(\.objectID).starts(with: first.map(\.objectID)))
    #expect(second.count == first.count + 1)
    let existing = try await container.changeFeed(from: .existingObjects).all(of: container)
    #expect(Set((existing + second).map(\.id)).count == existing.count + second.count)
  }

  @Test(.mustEnd, .evidence("CF-03"))
  func `a feed begins with the existing objects, and continues without a gap`() async throws {
    for number in 0..<600 { try fixture.person("p\(number)") }
    let ids = Set(try fixture.context().fetchObjectIDs(FetchRequest<Person>()))
    var iterator = try container.changeFeed(from: .existingObjects).makeAsyncIterator()
    var seen: [ChangeFeed.Event] = []
    // The feed reads a generation that does not contain the changes made in this loop.
    for number in 0..<300 {
      seen.append(try #require(try await iterator.next()))
      if number % 100 == 7 {
        let id = try #require(seen.last?.objectID)
        try fixture.change(id) { $0.age = 9 }
        try fixture.person("new \(number)")
      }
    }
    while seen.last?.operation == .existing {
      seen.append(try #require(try await iterator.next()))
    }
    #expect(seen.map(\.objectID).dropLast().allSatisfy { $0.map(ids.contains) == true })
    #expect(Set(seen.compactMap(\.objectID)) == ids && seen.count == ids.count + 1)
    #expect(Set(seen.map(\.generation)).count == 1)
    #expect(seen.allSatisfy { $0.after?["age"] == .integer(0) || $0.operation == .complete })
    #expect(seen.last?.operation == .complete && seen.last?.objectID == nil)
    #expect(seen.dropLast().allSatisfy { $0.token == nil } && seen.last?.token != nil)
    var later: [String] = []
    for _ in 0..<6 {
      let event = try #require(try await iterator.next())
      later.append("\(event.operation) \(event.after?["age"] ?? .null)")
    }
    #expect(
      later
        == Array(repeating: ["updated integer(9)", "inserted integer(0)"], count: 3).joined()
        .map { $0 })
  }

  // MARK: Positions

  @Test(.mustEnd, .evidence("CF-04"))
  func `the token of any event continues the feed, or repeats the event's transaction`()
    async throws
  {
    try fixture.fill()
    let events = try await container.changeFeed(from: .oldestTransaction).all(of: container)
    for (position, event) in events.enumerated().dropLast() {
      let token = try #require(event.token)
      let next = try await container.changeFeed(from: .after(token)).first(1)[0]
      let wanted =
        event.isLast
        ? events[position + 1] : events.first { $0.transaction == event.transaction }
      #expect(next.id == wanted?.id, "after \(event.id)")
    }
  }

  @Test(.mustEnd, .evidence("CF-04"))
  func `a consumer continues after the last transaction that it has acknowledged`() async throws {
    try fixture.person("Zoe")
    let feed = try container.changeFeed(consumer: "search")
    #expect(try container.historyConsumers["search"] == container.currentHistoryToken)
    try fixture.fill()
    let events = try await feed.all(of: container)
    for event in events {
      try feed.acknowledge(event)
      let next = try container.changeFeed(from: .oldestTransaction, consumer: "search")
      guard let start = events.first(where: { $0.transaction > event.transaction }) else { break }
      let wanted =
        event.isLast ? start : events.first { $0.transaction == event.transaction }
      #expect(try await next.first(1)[0].id == wanted?.id, "after \(event.id)")
    }
    try feed.acknowledge(events[events.count - 1])
    // Acknowledging an earlier event changes nothing.
    try feed.acknowledge(events[1])
    #expect(try container.historyConsumers["search"] == container.currentHistoryToken)
    #expect(throws: StorageError.self) { try container.changeFeed().acknowledge(events[0]) }
  }

  @Test(.mustEnd, .evidence("CF-04"))
  func `the history keeps all transactions that a consumer has not acknowledged`() async throws {
    try fixture.fill()
    let feed = try container.changeFeed(from: .existingObjects, consumer: "copy")
    let existing = try await feed.all(of: container)
    for event in existing.dropLast() { try feed.acknowledge(event) }
    #expect(try container.historyConsumers.isEmpty)
    try feed.acknowledge(existing[existing.count - 1])
    try fixture.person("Cid")
    try container.deleteHistory(before: .distantFuture)
    let events = try await container.changeFeed(from: .existingObjects, consumer: "copy").first(1)
    #expect(events.map(\.key?.value) == [.string("Cid")])
  }

  // MARK: Values

  @Test(.mustEnd, .evidence("CF-05"))
  func `events contain the values before and after the changes of a generation`() async throws {
    let id = try fixture.person("Ada", age: 1)
    var iterator = try container.changeFeed(values: .both).makeAsyncIterator()
    try fixture.change(id) { $0.age = 2 }
    var event = try #require(try await iterator.next())
    #expect(event.after?["age"] == .integer(2))
    try fixture.change(id) { $0.age = 3 }
    event = try #require(try await iterator.next())
    #expect(event.before?["age"] == .integer(2) && event.after?["age"] == .integer(3))
    // The feed reads both of these transactions in a single generation.
    try fixture.change(id) { $0.age = 4 }
    try fixture.change(id) { $0.age = 5 }
    for _ in 0..<2 {
      event = try #require(try await iterator.next())
      #expect(event.before?["age"] == .integer(3) && event.after?["age"] == .integer(5))
    }
    let bob = try fixture.person("Bob", age: 7, cars: 1)
    event = try #require(try await iterator.next())
    #expect(event.before == nil && event.operation == .inserted)
    #expect(try event.data["before"] is NSNull)
    _ = try await iterator.next()
    try delete(bob)
    var deleted: [String: ChangeFeed.Event] = [:]
    for _ in 0..<2 {
      event = try #require(try await iterator.next())
      deleted[event.entityName ?? ""] = event
    }
    #expect(deleted["Person"]?.before?["age"] == .integer(7))
    #expect(deleted["Car"]?.before?.referencedObjects == ["owner": bob])
    #expect(deleted.values.allSatisfy { $0.after == nil && $0.operation == .deleted })
  }

  @Test(.mustEnd, .evidence("CF-05"))
  func `a resumed feed has only readable values before the changes`() async throws {
    let id = try fixture.person("Ada", age: 1)
    let start = try #require(try container.currentHistoryToken)
    try fixture.change(id) { $0.age = 2 }
    try delete(id)
    try fixture.waitUntilOnlyNewestIsLive()
    let without = try await container.changeFeed(from: .after(start), values: .both)
      .all(of: container)
    #expect(without.map { $0.before?["age"] } == [nil, nil])
    #expect(without.map { $0.before?["name"] } == [nil, .string("Ada")])
    #expect(try !without[0].data.keys.contains("before"))
    let bob = try fixture.person("Bob", age: 3)
    let kept = try #require(try container.currentHistoryToken)
    try container.keepGeneration(try fixture.token(), as: "copy")
    try delete(bob)
    let with = try await container.changeFeed(from: .after(kept), values: .before)
      .all(of: container)
    #expect(with.map { $0.before?["age"] } == [.integer(3)])
    try container.releaseGeneration("copy")
  }

  @Test(.mustEnd, .evidence("CF-05"))
  func `a resumed feed has no values of generations before its position`() async throws {
    let id = try fixture.person("Ada", age: 1)
    try container.keepGeneration(try fixture.token(), as: "earlier")
    try fixture.change(id) { $0.age = 2 }
    let start = try #require(try container.currentHistoryToken)
    let generation = try container.store.snapshot().generation
    try fixture.change(id) { $0.age = 3 }
    while try container.store.liveGenerations().contains(where: { $0.generation == generation }) {
      try await Task.sleep(for: .milliseconds(5))
    }
    let events = try await container.changeFeed(from: .after(start), values: .both)
      .all(of: container)
    #expect(events.map { $0.after?["age"] } == [.integer(3)])
    #expect(events.map { $0.before?["age"] } == [nil])
    try container.releaseGeneration("earlier")
  }

  private func delete(_ id: ManagedObjectID) throws {
    let context = fixture.context()
    let person = try #require(try context.existingObject(Person.self, with: id))
    context.delete(person)
    try context.save()
  }

  @Test(.mustEnd, .evidence("CF-05")) func `an event contains every type of attribute`()
    async throws
  {
    let fixture = try GraphFixture(Schema(Everything.self, More.self))
    let context = fixture.context()
    let more = More(context: context)
    (more.double, more.float, more.other) = (.nan, -.infinity, more)
    try context.save()
    let event = try await fixture.container.changeFeed(from: .oldestTransaction).first(1)[0]
    #expect(event.after?["text"] == .string(more.text))
    #expect(event.after?.referencedObjects == ["other": more.objectID])
    let copy = try GraphFixture(Schema(Everything.self, More.self))
    try copy.container.apply(events: [event.json()])
    let again = try await copy.container.changeFeed(from: .oldestTransaction).first(1)[0]
    #expect(again.after?.attributeValues == event.after?.attributeValues)
  }
}
