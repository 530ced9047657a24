import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private func add(_ name: String, to container: PersistentContainer) throws {
  let context = container.newContext()
  context.transactionAuthor = name
  Person(context: context).name = name
  try context.save()
}

private func count(_ container: PersistentContainer) throws -> Int {
  try container.read(at: .current) { try $0.count(for: FetchRequest<Person>()) }
}

@Suite("Remote changes")
struct RemoteChangesTests {
  private let scratch: ScratchDirectory
  private let url: URL
  private let container: PersistentContainer

  init() throws {
    scratch = try ScratchDirectory()
    url = URL(filePath: scratch.path(of: "store"))
    container = try PersistentContainer(url: url, schema: people)
  }

  @Test(.spawning, .evidence("H-06"))
  func `remote changes report commits of every context, container and process`() async throws {
    let other = try PersistentContainer(url: url, schema: people)
    var iterator = container.remoteChanges.makeAsyncIterator()
    try add("Ada", to: container)
    let first = try #require(await iterator.next())
    #expect(try container.fetchHistory(after: nil).map(\.token) == [first])
    try add("Bob", to: other)
    let second = try #require(await iterator.next())
    #expect(try container.fetchHistory(after: first).map(\.token) == [second])
    await #expect(processExitsWith: .success) { [path = url.path as String] in
      let container = try PersistentContainer(url: URL(filePath: path), schema: people)
      try add("Cid", to: container)
    }
    var third = await iterator.next()
    while third == second { third = await iterator.next() }
    let news = try container.fetchHistory(after: second)
    #expect(news.map(\.token) == [third] && news.map(\.author) == ["Cid"])
    #expect(news.allSatisfy { $0.processID != ProcessInfo.processInfo.processIdentifier })
    #expect(try count(container) == 3)
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("H-06")) func `unread remote changes are combined and never lost`() async throws {
    let changes = container.remoteChanges
    var iterator = changes.makeAsyncIterator()
    for name in ["Ada", "Bob", "Cid"] { try add(name, to: container) }
    let newest = try container.fetchHistory(after: nil).last?.token
    #expect(await iterator.next() == newest)
    var late = changes.makeAsyncIterator()
    #expect(await late.next() == newest)
    try container.deleteHistory(before: try #require(newest))
    #expect(await iterator.next() == newest)
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("H-06")) func `remote changes reach an observer during continuous writes`()
    async throws
  {
    let container = container
    let changes = container.remoteChanges
    let writers = (0..<4).map { writer in
      Task.detached {
        for number in 0..<25 { try add("\(writer).\(number)", to: container) }
      }
    }
    var token: PersistentHistoryToken?
    var names: Set<String> = []
    for await newest in changes {
      let news = try container.fetchHistory(after: token)
      names.formUnion(news.compactMap(\.author))
      token = news.last?.token ?? token
      #expect(token.map { $0 == newest } ?? false || !news.isEmpty)
      if names.count == 100 { break }
    }
    for writer in writers { try await writer.value }
    #expect(try count(container) == 100)
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("H-07"))
  func `the sequence of remote changes ends with its task and with the store`() async throws {
    let changes = container.remoteChanges
    let task = Task {
      var seen = 0
      for await _ in changes { seen += 1 }
      return seen
    }
    task.cancel()
    #expect(await task.value == 0)
    let other = try PersistentContainer(url: url, schema: people)
    let last = Task {
      var seen = 0
      for await _ in other.remoteChanges { seen += 1 }
      return seen
    }
    try other.store.close()
    #expect(await last.value == 0)
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("H-07"), .evidence("K-03"))
  func `remote changes wait while the store is suspended`() async throws {
    let changes = container.remoteChanges
    try add("Ada", to: container)
    let newest = try container.fetchHistory(after: nil).last?.token
    try container.suspend()
    let task = Task { () -> PersistentHistoryToken? in
      var iterator = changes.makeAsyncIterator()
      return await iterator.next()
    }
    // Give the task time to start iterating. The iteration waits while the store is suspended.
    try await Task.sleep(for: .milliseconds(150))
    try container.resume()
    var late = changes.makeAsyncIterator()
    #expect(await late.next() == newest)
    #expect(await task.value == newest)
    try add("Bob", to: container)
    let last = try container.fetchHistory(after: nil).last?.token
    #expect(await late.next() == last && last != newest)
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("H-06"), .evidence("QG-54"))
  func `remote changes are reported without a history too`() async throws {
    var options = ContainerOptions()
    options.isInMemory = true
    options.tracksHistory = false
    let container = try PersistentContainer(
      url: URL(filePath: "/nowhere"), schema: people, options: options)
    let context = try container.newContext(pinnedTo: .current)
    #expect(try context.count(for: FetchRequest<Person>()) == 0)
    let before = try #require(context.queryGenerationToken)
    var iterator = container.remoteChanges.makeAsyncIterator()
    try add("Ada", to: container)
    let first = await iterator.next()
    try add("Bob", to: container)
    #expect(await iterator.next() == first && first != nil)
    #expect(try container.changes(from: before, to: .current).inserted.count == 2)
    #expect(try container.store.verify().findings.isEmpty)
    withExtendedLifetime(context) {}
  }
  @Test(.mustEnd, .evidence("H-07"), arguments: [false, true])
  func `remote changes wait if a commit precedes the suspension`(isCancelled: Bool) async throws {
    let changes = container.remoteChanges
    let (isSuspended, suspended) = AsyncStream<Void>.makeStream()
    let task = Task { () -> PersistentHistoryToken? in
      var iterator = changes.makeAsyncIterator()
      for await _ in isSuspended {}
      return await iterator.next()
    }
    try add("Ada", to: container)
    let newest = try container.currentHistoryToken
    // Give the sequence time to receive the commit.
    try await Task.sleep(for: .milliseconds(100))
    try container.suspend()
    suspended.finish()
    try await Task.sleep(for: .milliseconds(50))
    if isCancelled { task.cancel() } else { try container.resume() }
    #expect(await task.value == (isCancelled ? nil : newest))
    if isCancelled { try container.resume() }
  }

  @Test(.mustEnd, .evidence("H-06"), .evidence("H-07"), arguments: [false, true])
  func `remote changes end if the history cannot be read`(isClosed: Bool) async throws {
    var iterator = container.remoteChanges.makeAsyncIterator()
    try add("Ada", to: container)
    if isClosed {
      // Give the sequence time to receive the commit.
      try await Task.sleep(for: .milliseconds(100))
      try container.store.close()
    } else {
      try container.store.write { transaction in
        try transaction.keyspace("heartwood.history").put(Key(0 as Int64, 0 as Int64), [1, 2, 3])
      }
    }
    #expect(await iterator.next() == nil)
    if !isClosed {
      let error = #expect(throws: StorageError.self) { try container.fetchHistory(after: nil) }
      #expect(error?.kind == .corrupt)
    }
  }

}
