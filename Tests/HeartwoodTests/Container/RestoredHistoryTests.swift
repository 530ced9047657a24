import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Restores a store to an earlier state, and uses tokens of the state that it has lost.
@Suite("The history of a restored store")
struct RestoredHistoryTests {
  private static func insert(_ name: String, in container: PersistentContainer) throws {
    let context = container.newContext()
    Person(context: context).name = name
    try context.save()
  }

  private static func newest(_ container: PersistentContainer) throws -> PersistentHistoryToken {
    try #require(try container.currentHistoryToken)
  }

  /// Expects that a token is rejected wherever a program can use it.
  ///
  /// - Parameter isDeleted: `true` if the history has been deleted, so that some uses have no
  ///   effect.
  private static func expectExpired(
    _ token: PersistentHistoryToken, _ container: PersistentContainer, isDeleted: Bool = false,
    _ label: String
  ) throws {
    func expect(_ use: String, _ body: () throws -> Void) {
      let error = #expect(throws: ObjectGraphError.self, "\(label): \(use)") { try body() }
      #expect(error?.kind == .historyExpired, "\(label): \(use)")
    }
    let feed = try container.changeFeed(from: .oldestTransaction, consumer: "feed")
    let known = try container.historyConsumers["feed"]
    expect("fetch") { _ = try container.fetchHistory(after: token) }
    expect("register") { try container.registerHistoryConsumer("feed", at: token) }
    expect("read") {
      var reader = try container.changeFeed(from: .after(token)).reader()
      _ = try reader.next()
    }
    if !isDeleted {
      expect("delete") { try container.deleteHistory(before: token) }
      expect("acknowledge") { try feed.acknowledge(token) }
    }
    #expect(try container.historyConsumers["feed"] == known)
  }

  @Test(
    .evidence("H-03"), .evidence("H-08"), .evidence("CF-04"),
    arguments: TestScale.seeds(quick: 6, all: 60))
  func `tokens of lost transactions expire, and others stay valid`(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let directory = try ScratchDirectory()
    func open(_ name: String) throws -> PersistentContainer {
      try PersistentContainer(url: URL(filePath: directory.path(of: name)), schema: people)
    }
    var kept: [PersistentHistoryToken] = []
    var lost: [PersistentHistoryToken] = []
    do {
      let original = try open("original")
      for number in 0..<(1 + random.below(6)) {
        try Self.insert("kept \(number)", in: original)
        kept.append(try Self.newest(original))
      }
      if random.below(3) == 0, let token = kept.last { try original.deleteHistory(before: token) }
      try original.store.backup(to: directory.path(of: "backup"))
      for number in 0..<(1 + random.below(6)) {
        try Self.insert("lost \(number)", in: original)
        lost.append(try Self.newest(original))
        // Encoding and decoding a token must not change it.
        if random.below(2) == 0 {
          let stored = try JSONEncoder().encode(lost.removeLast())
          lost.append(try JSONDecoder().decode(PersistentHistoryToken.self, from: stored))
        }
      }
      try original.registerHistoryConsumer("lost", at: lost.last)
      lost.append(try #require(try original.historyConsumers["lost"]))
      let feed = try original.changeFeed(from: .oldestTransaction)
      lost += try await feed.all(of: original).filter { $0.transaction > kept.count }
        .compactMap(\.token)
      try original.store.close()
    }
    try Backup(at: directory.path(of: "backup")).restore(to: directory.path(of: "restored"))
    let restored = try open("restored")
    defer { try? restored.store.close() }
    for number in 0..<(2 + random.below(8)) {
      for token in lost { try Self.expectExpired(token, restored, "seed \(seed), \(number)") }
      let last = try #require(kept.last)
      #expect(try restored.fetchHistory(after: last).count == number, "seed \(seed)")
      try restored.changeFeed(from: .after(last), consumer: "other").acknowledge(last)
      try Self.insert("new \(number)", in: restored)
      if random.below(4) == 0 {
        // The position of a deleted transaction is still checked.
        try restored.deleteHistory(before: try Self.newest(restored), force: true)
        let newest = try Self.newest(restored)
        #expect(try restored.fetchHistory(after: newest).isEmpty)
        for token in lost {
          try Self.expectExpired(token, restored, isDeleted: true, "seed \(seed), deleted")
        }
        break
      }
    }
    #expect(try restored.store.verify().findings == [])
  }

  @Test(.evidence("H-03"), .evidence("ST-08"), .evidence("CF-04"))
  func `with several stores, tokens of one store's lost transactions expire`() throws {
    let fixture = try StoresFixture(.inFiles)
    let container = fixture.container
    try fixture.memo("kept")
    try container.stores[1].backup(to: fixture.url("backup").path)
    try fixture.memo("lost")
    try container.registerHistoryConsumer("search", at: try Self.newest(container))
    var lost = [try container.historyConsumers["search"]]
    // Deleting the lost transaction leaves only its number and its time.
    try container.deleteHistory(before: Date.distantFuture)
    lost.append(try container.historyConsumers["search"])
    try fixture.person("Ada")
    lost.append(try container.fetchHistory(after: nil).last?.token)
    var reader = try container.changeFeed(from: .oldestTransaction).reader()
    lost.append(try reader.next()?.token)
    try Backup(at: fixture.url("backup").path).restore(to: fixture.url("restored").path)
    let restored = try PersistentContainer(
      url: fixture.url("restored"), schema: Schema(Memo.self, Remark.self))
    defer { try? restored.store.close() }
    for number in 0..<3 {
      for (index, token) in lost.enumerated() {
        try Self.expectExpired(try #require(token), restored, "token \(index), \(number)")
      }
      let context = restored.newContext()
      Memo(context: context).text = "new \(number)"
      try context.save()
    }
  }

  @Test(.evidence("CF-04")) func `an event of another store cannot be acknowledged`() async throws {
    let (one, other) = (try GraphFixture(), try GraphFixture())
    try one.person("Ada")
    try other.person("Ada")
    let event = try #require(
      try await one.container.changeFeed(from: .oldestTransaction).first(1).first)
    let feed = try other.container.changeFeed(from: .oldestTransaction, consumer: "feed")
    let error = #expect(throws: StorageError.self) { try feed.acknowledge(event) }
    #expect(error?.kind == .foreignStore)
  }
}
