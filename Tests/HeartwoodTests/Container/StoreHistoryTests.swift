import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("History of several stores")
struct StoreHistoryTests {
  @Test(.evidence("ST-08"), arguments: StoresFixture.Kind.allCases)
  func `transactions of several stores are in order of time`(kind: StoresFixture.Kind) throws {
    let fixture = try StoresFixture(kind)
    let container = fixture.container
    var expected: [String] = []
    for number in 0..<12 {
      let context = fixture.context()
      context.transactionAuthor = "\(number)"
      switch number * 7 % 3 {
      case 0: Person(context: context).name = "\(number)"
      case 1: Memo(context: context).text = "\(number)"
      default: Stamp(context: context).code = number
      }
      try context.save()
      expected.append("\(number)")
      // Commit times have a resolution of one millisecond, so wait for the next millisecond.
      Thread.sleep(forTimeInterval: 0.002)
    }
    let all = try container.fetchHistory(after: nil)
    #expect(all.map(\.author) == expected)
    // A consumer can stop after any transaction, and then resume without missing one.
    for (position, transaction) in all.enumerated() {
      let token = try JSONDecoder().decode(
        PersistentHistoryToken.self, from: JSONEncoder().encode(transaction.token))
      #expect(token == transaction.token)
      let rest = try container.fetchHistory(after: token)
      #expect(rest.map(\.author) == Array(expected.dropFirst(position + 1)))
      #expect(rest.map(\.token) == all.dropFirst(position + 1).map(\.token))
    }
    #expect(Set(all.map(\.token)).count == 12)
    #expect(
      try container.fetchHistory(after: all[5].timestamp).map(\.author) == Array(expected[6...]))
    let context = fixture.context()
    for transaction in all { try context.mergeChanges(from: transaction) }
  }

  @Test(.evidence("ST-08")) func `history tokens cover stores that are added or added again`()
    throws
  {
    let fixture = try StoresFixture(.inFiles, adds: false)
    let container = fixture.container
    try fixture.person("Ada")
    let early = try #require(try container.fetchHistory(after: nil).last?.token)
    try fixture.addMemos()
    #expect(try container.fetchHistory(after: early).isEmpty)
    try fixture.memo("milk")
    try fixture.person("Bob")
    #expect(try container.fetchHistory(after: early).count == 2)
    let token = try #require(try container.fetchHistory(after: early).last?.token)
    try container.removeStore(url: fixture.memos)
    try fixture.person("Cid")
    let news = try container.fetchHistory(after: token)
    #expect(news.count == 1)
    try fixture.addMemos()
    try fixture.memo("bread")
    // The token still covers the memo store, because the earlier token did.
    let last = try container.fetchHistory(after: news[0].token)
    #expect(last.flatMap(\.changes).map(\.objectID.entityName) == ["Memo"])
    try container.removeStore(url: fixture.url("people"))
    let error = #expect(throws: StorageError.self) { try container.fetchHistory(after: early) }
    #expect(error?.kind == .foreignStore)
  }

  @Test(
    .evidence("ST-08"), .evidence("H-03"), .evidence("H-10"),
    arguments: StoresFixture.Kind.allCases)
  func `a token covers stores that have no transactions yet`(kind: StoresFixture.Kind) throws {
    let fixture = try StoresFixture(kind)
    let container = fixture.container
    let feeds = [try container.changeFeed(from: .now)]
    #expect(try container.currentHistoryToken == nil)
    try fixture.person("Ada")
    let token = try #require(try container.currentHistoryToken)
    #expect(try container.fetchHistory(after: nil).last?.token == token)
    let late = try container.changeFeed(from: .now)
    let all = try container.changeFeed(from: .oldestTransaction)
    try fixture.memo("milk")
    try fixture.memo("bread")
    let news = try container.fetchHistory(after: token)
    #expect(news.count == 2)
    // Delete some of the transactions after the token.
    try container.deleteHistory(before: news[0].token)
    expect(.historyExpired) { _ = try container.fetchHistory(after: token) }
    expect(.historyExpired) { try container.registerHistoryConsumer("late", at: token) }
    for feed in feeds + [late] {
      expect(.historyExpired) {
        var reader = try feed.reader()
        while try reader.next() != nil {}
      }
    }
    var reader = try all.reader()
    #expect(try reader.next()?.transaction == 2)
    #expect(try container.fetchHistory(after: news[0].token).map(\.token) == [news[1].token])
  }

  @Test(.evidence("ST-08")) func `consumers and deletion apply to the history of all stores`()
    throws
  {
    let fixture = try StoresFixture()
    let container = fixture.container
    for name in ["a", "b", "c"] {
      try fixture.person(name)
      try fixture.memo(name)
    }
    let all = try container.fetchHistory(after: nil)
    #expect(all.count == 6)
    try container.registerHistoryConsumer("reader", at: all[1].token)
    #expect(try container.historyConsumers == ["reader": all[1].token])
    try container.deleteHistory(before: all[3].token)
    #expect(try container.fetchHistory(after: nil).map(\.token) == all.dropFirst(2).map(\.token))
    try container.deleteHistory(before: all[3].token, force: true)
    #expect(try container.fetchHistory(after: nil).map(\.token) == all.dropFirst(4).map(\.token))
    expect(.historyExpired) { _ = try container.fetchHistory(after: all[1].token) }
    expect(.historyExpired) { try container.registerHistoryConsumer("late", at: all[1].token) }
    try container.removeHistoryConsumer("reader")
    #expect(try container.historyConsumers["reader"] == nil)
    try container.deleteHistory(before: Date.distantFuture)
    #expect(try container.fetchHistory(after: nil).isEmpty)
    #expect(try container.fetchHistory(after: all[5].token).isEmpty)
  }

  @Test(.evidence("ST-09")) func `remote changes report a commit to any store`() async throws {
    let fixture = try StoresFixture(.inFiles)
    let container = fixture.container
    var iterator = container.remoteChanges.makeAsyncIterator()
    var token: PersistentHistoryToken?
    for number in 0..<3 {
      try fixture.person("\(number)")
      let first = try #require(await iterator.next())
      #expect(try container.fetchHistory(after: token).map(\.token) == [first])
      token = first
      try fixture.memo("\(number)")
      let second = try #require(await iterator.next())
      #expect(try container.fetchHistory(after: token).map(\.token) == [second])
      token = second
    }
    // Commits made through other containers are reported as well.
    let other = try PersistentContainer(url: fixture.stamps, schema: Schema(Stamp.self))
    let context = other.newContext()
    _ = Stamp(context: context)
    try context.save()
    #expect(try container.fetchHistory(after: token).map(\.token) == [await iterator.next()])
  }

  @Test(.evidence("ST-09")) func `remote changes follow stores that are added and removed`()
    async throws
  {
    let fixture = try StoresFixture(.inFiles, adds: false)
    let container = fixture.container
    try fixture.person("Ada")
    var iterator = container.remoteChanges.makeAsyncIterator()
    try fixture.addMemos()
    let added = try #require(await iterator.next())
    #expect(try container.fetchHistory(after: added).isEmpty)
    try fixture.memo("milk")
    let milk = try #require(await iterator.next())
    #expect(try container.fetchHistory(after: added).map(\.token) == [milk])
    try container.removeStore(url: fixture.memos)
    try fixture.person("Bob")
    #expect(try container.fetchHistory(after: milk).count == 1)
    _ = try #require(await iterator.next())
    try fixture.addMemos()
    _ = try #require(await iterator.next())
    try fixture.memo("bread")
    _ = try #require(await iterator.next())
    for url in [fixture.memos, fixture.url("people")] { try container.removeStore(url: url) }
    #expect(await iterator.next() == nil)
  }

  @Test(.evidence("ST-09")) func `concurrent writers lose no transaction in any store`()
    async throws
  {
    let fixture = try StoresFixture()
    let container = fixture.container
    let changes = container.remoteChanges
    let writers = (0..<2).map { writer in
      Task.detached {
        for number in 0..<25 {
          let context = container.newContext()
          context.transactionAuthor = "\(writer).\(number)"
          if writer == 0 {
            Memo(context: context).text = "\(number)"
          } else {
            _ = Stamp(context: context)
          }
          try context.save()
        }
      }
    }
    var token: PersistentHistoryToken?
    var names: [String] = []
    for await _ in changes {
      let news = try container.fetchHistory(after: token)
      names += news.compactMap(\.author)
      token = news.last?.token ?? token
      if names.count >= 50 { break }
    }
    for writer in writers { try await writer.value }
    #expect(names.count == 50 && Set(names).count == 50)
  }

  @Test(.evidence("ST-09"), .evidence("K-03"))
  func `remote changes wait while all stores are suspended`() throws {
    let fixture = try StoresFixture(.inFiles)
    let id = try fixture.memo("milk", rank: 1)
    try fixture.person("Ada")
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    let milk: Memo = context.object(with: id)
    #expect(milk.rank == 1)
    try fixture.container.suspend()
    #expect(fixture.container.stores.allSatisfy { isSuspended($0) })
    #expect(throws: StorageError.self) { try context.fetch(FetchRequest<Memo>()) }
    #expect(throws: StorageError.self) { try context.fetch(FetchRequest<Person>()) }
    try fixture.container.resume()
    #expect(context.queryGenerationToken == .current)
    try fixture.change(id) { $0.rank = 2 }
    #expect(try context.contents() == ["Ada 0", "milk 2"])
    // If one store cannot be suspended, no store is suspended.
    let store = fixture.container.stores[2]
    try store.close()
    #expect(throws: StorageError.self) { try fixture.container.suspend() }
    #expect(!isSuspended(fixture.container.stores[0]) && !isSuspended(fixture.container.stores[1]))
    try fixture.container.removeStore(url: fixture.stamps)
  }

  private func isSuspended(_ store: Store) -> Bool {
    do {
      _ = try store.snapshot()
      return false
    } catch {
      return (error as? StorageError)?.kind == .suspended
    }
  }
  @Test(.evidence("ST-08"), .evidence("H-03"))
  func `a token changes nothing in stores that it does not cover`() throws {
    let fixture = try StoresFixture(adds: false)
    let container = fixture.container
    try fixture.person("Ada")
    let early = try #require(try container.currentHistoryToken)
    try fixture.person("Bob")
    try fixture.addMemos()
    try fixture.memo("milk")
    let feed = try container.changeFeed(from: .oldestTransaction, consumer: "copy")
    try feed.acknowledge(early)
    #expect(try container.fetchHistory(after: container.historyConsumers["copy"]).count == 2)
    try container.deleteHistory(before: early)
    #expect(try container.fetchHistory(after: early).count == 2)
  }

}
