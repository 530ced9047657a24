import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Relic: ManagedObject {
  @Attribute(.unique) var found: Date = Date(timeIntervalSinceReferenceDate: 0)
  @Attribute(preservesValueOnDeletion: true) var seen: Date? = nil
  @Attribute(preservesValueOnDeletion: true) var place: Place = Place(latitude: 0.1, longitude: -2)
  @Attribute(preservesValueOnDeletion: true) var list: [Int] = [3, 1, 2]
  @Attribute(preservesValueOnDeletion: true) var nested: [[Double]] = [[1, 0.1], []]
  @Attribute(preservesValueOnDeletion: true) var data: Data = Data([0, 1, 255])
  @Attribute(preservesValueOnDeletion: true) var price: Decimal = 12.50
  @Attribute(preservesValueOnDeletion: true) var single: Float = 1.1
  @Attribute(preservesValueOnDeletion: true) var double: Double = -0.0
  @Attribute(preservesValueOnDeletion: true) var colour: Colour? = .green
  @Attribute(preservesValueOnDeletion: true) var text: String = "1234"
  @Attribute(preservesValueOnDeletion: true) var code: UUID = UUID()
  @Attribute(preservesValueOnDeletion: true) var absent: [String]? = nil

  override class var entity: Entity { Entity("Relic") }

  static let preserved = [
    "found", "seen", "place", "list", "nested", "data", "price", "single", "double", "colour",
    "text", "code",
  ]
}

/// Reads the values of a deleted object from the history.
@Suite("The preserved values of a deleted object")
struct PreservedValueTests {
  private let source: GraphFixture
  private let copy: GraphFixture

  init() throws {
    let schema = Schema(Relic.self)
    (source, copy) = (try GraphFixture(schema), try GraphFixture(schema))
  }

  /// Dates, in seconds since 2001, most of which are not a whole number of milliseconds.
  static let dates = [
    0, 1.25, -1.0009765625, 0.123456789, 700_000_000.123456, -314_159_265.358979,
    -20_000_000_000.125, 252_423_993_599.99997, 252_423_993_600.5, .infinity,
  ]

  /// Inserts an object into both containers, and then deletes it from the source.
  ///
  /// - Returns: The event of the insertion and that of the deletion.
  private func deletion(
    of seconds: Double
  ) async throws -> (inserted: ChangeFeed.Event, deleted: ChangeFeed.Event) {
    for fixture in [source, copy] {
      let context = fixture.context()
      let relic = Relic(context: context)
      relic.found = Date(timeIntervalSinceReferenceDate: seconds)
      relic.seen = relic.found
      try context.save()
    }
    let inserted = try await source.container.changeFeed(from: .oldestTransaction)
      .all(of: source.container)
    let token = try #require(try source.container.currentHistoryToken)
    let context = source.context()
    for relic in try context.fetch(FetchRequest<Relic>()) { context.delete(relic) }
    try context.save()
    // Otherwise, the feed would read the values in the generation that the deletion has replaced.
    try source.waitUntilOnlyNewestIsLive()
    let deleted = try await source.container.changeFeed(from: .after(token), values: .both)
      .all(of: source.container)
    return (try #require(inserted.last), try #require(deleted.last))
  }

  @Test(.mustEnd, .evidence("H-02"), .evidence("CF-01"), .evidence("CF-08"), arguments: dates)
  func `identify a deleted object by its exact date`(seconds: Double) async throws {
    let event = try await deletion(of: seconds).deleted
    #expect(event.operation == .deleted)
    #expect(event.key?.value == .date(bits: seconds.bitPattern))
    let report = try copy.container.apply(events: [try event.json()])
    #expect(report.appliedCount == 1)
    #expect(try copy.context().count(for: FetchRequest<Relic>()) == 0)
  }

  @Test(.mustEnd, .evidence("H-02"), .evidence("CF-05"), arguments: dates)
  func `equal the stored values`(seconds: Double) async throws {
    let (inserted, deleted) = try await deletion(of: seconds)
    _ = try deleted.json()
    for name in Relic.preserved {
      let value = deleted.before?[name]
      #expect(value != nil && value == inserted.after?[name], "\(name)")
    }
    let change = try #require(
      try source.container.fetchHistory(after: nil).last?.changes.last)
    guard case .delete(let tombstone) = change.kind else {
      Issue.record("The last change is \(change.kind).")
      return
    }
    #expect(tombstone.keys.sorted() == Relic.preserved.sorted())
    #expect(tombstone["list"] == "[3,1,2]")
    #expect(tombstone["place"] == #"{"latitude":0.1,"longitude":-2}"#)
    #expect(tombstone["data"] == Data([0, 1, 255]).base64EncodedString())
  }
}
