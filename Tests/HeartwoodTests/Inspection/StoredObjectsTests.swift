import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

private enum V1 {
  final class Note: ManagedObject {
    @Attribute var text: String = ""
    override class var entity: Entity { Entity("Note") }
  }
}

private enum V2 {
  final class Note: ManagedObject {
    @Attribute var text: String = ""
    @Attribute var rank: Int = 0
    override class var entity: Entity { Entity("Note") }
  }
}

@Suite("Objects of a store, read without classes")
struct StoredObjectsTests {
  private let fixture: GraphFixture

  init() throws { fixture = try GraphFixture(towns) }

  private func objects(_ container: PersistentContainer) throws -> StoredObjects {
    try StoredObjects(container.store, at: container.store.snapshot())
  }

  @Test(.evidence("M-08")) func `changes include derived attributes and exclude equal values`()
    throws
  {
    _ = try fixture.saved { context in
      let (town, house) = (Town(context: context), House(context: context))
      (town.name, house.rooms, house.town) = ("Rome", 3, town)
      return [town, house]
    }
    let objects = try objects(fixture.container)
    let house = try #require(objects.id("House/1"))
    let town = try #require(objects.id("Town/1"))
    func set(_ name: String, _ text: String, of id: ManagedObjectID) throws -> [ObjectDifference] {
      try objects.set([(name, text)], of: id, author: nil, commits: true)
    }
    #expect(try set("rooms", "3", of: house).isEmpty)
    let changes = try set("rooms", "5", of: house)
    #expect(changes.map(\.id).sorted() == ["House/1", "Town/1"])
    #expect(changes.first { $0.id == "Town/1" }?.after?["rooms"]?.text == "5")
    expect(.validation, "derived") { _ = try set("rooms", "7", of: town) }
    let missing = try #require(objects.id("House/9"))
    expect(.foreignObject, "House/9") { _ = try set("rooms", "7", of: missing) }
  }

  @Test(.evidence("M-08")) func `an ID is text or a URI of this store`() throws {
    let id = try fixture.saved { [Town(context: $0)] }[0].objectID
    let objects = try objects(fixture.container)
    #expect(objects.id("Town/1") == id)
    #expect(objects.id(id.uriRepresentation.absoluteString) == id)
    let others = try GraphFixture(towns)
    let other = try others.saved { [Town(context: $0)] }[0].objectID
    #expect(objects.id(other.uriRepresentation.absoluteString) == nil)
    #expect(objects.id("Nothing/1") == nil)
    withExtendedLifetime(others) {}
  }

  @Test(.evidence("M-08")) func `are readable if the declarations are missing`() throws {
    _ = try fixture.saved { [Town(context: $0)] }
    try fixture.container.store.write { transaction in
      try transaction.keyspace("heartwood.model").delete("declarations")
    }
    let objects = try objects(fixture.container)
    let town = try #require(objects.id("Town/1"))
    #expect(try objects.values(of: town)?.first { $0.name == "name" }?.value.text == "")
  }

  @Test(.evidence("M-08"))
  func `a column with a related object's attribute has the type of the attribute`() throws {
    let fixture = try GraphFixture(Schema(More.self))
    try fixture.saved { context in
      let more = More(context: context)
      more.other = more
    }
    let names = [
      "flag", "int64", "uint64", "double", "float", "text", "date", "data", "uuid", "decimal",
      "place", "list",
    ]
    let objects = try objects(fixture.container)
    func cells(_ prefix: String) throws -> [String] {
      var found: [String] = []
      let columns = names.map { prefix + $0 }
      try objects.forEachRow(of: ObjectQuery(entity: "More"), columns) { cells in
        found = cells.map { cell in
          guard case .value(_, let type) = cell else { return "no value" }
          return "\(type): \(cell.text ?? "nil")"
        }
      }
      return found
    }
    let own = try cells("")
    #expect(own.count == names.count && !own.contains("no value"))
    #expect(try cells("other.") == own)
  }

  @Test func `are not compared with objects of another model`() throws {
    let store = EvolvingStore()
    let old = try store.withContainer(Schema(V1.Note.self)) { container in
      let context = container.newContext()
      V1.Note(context: context).text = "a"
      try context.save()
      withExtendedLifetime(context) {}
      let generation = try container.store.snapshot().generation
      try container.store.keep(generation, as: "old")
      return generation
    }
    try store.withContainer(Schema(V2.Note.self)) { container in
      let new = try objects(container)
      let old = try StoredObjects(container.store, at: container.store.snapshot(at: old))
      let id = try #require(new.id("Note/1"))
      let versions = try new.versions(of: id)
      #expect(versions.count == 1)
      let oldID = try #require(old.id("Note/1"))
      #expect(try old.versions(of: oldID).map { old.values(of: $0, oldID)?["text"]?.text } == ["a"])
      expect(.incompatibleSchema, "model changed") { _ = try old.changes(to: new) }
    }
  }
}
