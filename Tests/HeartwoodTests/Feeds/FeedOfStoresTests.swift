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
}
