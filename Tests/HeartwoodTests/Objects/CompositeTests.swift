import Foundation
import Heartwood
import HeartwoodTestSupport
import Observation
import Synchronization
import Testing

private enum Zone: String, AttributeValue, Codable { case town, country }

private struct Position: CompositeValue, Codable, Equatable {
  var latitude = 0.0
  var longitude = 0.0
  var zone: Zone? = nil
}

private struct Residence: CompositeValue, Codable, Equatable {
  var isPrivate = false
  var street = ""
  var city: String? = nil
  var country = "NZ"
  var number: Int16 = 0
  var place = Position()
  var tags: [String] = []

  /// A computed property has no column.
  var line: String { "\(number) \(street)" }
}

private class Inhabitant: ManagedObject {
  @Attribute var name: String = ""
  @Composite var address = Residence()
  @Attribute(.indexed) var age: Int = 0
  @ToOne var boss: Inhabitant?

  override class var entity: Entity {
    Entity("Inhabitant") {
      Index(\Inhabitant.address.city, \Inhabitant.name)
      Index(\Inhabitant.address.place.latitude)
    }
  }
}

private final class Official: Inhabitant {
  @Composite("office", renamedFrom: "desk") var work = Residence()
  @Attribute var wage: Double = 0

  override class var entity: Entity {
    Entity("Official") { Unique(\Official.work.street) }
  }
}

private enum Level: Int, AttributeValue { case low, high }

private enum Before {
  struct Value: CompositeValue {
    var level = 0
    var spare: Int? = nil
    var count = 0
  }

  final class Gauge: ManagedObject { @Composite var value = Value() }
}

private struct GaugeValue: CompositeValue {
  var level = Level.low
  var spare: Level? = nil
  var count = 0
}

private final class Gauge: ManagedObject { @Composite var value = GaugeValue() }

@Suite("Composite attributes")
struct CompositeTests {
  private let directory: ScratchDirectory
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    directory = try ScratchDirectory()
    container = try PersistentContainer(
      url: URL(filePath: directory.path(of: "s")), schema: Schema(Official.self))
    context = container.newContext()
  }

  private func address(_ number: Int) -> Residence {
    Residence(
      isPrivate: number % 2 == 0, street: "street \(number)",
      city: number % 3 == 0 ? nil : "city \(number % 3)", number: Int16(number),
      place: Position(
        latitude: Double(number) / 2, longitude: -Double(number),
        zone: number % 4 == 0 ? nil : (number % 4 == 1 ? .town : .country)),
      tags: (0..<number % 3).map { "tag \($0)" })
  }

  /// Saves workers, each of whom is the boss of the next worker.
  private func fill(_ count: Int = 24) throws {
    var boss: Official?
    for number in 0..<count {
      let worker = Official(context: context)
      worker.name = "w\(number)"
      worker.age = number
      worker.address = address(number)
      worker.work.street = "s\(number)"
      worker.wage = Double(number)
      worker.boss = boss
      boss = worker
    }
    try context.save()
  }

  @Test(.evidence("M-07"), .evidence("V-02")) func `are read back with all their elements`() throws
  {
    try fill()
    let other = container.newContext()
    let workers = try other.fetch(FetchRequest<Official>(sort: [SortDescriptor(\.age)]))
    #expect(workers.count == 24)
    for (number, worker) in workers.enumerated() {
      #expect(worker.address == address(number))
      #expect(worker.work == Residence(street: "s\(number)"))
      #expect(worker.name == "w\(number)" && worker.wage == Double(number))
    }
    // Reading an element of a composite loads the fault.
    let fresh = container.newContext()
    let boss = fresh.object(Official.self, with: workers[3].objectID)
    #expect(boss.isFault && boss.address.place.longitude == -3)
  }

  @Test(.evidence("M-07"), .evidence("P-01"))
  func `can be searched by their elements, even through relationships and before a save`() throws {
    try fill()
    let changed = try #require(
      try context.fetch(FetchRequest<Official>(where: try QueryPredicate(format: "age == 5"))).first
    )
    changed.address.city = "city 9"
    changed.address.place.zone = .country
    _ = Official(context: context)
    let all = try context.fetch(FetchRequest<Official>(sort: [SortDescriptor(\.age)]))
    func expect(
      _ format: String, _ predicate: Predicate<Official>, _ test: (Official) -> Bool,
      at location: SourceLocation = #_sourceLocation
    ) throws {
      let matches = Set(all.filter(test))
      #expect(!matches.isEmpty && matches.count < all.count, sourceLocation: location)
      for request in [
        FetchRequest<Official>(where: try QueryPredicate(format: format)),
        FetchRequest(where: predicate),
      ] {
        #expect(Set(try context.fetch(request)) == matches, sourceLocation: location)
        #expect(try context.count(for: request) == matches.count, sourceLocation: location)
      }
    }
    try expect("address.city == 'city 1'", #Predicate { $0.address.city == "city 1" }) {
      $0.address.city == "city 1"
    }
    try expect("address.city == 'city 9'", #Predicate { $0.address.city == "city 9" }) {
      $0.address.city == "city 9"
    }
    try expect("address.city == nil", #Predicate { $0.address.city == nil }) {
      $0.address.city == nil
    }
    try expect(
      "address.place.latitude > 4 AND address.isPrivate == YES",
      #Predicate { $0.address.place.latitude > 4 && $0.address.isPrivate }
    ) { $0.address.place.latitude > 4 && $0.address.isPrivate }
    try expect("boss.address.number < 7", #Predicate { ($0.boss?.address.number ?? 99) < 7 }) {
      ($0.boss?.address.number ?? 99) < 7
    }
    #expect(
      try context.fetch(
        FetchRequest<Official>(
          where: try QueryPredicate(format: "boss.address.place.zone == 'town'"))
      ).count
        == all.count { $0.boss?.address.place.zone == .town })
    try expect("address.tags CONTAINS 'tag 1'", #Predicate { $0.address.tags.contains("tag 1") }) {
      $0.address.tags.contains("tag 1")
    }
    try expect(
      "address.street BEGINSWITH 'street 2'", #Predicate { $0.address.street.contains("t 2") }
    ) {
      $0.address.street.contains("t 2")
    }
  }

  @Test(.evidence("M-07"), .evidence("FO-01"))
  func `sort objects, and have indexes and unique constraints`() throws {
    try fill()
    let byLatitude = FetchRequest<Official>(
      where: #Predicate { $0.address.place.latitude < 3 },
      sort: [SortDescriptor(\.address.place.latitude, order: .reverse)])
    #expect(try context.fetch(byLatitude).map(\.age) == [5, 4, 3, 2, 1, 0])
    #expect(try context.explain(byLatitude).indexes == ["address.place.latitude"])
    let byCity = FetchRequest<Inhabitant>(where: #Predicate { $0.address.city == "city 2" })
    #expect(try context.explain(byCity).indexes == ["address.city, name"])
    let workers = try context.fetch(FetchRequest<Official>(sort: [SortDescriptor(\.age)]))
    workers[3].work = Residence(street: "s7")
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .constraintConflict)
    #expect(error?.message.contains("same work.street") == true)
    workers[3].work.street = "S7"
    try context.save()
  }

  @Test(.evidence("M-07"), .evidence("C-01"))
  func `conflict only in elements that both contexts change`()
    throws
  {
    try fill(1)
    func worker(_ context: ManagedObjectContext) throws -> Official {
      try #require(try context.fetch(FetchRequest<Official>()).first)
    }
    let other = container.newContext()
    for policy in [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump] {
      let (mine, theirs) = (try worker(context), try worker(other))
      context.mergePolicy = policy
      mine.address.city = "mine"
      theirs.address.street = "theirs"
      theirs.address.place.zone = .country
      try other.save()
      try context.save()
      other.refreshAllObjects()
      for worker in [try worker(context), try worker(other)] {
        #expect(worker.address.city == "mine")
        #expect(worker.address.street == "theirs")
        #expect(worker.address.place.zone == .country && worker.address.number == 0)
      }
    }
  }

  @Test(.evidence("M-07")) func `stay unchanged if no element changes, and are undone together`()
    throws
  {
    try fill(3)
    let worker = try #require(
      try context.fetch(FetchRequest<Official>(where: try QueryPredicate(format: "age == 2"))).first
    )
    worker.address.street = "street 2"
    worker.address = address(2)
    #expect(!context.hasChanges && !worker.isUpdated)
    context.tracksUndo = true
    worker.address.street = "x"
    worker.address.place = Position()
    #expect(worker.address.place == Position() && worker.address.street == "x" && worker.isUpdated)
    context.undo()
    #expect(worker.address == address(2) && !context.hasChanges)
    context.redo()
    #expect(worker.address.place == Position() && worker.address.street == "x")
    let token = try container.currentHistoryToken
    try context.save()
    let change = try #require(try container.fetchHistory(after: token).last?.changes.first)
    let properties: Set = [
      "address.street", "address.place.latitude", "address.place.longitude", "address.place.zone",
    ]
    #expect(change.kind == .update(properties: properties))
    context.rollback()
    #expect(worker.address.street == "x")
  }

  @Test(.evidence("M-07"), .evidence("OB-01")) func `notify observers of elements that change`()
    throws
  {
    try fill(2)
    let worker = try #require(
      try context.fetch(FetchRequest<Official>(where: try QueryPredicate(format: "age == 1"))).first
    )
    context.tracksObservation = true
    let counts = Mutex([0, 0, 0])
    func watch(_ index: Int, _ read: () -> Void) {
      withObservationTracking(read) { counts.withLock { $0[index] += 1 } }
    }
    watch(0) { _ = worker.address.city }
    watch(1) { _ = worker.name }
    watch(2) { _ = worker.work.city }
    worker.name = "other"
    worker.address.street = "street 1"
    #expect(counts.withLock { $0 } == [0, 1, 0])
    worker.address.street = "other"
    #expect(counts.withLock { $0 } == [1, 1, 0])
    worker.work.tags.append("x")
    #expect(counts.withLock { $0 } == [1, 1, 1] && worker.work.tags == ["x"])
  }

  @Test(.evidence("M-07")) func `are decoded, exported and imported as objects`() throws {
    struct Row: Decodable {
      struct Home: Decodable {
        let city: String?
        let place: Position
      }
      let age: Int
      let address: Home
      let work: Residence?
    }
    try fill(9)
    let request = FetchRequest<Official>(sort: [SortDescriptor(\.age)])
    for (number, row) in try context.fetch(request, as: Row.self).enumerated() {
      #expect(row.age == number && row.address.city == address(number).city)
      #expect(row.address.place == address(number).place)
      #expect(row.work == Residence(street: "s\(number)"))
    }
    var json = Data()
    try context.export(request, as: .json) { json += $0 }
    let exported = try JSONDecoder().decode([Row].self, from: json)
    #expect(exported.count == 9 && exported[4].address.place == address(4).place)
    let copy = try PersistentContainer.inMemory(schema: Schema(Official.self))
    let target = copy.newContext()
    let report = try target.upsert(Official.self, matching: \.work.street, from: json)
    #expect(report.insertedCount == 9)
    let copies = try target.fetch(request)
    #expect(copies.map(\.address) == (0..<9).map { address($0) })
    var options = ImportOptions()
    options.keys = ["address": "at", "address.city": "town", "work.street": "id"]
    let changes = #"[{"id": "s1", "town": "X", "at": {"number": 7, "place": {"zone": "town"}}}]"#
    try target.upsert(
      Official.self, matching: \.work.street, from: Data(changes.utf8), options)
    let changed = try target.fetch(request)[1].address
    #expect(changed.city == "X" && changed.number == 7 && changed.place.zone == .town)
    #expect(changed.street == "street 1" && changed.place.latitude == 0.5)
    var csv = Data()
    try context.export(request, as: .csv) { csv += $0 }
    #expect(String(decoding: csv, as: UTF8.self).contains("address.place.latitude"))
  }

  @Test(.evidence("M-07"), .evidence("V-04"))
  func `keep unreadable elements when other elements are set`() throws {
    let url = URL(filePath: directory.path(of: "levels"))
    do {
      let context = try PersistentContainer(url: url, schema: Schema(Before.Gauge.self))
        .newContext()
      let gauge = Before.Gauge(context: context)
      gauge.value = Before.Value(level: 5, spare: 5, count: 3)
      try context.save()
    }
    let context = try PersistentContainer(url: url, schema: Schema(Gauge.self)).newContext()
    let gauge = try #require(try context.fetch(FetchRequest<Gauge>()).first)
    let unreadable: [String: StoredValue] = [
      "value.level": .integer(5), "value.spare": .integer(5),
    ]
    #expect(gauge.unreadableValues == unreadable && gauge.value.level == .low)
    gauge.value.count = 4
    #expect(gauge.unreadableValues == unreadable)
    try context.save()
    let other = try PersistentContainer(url: url, schema: Schema(Gauge.self)).newContext()
    let same = try #require(try other.fetch(FetchRequest<Gauge>()).first)
    #expect(same.unreadableValues == unreadable && same.value.count == 4)
    same.value.level = .high
    #expect(same.unreadableValues.keys.sorted() == ["value.spare"])
  }

  @Test(.evidence("M-07"), .evidence("C-11"), arguments: [true, false])
  func `merge only the elements that were set into an existing row`(isInserted: Bool) throws {
    try fill(1)
    context.mergePolicy = .mergeByPropertyObjectTrump
    let stored = try #require(try context.fetch(FetchRequest<Official>()).first)
    stored.work = Residence(street: "s0", city: "kept", number: 7, place: Position(latitude: 5))
    try context.save()
    let other = container.newContext()
    other.mergePolicy = .mergeByPropertyObjectTrump
    let new = Official()
    if isInserted { other.insert(new) }
    new.work.street = "s0"
    new.work.place.longitude = 9
    if !isInserted { other.insert(new) }
    try other.save()
    let found = try container.newContext().fetch(FetchRequest<Official>())
    let merged = Position(latitude: 5, longitude: 9)
    #expect(
      found.map(\.work) == [Residence(street: "s0", city: "kept", number: 7, place: merged)])
  }

  @Test(.evidence("M-07")) func `are changed by batch requests`() throws {
    try fill(6)
    try context.execute(
      BatchUpdateRequest<Official>(where: #Predicate { $0.address.number > 3 }) { row in
        row[\.address.place.longitude] = 90
        row[\.address.city] = "batch"
      })
    let places = try context.fetch(
      FetchRequest<Official>(where: try QueryPredicate(format: "address.city == 'batch'")))
    #expect(places.map(\.age).sorted() == [4, 5])
    #expect(places.allSatisfy { $0.address.place.longitude == 90 && $0.address.street != "" })
    let (highest, total) = try context.aggregate(
      FetchRequest<Official>(), .max(\.address.number), .sum(\.address.place.longitude))
    #expect(highest == 5 && total == 174)
  }
}
