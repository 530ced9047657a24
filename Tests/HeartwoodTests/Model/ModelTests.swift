import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Lonely: ManagedObject {
  @Attribute var name: String = ""
  @ToMany var others: Set<Lonely>
}

private final class Doubled: ManagedObject {
  @Attribute var name: String = ""
  @Attribute("name") var other: String = ""
  @Attribute var list: [Int] = []
  override class var entity: Entity { Entity("Doubled") { Index(\Doubled.list) } }
}

private final class Crossed: ManagedObject {
  @ToOne(inverse: \Keeper.id) var keeper: Keeper?
}

private enum Twin {
  final class First: ManagedObject {
    override class var entity: Entity { Entity("Twin") }
  }

  final class Second: ManagedObject {
    override class var entity: Entity { Entity("Twin") }
  }
}

/// A class whose rules use the properties of another object.
private final class Indirect: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var next: Indirect?
  @ToOne var previous: Indirect?

  override class var entity: Entity {
    Entity("Indirect") {
      Index(\Indirect.next?.number)
      Inverse(\Indirect.next?.next, \Indirect.previous)
    }
  }
}

/// A class whose inverse is not a stored property.
private final class Aliased: ManagedObject {
  @ToOne(inverse: \Aliased.alias) var other: Aliased?
  var alias: Aliased? {
    get { nil }
    set {}
  }
}

private final class Unencodable: ManagedObject {
  struct Value: AttributeValue {
    static var storageType: StorageType { .string }
    var storedValue: StoredValue { get throws { throw CancellationError() } }
    init() {}
    init(storedValue: StoredValue) throws { self.init() }
  }

  @Attribute var value = Value()
}

/// The classes of a later version of a program.
private enum Later {
  final class Person: ManagedObject {
    @Attribute var age: Int = 0
    @Attribute var email: String = "unknown"
    @Attribute("name") var fullName: String = ""
    @Attribute var rating: Double? = nil
    override class var entity: Entity { Entity("Person") { Unique(\Person.fullName) } }
  }

  /// `Person` under a new name and with different indexes.
  final class Human: ManagedObject {
    @Attribute(renamedFrom: "age") var years: Int = 0
    @Attribute var name: String = ""
    @Attribute var nickname: String? = nil
    override class var entity: Entity {
      Entity("Human", renamedFrom: "Person") {
        Index(\Human.nickname)
        Unique(\Human.years)
      }
    }
  }

  final class Other: ManagedObject {
    @Attribute var age: String = ""
    override class var entity: Entity { Entity("Person") }
  }
}

@Suite("A model")
struct ModelTests {
  private func refusal(_ types: ManagedObject.Type...) throws -> String {
    let error = try #require(throws: ObjectGraphError.self) {
      try PersistentContainer.inMemory(schema: Schema(types: types))
    }
    #expect(error.kind == .invalidModel)
    return "\(error)"
  }

  @Test(.evidence("M-02"))
  func `an invalid model throws with all its errors`() throws {
    #expect(try refusal(Lonely.self).contains("Lonely.others has no inverse"))
    let doubled = try refusal(Doubled.self)
    #expect(doubled.contains("same name in the store, name") && doubled.contains("list"))
    #expect(try refusal(Crossed.self).contains("Crossed.keeper"))
    #expect(try refusal(Twin.First.self, Twin.Second.self).contains("have the same name, Twin"))
    let indirect = try refusal(Indirect.self)
    #expect(indirect.contains("consists of Indirect.next, Indirect.number"))
    #expect(indirect.contains("An Inverse declaration of Indirect is invalid"))
    #expect(try refusal(Aliased.self).contains("The inverse of Aliased.other is invalid"))
    #expect(try refusal(Unencodable.self).contains("Unencodable.value could not be encoded"))
  }

  @Test(.evidence("M-03"))
  func `a model opens a store of an earlier version`() throws {
    let directory = try ScratchDirectory()
    let url = URL(filePath: directory.path(of: "store"))
    do {
      let container = try PersistentContainer(url: url, schema: people)
      let context = container.newContext()
      let person = Person(context: context)
      person.name = "Ada"
      person.age = 36
      Person(context: context).name = "Bob"
      try context.save()
      try container.store.close()
    }
    do {
      let container = try PersistentContainer(
        url: url, schema: Schema(version: 2, Later.Person.self))
      let context = container.newContext()
      let ada = "Ada"
      let request = FetchRequest<Later.Person>(where: #Predicate { $0.fullName == ada })
      let found = try #require(try context.fetch(request).first)
      #expect(found.age == 36 && found.email == "unknown" && found.rating == nil)
      var old = FetchRequest<Later.Person>()
      old.predicate = try QueryPredicate(format: "email == 'unknown' AND rating == nil")
      #expect(try container.newContext().count(for: old) == 2)
      found.email = "ada@example.org"
      found.rating = 4.5
      try context.save()
      // The store now contains rows in both layouts.
      #expect(try container.newContext().count(for: old) == 1)
      old.predicate = try QueryPredicate(format: "email ENDSWITH 'n' AND rating = nil OR age = 36")
      #expect(try container.newContext().count(for: old) == 2)
      let again = container.newContext()
      let row: Later.Person = again.object(with: found.objectID)
      #expect(row.fullName == "Ada" && row.email == "ada@example.org" && row.rating == 4.5)
      #expect(try container.store.verify().findings == [])
      try container.store.close()
    }
    let older = try #require(throws: ObjectGraphError.self) {
      try PersistentContainer(url: url, schema: people)
    }
    #expect(older.kind == .incompatibleSchema)
    let other = try #require(throws: ObjectGraphError.self) {
      try PersistentContainer(url: url, schema: Schema(version: 3, Later.Other.self))
    }
    #expect(other.kind == .incompatibleSchema && "\(other)".contains("Person.age"))
  }

  @Test(.evidence("M-04"), .evidence("M-05"))
  func `renamed properties and indexes find the existing data`() throws {
    let directory = try ScratchDirectory()
    let url = URL(filePath: directory.path(of: "store"))
    func fill(_ change: (ManagedObjectContext) throws -> Void) throws {
      let container = try PersistentContainer(url: url, schema: people)
      let context = container.newContext()
      try change(context)
      try context.save()
      try container.store.close()
    }
    try fill { context in
      for number in 0..<20 {
        let person = Person(context: context)
        person.name = "p\(number)"
        person.age = number / 2
        person.nickname = number % 3 == 0 ? "third" : nil
      }
    }
    let later = Schema(version: 2, Later.Human.self)
    let refused = try #require(throws: ObjectGraphError.self) {
      try PersistentContainer(url: url, schema: later)
    }
    #expect(refused.kind == .incompatibleSchema && "\(refused)".contains("years"))
    // The rejected migration changed nothing, so the store still opens with the previous model.
    try fill { context in
      for (number, person) in try context.fetch(FetchRequest<Person>()).enumerated() {
        person.age = number
      }
    }
    let container = try PersistentContainer(url: url, schema: later)
    let context = container.newContext()
    let third: String? = "third"
    let named = try context.fetch(
      FetchRequest<Later.Human>(where: #Predicate { $0.nickname == third }))
    #expect(named.count == 7)
    let found = try context.fetch(FetchRequest<Later.Human>(where: #Predicate { $0.years == 13 }))
    #expect(found.map(\.name) == ["p13"])
    let twin = Later.Human(context: context)
    twin.years = 13
    #expect(throws: ObjectGraphError.self) { try context.save() }
    twin.years = 100
    twin.name = "p13"
    try context.save()
    let names = try container.store.snapshot().keyspaceNames
    #expect(names.count { $0.hasPrefix("unique.1.") } == 1)
    #expect(try container.store.verify().findings == [])
  }

  @Test func `a model can be used by several threads at once`() async throws {
    let fixture = try GraphFixture()
    let container = fixture.container
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          let background = container.newBackgroundContext()
          for round in 0..<5 {
            try await background.perform { context in
              Person(context: context).name = "\(worker).\(round)"
              try context.save()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let count = try await container.performBackgroundTask(author: "test") { context in
      try context.count(for: FetchRequest<Person>())
    }
    #expect(count == 20)
  }

  @MainActor @Test func `a container has one view context`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 36)
    let view = fixture.container.viewContext
    #expect(view === fixture.container.viewContext)
    let person: Person = view.object(with: id)
    #expect(person.age == 36)
  }
}
