import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// All objects of the `people` schema, with the values of their properties.
private struct Everyone {
  var objects: [ManagedObjectID: [String: String]] = [:]

  init(_ context: ManagedObjectContext) throws {
    for person in try context.fetch(FetchRequest<Person>()) {
      objects[person.objectID] = [
        "name": person.name, "age": "\(person.age)", "nickname": "\(person.nickname ?? "-")",
        "cars": Self.text(person.cars.map { $0 }), "clubs": Self.text(person.clubs.map { $0 }),
      ]
    }
    for car in try context.fetch(FetchRequest<Car>()) {
      objects[car.objectID] = ["name": car.name, "owner": Self.text([car.owner])]
    }
    for club in try context.fetch(FetchRequest<Club>()) {
      objects[club.objectID] = [
        "name": club.name, "halls": club.halls.map { "\($0.objectID)" }.joined(),
        "members": Self.text(club.members.map { $0 }),
      ]
    }
    for hall in try context.fetch(FetchRequest<Hall>()) {
      objects[hall.objectID] = ["number": "\(hall.number)", "club": Self.text([hall.club])]
    }
  }

  private static func text(_ objects: [ManagedObject?]) -> String {
    objects.map { "\($0?.objectID.description ?? "-")" }.sorted().joined()
  }

  /// Expects `changes` to contain exactly the differences between these objects and `after`.
  func expect(_ changes: ChangeSet, to after: Everyone) {
    let (old, new) = (Set(objects.keys), Set(after.objects.keys))
    #expect(changes.inserted == new.subtracting(old))
    #expect(changes.deleted == old.subtracting(new))
    var updated: [ManagedObjectID: Set<String>] = [:]
    for id in old.intersection(new) {
      let names = (objects[id] ?? [:]).filter { after.objects[id]?[$0.key] != $0.value }.keys
      if !names.isEmpty { updated[id] = Set(names) }
    }
    #expect(changes.updated.filter { !$0.value.isEmpty } == updated)
  }
}

private final class Trunk: ManagedObject {
  @ToMany(inverse: \Twig.trunk, deleteRule: .noAction) var twigs: Set<Twig>
}

private final class Twig: ManagedObject {
  @ToOne var trunk: Trunk?
}

@Suite("Changes between generations")
struct ChangeSetTests {
  @Test(.evidence("QG-53"), .evidence("QG-54"), arguments: TestScale.seeds(quick: 2, all: 6))
  func `a change set equals the difference of two complete reads`(seed: UInt64) throws {
    let run = try GraphRun(seed: seed, tracksUndo: false)
    let container = run.container
    var all: [(token: QueryGenerationToken, content: Everyone)] = []
    for round in 0..<5 {
      try run.run(steps: 60)
      try container.keepGeneration(.current, as: "round \(round)")
      let token = try #require(try container.keptGeneration("round \(round)"))
      all.append((token, try container.read(at: token) { try Everyone($0) }))
    }
    for source in all {
      for target in all {
        let changes = try container.changes(from: source.token, to: target.token)
        #expect(changes.generation == target.token)
        source.content.expect(changes, to: target.content)
        if source.token == target.token { #expect(changes.isEmpty) }
      }
    }
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("QG-54")) func `a change set lists a rewritten row without changed properties`()
    throws
  {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = try fixture.container.newContext(pinnedTo: .current)
    #expect(try context.existingObject(Person.self, with: id)?.age == 1)
    let before = try #require(context.queryGenerationToken)
    try fixture.change(id) { $0.age = 2 }
    try fixture.change(id) { $0.age = 1 }
    let changes = try fixture.container.changes(from: before, to: .current)
    #expect(changes.updated == [id: []] && changes.entities.keys.sorted() == ["Person"])
    let back = try fixture.container.changes(from: .current, to: before)
    #expect(back.updated == [id: []] && back.generation == before)
    withExtendedLifetime(context) {}
  }

  @Test(.evidence("QG-55")) func `a context merges a change set`() throws {
    let fixture = try GraphFixture()
    let container = fixture.container
    let ada = try fixture.person("Ada", age: 1, cars: 1)
    let bob = try fixture.person("Bob", age: 1)
    let cid = try fixture.person("Cid", age: 1)
    let view = fixture.context()
    try view.setQueryGenerationFrom(.current)
    view.retainsRegisteredObjects = true
    let people = try view.fetch(FetchRequest<Person>(sort: [SortDescriptor(\.name)]))
    #expect(people.map(\.age) == [1, 1, 1] && people[0].cars.count == 1)
    people[2].nickname = "mine"
    let before = try #require(view.queryGenerationToken)
    try fixture.change(ada) { person in
      person.age = 2
      person.cars = []
    }
    try fixture.change(cid) { $0.age = 3 }
    let other = fixture.context()
    other.delete(other.object(Person.self, with: bob))
    try other.save()
    let changes = try container.changes(from: before, to: .current)
    #expect(changes.deleted == [bob])
    #expect(people.map(\.age) == [1, 1, 1])
    try view.mergeChanges(changes)
    #expect(view.queryGenerationToken == changes.generation)
    #expect(people[0].age == 2 && people[0].cars.isEmpty)
    #expect(people[2].age == 3 && people[2].nickname == "mine")
    #expect(view.registeredObject(Person.self, for: bob) == nil)
    let foreign = try GraphFixture().container.newContext()
    #expect(throws: StorageError.self) { try foreign.mergeChanges(changes) }
    let child = fixture.child(of: view)
    #expect(throws: ObjectGraphError.self) { try child.mergeChanges(changes) }
  }

  @Test(.evidence("QG-54")) func `comparing generations of another or a removed store throws`()
    throws
  {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let foreign = try GraphFixture()
    try foreign.person("Bob")
    let token = try foreign.token()
    #expect(throws: StorageError.self) {
      try fixture.container.changes(from: token, to: .current)
    }
    let old = try fixture.token()
    try fixture.change(id) { $0.age = 2 }
    try fixture.waitUntilOnlyNewestIsLive()
    try fixture.container.store.checkpoint()
    let error = #expect(throws: StorageError.self) {
      try fixture.container.changes(from: old, to: .current)
    }
    #expect(error?.kind == .generationExpired)
  }
  @Test(.evidence("ST-07"), .evidence("QG-52"))
  func `generations without a common store cannot be compared`() throws {
    let fixture = try StoresFixture(.inFiles, adds: false)
    let (container, url) = (fixture.container, fixture.url("people"))
    try fixture.person("Ada")
    try container.keepGeneration(.current, as: "people")
    let people = try #require(try container.keptGeneration("people"))
    try fixture.addMemos()
    fixture.letGo()
    try container.removeStore(url: url)
    try container.keepGeneration(.current, as: "memos")
    let memos = try #require(try container.keptGeneration("memos"))
    try container.addStore(
      url: url, entities: [Person.self, Car.self, Club.self, Hall.self, Keeper.self])
    let error = #expect(throws: StorageError.self) {
      try container.changes(from: people, to: memos)
    }
    #expect(error?.kind == .foreignStore && error?.message.contains("no store in common") == true)
    let foreign = try GraphFixture().token()
    let id = try fixture.person("Bob")
    #expect(throws: StorageError.self) { try container.versions(of: id, from: foreign) }
    let other = try GraphFixture()
    let own = try other.person("Cid")
    let unknown = #expect(throws: StorageError.self) {
      try other.container.versions(of: own, from: memos)
    }
    #expect(unknown?.message.contains("the store in memory") == true)
  }

  @Test(.evidence("ST-05"), .evidence("QG-58"))
  func `a revert changes nothing if no store differs, and needs a store`() throws {
    let fixture = try StoresFixture()
    let generation = fixture.container.store.statistics.newestGeneration
    #expect(try fixture.container.revert(to: .current).inserted.isEmpty)
    #expect(fixture.container.store.statistics.newestGeneration == generation)
    for name in ["people", "memos", "stamps"] {
      try fixture.container.removeStore(url: fixture.url(name))
    }
    let error = #expect(throws: StorageError.self) {
      try fixture.container.revert(to: .current)
    }
    #expect(error?.kind == .invalidArgument)
  }

  @Test(.evidence("QG-54")) func `members of an object that no longer exists are not compared`()
    throws
  {
    let fixture = try GraphFixture(Schema(Trunk.self))
    let context = fixture.context()
    let (trunk, twig) = (Trunk(context: context), Twig(context: context))
    twig.trunk = trunk
    try context.save()
    context.delete(trunk)
    try context.save()
    try fixture.container.keepGeneration(.current, as: "before")
    let before = try #require(try fixture.container.keptGeneration("before"))
    context.delete(twig)
    try context.save()
    let changes = try fixture.container.changes(from: before, to: .current)
    #expect(changes.deleted == [twig.objectID])
    #expect(changes.inserted.isEmpty && changes.updated.isEmpty)
  }

}
