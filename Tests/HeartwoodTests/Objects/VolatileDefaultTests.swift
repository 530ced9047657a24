import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

private let counter = Mutex(0)

private func next() -> Int {
  counter.withLock {
    $0 += 1; return $0
  }
}

private class Note: ManagedObject {
  @Attribute var id: UUID = UUID()
  @Attribute var title: String = "untitled"
  @Attribute("made", preservesValueOnDeletion: true) var created: Date = Date()
  override class var entity: Entity { Entity("Note") { Unique(\Note.id) } }
}

private final class DatedMemo: Note {
  @Attribute var serial: Int = next()
  @Attribute("key") var token: String = UUID().uuidString
  @Attribute var same: Int = 7
}

private let currentAuthor = Mutex("nobody")

private final class Draft: ManagedObject {
  @Attribute var author: String = currentAuthor.withLock { $0 }
  @Attribute var serial: Int = next()
}

/// The model before the attribute `id` was added to the class.
private enum Earlier {
  final class Note: ManagedObject {
    @Attribute var title: String = "untitled"
  }
  static let schema = Schema(version: 1, Note.self)
}

private struct Spot: Codable, Equatable, AttributeValue { var x = 0 }

private enum Later {
  final class Note: ManagedObject {
    @Attribute var title: String = "untitled"
    @Attribute var id: UUID = UUID()
  }
  static let schema = Schema(version: 2, Note.self)
}

private let switches = Mutex(false)

/// A class whose other attributes have volatile defaults of all types.
private enum Complete {
  final class Sensor: ManagedObject {
    @Attribute var number: Int = 0
    @Attribute var isOn: Bool = switches.withLock {
      $0.toggle()
      return $0
    }
    @Attribute var level: Int8 = Int8.random(in: 1...100)
    @Attribute var serial: UInt64 = UInt64.random(in: 1...UInt64.max)
    @Attribute var weight: Double = Double.random(in: 1...2)
    @Attribute var start: Date = Date()
    @Attribute var code: UUID = UUID()
    @Attribute var place: Spot = Spot(x: Int.random(in: 1...9))
    @Attribute var name: String = UUID().uuidString
    @Attribute var secret: Data = Data(UUID().uuidString.utf8)
    @Attribute var price: Decimal = Decimal(Int.random(in: 1...1_000_000))
  }
}

private enum Bare {
  final class Sensor: ManagedObject {
    @Attribute var number: Int = 0
  }
}

@Suite("Volatile default values")
struct VolatileDefaultTests {
  @Test(.evidence("V-07")) func `a volatile default is computed for each row of a batch insert`()
    throws
  {
    let fixture = try GraphFixture(Schema(DatedMemo.self))
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let start = Date.now
    var rest = 0..<20
    let result = try context.execute(
      BatchInsertRequest<DatedMemo> { row in
        guard let number = rest.popFirst() else { return true }
        if number % 2 == 0 { row[\.title] = "\(number)" }
        #expect(row[\.same] == 7 && row[\.created] >= start)
        return false
      })
    #expect(result.count == 20)
    let found = try fixture.context().fetch(FetchRequest<DatedMemo>())
    #expect(found.count == 20 && Set(found.map(\.id)).count == 20)
    #expect(Set(found.map(\.serial)).count == 20 && Set(found.map(\.token)).count == 20)
    #expect(found.allSatisfy { $0.created >= start && $0.same == 7 })
    #expect(Set(found.map(\.created)).count > 1)
    #expect(found.map(\.title).prefix(3) == ["0", "untitled", "2"])
  }

  @Test(.evidence("V-07")) func `a batch insert evaluates default values when it begins`()
    throws
  {
    let fixture = try GraphFixture(Schema(Draft.self))
    for author in ["Ada", "Grace"] {
      currentAuthor.withLock { $0 = author }
      var count = 0
      try fixture.context().execute(
        BatchInsertRequest<Draft> { _ in
          count += 1
          return count > 2
        })
    }
    let found = try fixture.context().fetch(FetchRequest<Draft>())
    #expect(found.map(\.author) == ["Ada", "Ada", "Grace", "Grace"])
  }

  @Test(.mustEnd, .evidence("V-07"), .evidence("CF-08"))
  func `a volatile default is computed for each object that a feed inserts`() async throws {
    let (source, copy) = (try GraphFixture(Earlier.schema), try GraphFixture(Later.schema))
    let context = source.context()
    for number in 0..<5 { Earlier.Note(context: context).title = "\(number)" }
    try context.save()
    let feed = try source.container.changeFeed(from: .oldestTransaction)
    let events = try await feed.all(of: source.container)
    try copy.container.apply(events: events.map { try $0.json() })
    let found = try copy.context().fetch(FetchRequest<Later.Note>())
    #expect(Set(found.map(\.id)).count == 5)
  }

  @Test(.mustEnd, .evidence("M-08"), .evidence("CF-08"))
  func `a tool that applies a feed cannot compute defaults and sets zero or empty values`()
    async throws
  {
    let source = try GraphFixture(Schema(Bare.Sensor.self))
    let copy = try GraphFixture(Schema(Complete.Sensor.self))
    try source.saved { Bare.Sensor(context: $0).number = 7 }
    let events = try await source.container.changeFeed(from: .oldestTransaction)
      .all(of: source.container)
    let store = copy.container.store
    let tool = try StoredObjects(store, at: store.snapshot()).container
    try tool.apply(events: events.map { try $0.json() })
    let context = copy.context()
    let sensor = try #require(try context.fetch(FetchRequest<Complete.Sensor>()).first)
    #expect(sensor.number == 7 && !sensor.isOn && sensor.level == 0 && sensor.serial == 0)
    #expect(sensor.weight == 0 && sensor.start == Date(timeIntervalSinceReferenceDate: 0))
    #expect(sensor.code.uuidString.allSatisfy { "0-".contains($0) })
    #expect(sensor.name == "" && sensor.secret.isEmpty && sensor.price == 0)
    // The tool does not know the type, so the stored value cannot be decoded (V-04).
    #expect(sensor.place.x > 0)
  }

  @Test(.evidence("V-07")) func `existing rows share one volatile default after a migration`()
    throws
  {
    let store = EvolvingStore()
    try store.open(Earlier.schema) { context in
      for number in 0..<5 { Earlier.Note(context: context).title = "\(number)" }
    }
    for _ in 0..<2 {
      try store.open(Later.schema) { context in
        let found = try context.fetch(FetchRequest<Later.Note>())
        #expect(found.count == 5 && Set(found.map(\.id)).count == 1)
      }
    }
  }

  @Test(.evidence("V-07")) func `a migration stage can assign different values to each row`() throws
  {
    let store = EvolvingStore()
    try store.open(Earlier.schema) { context in
      for number in 0..<5 { Earlier.Note(context: context).title = "\(number)" }
    }
    let stage = MigrationStage.custom(
      from: Earlier.schema, to: Later.schema,
      didMigrate: { context in
        for note in try context.fetch(FetchRequest<Later.Note>()) { note.id = UUID() }
      })
    var known: [UUID] = []
    for _ in 0..<2 {
      try store.open(Schema(version: 3, Note.self), [stage]) { context in
        let found = try context.fetch(FetchRequest<Note>()).map(\.id)
        #expect(Set(found).count == 5 && (known.isEmpty || found == known))
        known = found
      }
    }
  }
}
