import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("The lifetime of a feed")
struct FeedLifetimeTests {
  private let fixture: GraphFixture
  private let container: PersistentContainer

  init() throws {
    fixture = try GraphFixture()
    container = fixture.container
  }

  @Test(.mustEnd, .evidence("CF-06"))
  func `a feed pins a generation only while it returns its events`() async throws {
    let id = try fixture.person("Ada")
    var plain = try container.changeFeed(from: .oldestTransaction).makeAsyncIterator()
    var both = try container.changeFeed(from: .oldestTransaction, values: .both)
      .makeAsyncIterator()
    _ = try await plain.next()
    try fixture.change(id) { $0.age = 1 }
    try fixture.change(id) { $0.age = 2 }
    // All remaining events come from this generation.
    let generation = try #require(try await plain.next()).generation
    try fixture.change(id) { $0.age = 3 }
    #expect(try container.store.liveGenerations().map(\.generation).contains(generation))
    #expect(try await plain.next()?.generation == generation)
    try fixture.waitUntilOnlyNewestIsLive()
    for _ in 0..<4 { _ = try await both.next() }
    let newest = try container.store.snapshot().generation
    try fixture.change(id) { $0.age = 4 }
    #expect(try container.store.liveGenerations().map(\.generation).contains(newest))
    _ = try await both.next()
    try fixture.waitUntilOnlyNewestIsLive()
    withExtendedLifetime((plain, both)) {}
  }

  @Test(.spawning, .mustEnd, .evidence("CF-06"))
  func `a feed does not hold a large transaction in memory`() async throws {
    let scratch = try ScratchDirectory()
    let path = scratch.path(of: "store")
    let count = TestScale.pick(quick: 150_000, all: 1_000_000)
    // Insert the objects in another process, so that this process cannot reuse the memory.
    await #expect(processExitsWith: .success) { [path = path as String, count = count as Int] in
      let container = try PersistentContainer(url: URL(filePath: path), schema: people)
      var number = 0
      try container.newContext().execute(
        BatchInsertRequest<Car> { _ in
          number += 1
          return number > count
        })
      try container.store.close()
    }
    await #expect(processExitsWith: .success) { [path = path as String, count = count as Int] in
      let container = try PersistentContainer(url: URL(filePath: path), schema: people)
      let start = try anonymousByteCount()
      var seen = 0
      for try await event in try container.changeFeed(from: .oldestTransaction) {
        seen += 1
        if seen % 50_000 == 0 { #expect(try anonymousByteCount() - start < count * 20) }
        if event.isLast { break }
      }
      #expect(seen == count)
    }
  }

  @Test(.mustEnd, .evidence("CF-07")) func `a feed ends with its task and with the store`()
    async throws
  {
    let (container, feed) = (container, try container.changeFeed())
    let count = { @Sendable in
      var seen = 0
      for try await _ in feed { seen += 1 }
      return seen
    }
    let task = Task(operation: count)
    task.cancel()
    #expect(try await task.value == 0)
    let last = Task(operation: count)
    try fixture.person("Ada")
    try await Task.sleep(for: .milliseconds(50))
    _ = try container.store.verify()
    let other = try PersistentContainer.inMemory(schema: people)
    let ended = try other.changeFeed()
    try other.store.close()
    #expect(try await ended.first(1).isEmpty)
    last.cancel()
    #expect(try await last.value <= 1)
  }

  @Test(.mustEnd, .evidence("CF-07")) func `a feed waits while the store is suspended`()
    async throws
  {
    let scratch = try ScratchDirectory()
    let container = try PersistentContainer(
      url: URL(filePath: scratch.path(of: "store")), schema: people)
    let context = container.newContext()
    for number in 0..<300 { Person(context: context).name = "p\(number)" }
    try context.save()
    var iterator = try container.changeFeed(from: .oldestTransaction).makeAsyncIterator()
    var ids = [try await iterator.next()?.id]
    try container.suspend()
    let resumption = Task {
      try await Task.sleep(for: .milliseconds(150))
      try container.resume()
    }
    // The generation has expired, but the feed continues within the transaction.
    for _ in 0..<2 { ids.append(try await iterator.next()?.id) }
    try await resumption.value
    #expect(ids == ["1-0", "1-1", "1-2"])
    var existing = try container.changeFeed(from: .existingObjects).makeAsyncIterator()
    _ = try await existing.next()
    try container.suspend()
    // Some objects have been read already.
    await #expect(throws: StorageError.self) {
      while try await existing.next()?.operation == .existing {}
    }
    try container.resume()
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.mustEnd, .evidence("CF-07"))
  func `a feed ends with its task while the store is suspended`() async throws {
    let scratch = try ScratchDirectory()
    let container = try PersistentContainer(
      url: URL(filePath: scratch.path(of: "store")), schema: people)
    let feed = try container.changeFeed(from: .oldestTransaction)
    try container.suspend()
    let task = Task {
      var seen = 0
      for try await _ in feed { seen += 1 }
      return seen
    }
    try await Task.sleep(for: .milliseconds(50))
    task.cancel()
    #expect(try await task.value == 0)
    try container.resume()
  }

  @Test(.evidence("CF-07"))
  func `a feed of an empty store throws an error if the first transaction has been deleted`()
    throws
  {
    let fixture = try GraphFixture()
    var reader = try fixture.container.changeFeed(from: .oldestTransaction).reader()
    #expect(try reader.next() == nil)
    try fixture.person("Ada")
    try fixture.container.deleteHistory(before: .distantFuture)
    try fixture.person("Bob")
    #expect {
      try reader.next()
    } throws: {
      ($0 as? ObjectGraphError)?.kind == .historyExpired
    }
  }

  @Test(.mustEnd, .evidence("CF-07"))
  func `a feed throws an error if its next transactions have been deleted`() async throws {
    try fixture.fill()
    let events = try await container.changeFeed(from: .oldestTransaction).all(of: container)
    try container.deleteHistory(before: .distantFuture)
    let start = try #require(events[0].token)
    for consumer in [nil, "copy"] {
      await #expect {
        try await container.changeFeed(from: .after(start), consumer: consumer).first(1)
      } throws: {
        ($0 as? ObjectGraphError)?.kind == .historyExpired
      }
    }
  }
}
