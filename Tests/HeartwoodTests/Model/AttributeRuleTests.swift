import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Classes whose entities declare the same rules that `AttributeRules` declares in attributes.
private enum EntityRules {
  class Event: ManagedObject {
    @Attribute var code: String = ""
    @Attribute var time: Date = .distantPast
    override class var entity: Entity {
      Entity("Event") {
        Unique(\Event.code)
        Index(\Event.time)
      }
    }
  }

  final class Concert: Event {
    @Attribute var hall: Int = 0
    override class var entity: Entity { Entity("Concert") { Index(\Concert.hall) } }
  }
}

private enum AttributeRules {
  class Event: ManagedObject {
    @Attribute(.unique) var code: String = ""
    @Attribute(.indexed) var time: Date = .distantPast
    override class var entity: Entity { Entity("Event") }
  }

  final class Concert: Event {
    @Attribute(.indexed) var hall: Int = 0
    override class var entity: Entity { Entity("Concert") }
  }
}

private final class Repeated: ManagedObject {
  @Attribute(.unique, .indexed) var code: String = ""
  @Attribute(.indexed, name: "n", renamedFrom: "m") var number: Int = 0
  override class var entity: Entity {
    Entity("Repeated") {
      Unique(\Repeated.code)
      Index(\Repeated.number)
    }
  }
}

private final class Unordered: ManagedObject {
  @Attribute(.indexed) var price: Decimal = 0
}

@Suite("Rules of attributes")
struct AttributeRuleTests {
  @Test func `mean the same as rules of the entity, and rebuild no index`() throws {
    let directory = try ScratchDirectory()
    let url = URL(filePath: directory.path(of: "store"))
    let first = try PersistentContainer(
      url: url, schema: Schema(EntityRules.Event.self, EntityRules.Concert.self))
    let context = first.newContext()
    for number in 0..<500 {
      let concert = EntityRules.Concert(context: context)
      (concert.code, concert.hall) = ("\(number)", number)
      concert.time = Date(timeIntervalSince1970: Double(number))
    }
    try context.save()
    let generation = first.store.statistics.newestGeneration
    try first.store.close()

    let second = try PersistentContainer(
      url: url, schema: Schema(AttributeRules.Event.self, AttributeRules.Concert.self))
    #expect(second.store.statistics.newestGeneration == generation)
    let other = second.newContext()
    let hall = FetchRequest<AttributeRules.Concert>(where: #Predicate { $0.hall == 3 })
    #expect(try other.explain(hall).indexes == ["hall"])
    let time = FetchRequest<AttributeRules.Event>(sort: [SortDescriptor(\.time)], limit: 1)
    #expect(try other.explain(time).indexes == ["time"])
    AttributeRules.Concert(context: other).code = "7"
    #expect(throws: ObjectGraphError.self) { try other.save() }
    try second.store.close()
  }

  @Test func `that repeat rules of the entity add no index`() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(Repeated.self))
    let context = container.newContext()
    Repeated(context: context).code = "a"
    try context.save()
    let names = try container.store.read { try $0.keyspaceNames }
    #expect(names.filter { $0.hasPrefix("unique.") }.count == 1)
    #expect(names.filter { $0.hasPrefix("index.") }.count == 1)
  }

  @Test func `need values that an index can order`() {
    let error = #expect(throws: ObjectGraphError.self) {
      try PersistentContainer.inMemory(schema: Schema(Unordered.self))
    }
    #expect(error?.kind == .invalidModel)
    #expect(error?.message.contains("Unordered.price") == true)
  }
}
