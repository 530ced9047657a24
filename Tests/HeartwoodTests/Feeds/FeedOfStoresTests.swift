import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("A change feed of several stores")
struct FeedOfStoresTests {
  @Test(.mustEnd, .evidence("CF-01"), .evidence("ST-08"))
  func `orders transactions by time`() async throws {
    let fixture = try StoresFixture()
    let context = fixture.context()
    for number in 0..<6 {
      if number % 2 == 0 {
        Person(context: context).name = "\(number)"
      } else {
        Memo(context: context).text = "\(number)"
      }
      try context.save()
    }
    let events = try await fixture.container.changeFeed(from: .oldestTransaction)
      .all(of: fixture.container)
    #expect(events.map(\.key?.value) == (0..<6).map { .string("\($0)") })
    let token = try #require(events[2].token)
    let rest = try await fixture.container.changeFeed(from: .after(token)).all(
      of: fixture.container)
    #expect(rest.map(\.id) == events[3...].map(\.id))
    let existing = try await fixture.container.changeFeed(from: .existingObjects)
      .all(of: fixture.container)
    #expect(existing.filter { $0.operation == .complete }.count == 3 && existing.count == 9)
  }

  @Test(.mustEnd, .evidence("CF-08"), .evidence("ST-01"))
  func `is applied to the store of each class`() async throws {
    let (source, copy) = (try StoresFixture(), try StoresFixture())
    try source.person("Ada", age: 3)
    let memo = try source.memo("milk", rank: 1, remarks: 1)
    let context = source.context()
    Stamp(context: context).code = 7
    try context.save()
    let existing = try await source.container.changeFeed(from: .existingObjects)
      .all(of: source.container)
    let report = try copy.container.apply(events: existing.map { try $0.json() })
    let token = try #require(try source.container.currentHistoryToken)
    #expect(report.appliedCount == 4 && report.token == token)
    #expect(try copy.stored() == source.stored())
    try source.change(memo) { $0.rank = 2 }
    try source.person("Bob")
    let later = try await source.container.changeFeed(from: .after(token))
      .all(of: source.container)
    let rest = try copy.container.apply(events: later.map { try $0.json() })
    #expect(try copy.stored() == source.stored())
    #expect(rest.appliedCount == 2 && rest.token != nil)
  }

  /// The removed store's events have been added, but not applied.
  @Test(.mustEnd, .evidence("CF-08"), .evidence("ST-05"), arguments: [false, true])
  func `is applied to no store in place of a removed one`(removesAll: Bool) async throws {
    let (source, copy) = (try StoresFixture(), try StoresFixture())
    try source.memo("milk")
    let events = try await source.container.changeFeed(from: .oldestTransaction)
      .all(of: source.container)
    var receiver = FeedReceiver(copy.container)
    for event in events { try receiver.add(event.json()) }
    try copy.container.removeStore(url: copy.memos)
    try copy.container.removeStore(url: copy.stamps)
    if removesAll { try copy.container.removeStore(url: copy.url("people")) }
    for _ in 1...2 {
      let error = #expect(throws: ObjectGraphError.self) { try receiver.apply() }
      #expect(error?.kind == .unknownEntity && error?.message.contains("Memo") == true)
    }
    guard !removesAll else { return }
    #expect(try copy.context().fetch(FetchRequest<Person>()) == [])
  }

  @Test(.mustEnd, .evidence("CF-01"), .evidence("ST-08"))
  func `continues with stores that are added later`() async throws {
    let fixture = try StoresFixture(adds: false)
    var iterator = try fixture.container.changeFeed().makeAsyncIterator()
    try fixture.person("Ada")
    #expect(try await iterator.next()?.key?.value == .string("Ada"))
    try fixture.addMemos()
    try fixture.memo("milk")
    #expect(try await iterator.next()?.key?.value == .string("milk"))
  }

  @Test(.mustEnd, .evidence("CF-07"), .evidence("ST-05"))
  func `ends when all stores have been removed`() async throws {
    let fixture = try StoresFixture(adds: false)
    let feed = try fixture.container.changeFeed()
    let task = Task {
      var seen = 0
      for try await _ in feed { seen += 1 }
      return seen
    }
    try fixture.person("Ada")
    try await Task.sleep(for: .milliseconds(50))
    try fixture.container.removeStore(url: fixture.url("people"))
    #expect(try await task.value <= 1)
  }
}
