import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Level: ManagedObject {
  @Attribute(.unique) var height: Double = 1
  @Attribute(.unique) var day: Date = .distantPast
  @Attribute(.unique) var code: Int? = nil
}

@Suite("Lookups by a unique attribute")
struct LookupTests {
  @Test(.evidence("F-15"))
  func `lookup finds the saved object with a value, or nothing`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 36)
    let context = fixture.context()
    let found = try context.existingObject(where: \Person.name, equals: "Ada")
    #expect(found?.objectID == id)
    #expect(found?.isFault == false)
    #expect(found?.age == 36)
    let again = try context.existingObject(where: \Person.name, equals: "Ada")
    #expect(again === found)
    let nobody = try context.existingObject(where: \Person.name, equals: "Bob")
    #expect(nobody == nil)
    let long = try context.existingObject(
      where: \Person.name, equals: String(repeating: "x", count: 5000))
    #expect(long == nil)
  }

  @Test(.evidence("F-15"))
  func `lookup counts unsaved changes of the context and of its parent`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada")
    let context = fixture.context()
    let child = fixture.child(of: context)
    let new = Person(context: context)
    new.name = "Bob"
    let found = try context.existingObject(where: \Person.name, equals: "Bob")
    #expect(found === new)
    let childPerson = try child.existingObject(where: \Person.name, equals: "Bob")
    #expect(childPerson?.objectID == new.objectID)
    let ada = try #require(try context.existingObject(where: \Person.name, equals: "Ada"))
    #expect(ada.objectID == id)
    ada.name = "Eve"
    let gone = try context.existingObject(where: \Person.name, equals: "Ada")
    #expect(gone == nil)
    let renamed = try context.existingObject(where: \Person.name, equals: "Eve")
    #expect(renamed === ada)
    context.delete(ada)
    let deleted = try child.existingObject(where: \Person.name, equals: "Eve")
    #expect(deleted == nil)
  }

  @Test(.evidence("F-15"))
  func `lookup reads the generation to which the context is pinned`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    _ = try context.count(for: FetchRequest<Person>())
    try fixture.change(id) { $0.name = "Eve" }
    let found = try context.existingObject(where: \Person.name, equals: "Ada")
    #expect(found?.age == 1)
    let later = try context.existingObject(where: \Person.name, equals: "Eve")
    #expect(later == nil)
  }

  @Test(.evidence("F-15"))
  func `lookup rejects an attribute without a unique constraint`() throws {
    let context = try GraphFixture().context()
    let error = #expect(throws: ObjectGraphError.self) {
      try context.existingObject(where: \Person.age, equals: 3)
    }
    #expect(error?.kind == .unknownProperty)
    #expect(error?.message.contains("Declare Unique(\\Person.age)") == true)
  }

  @Test(.evidence("F-15"))
  func `lookup finds no object of an unrelated class`() throws {
    class Animal: ManagedObject {
      @Attribute var name: String? = nil
      override class var entity: Entity {
        Entity("Animal", isAbstract: true) { Unique(\Animal.name) }
      }
    }
    final class Cat: Animal {}
    final class Dog: Animal {}
    let fixture = try GraphFixture(Schema(Animal.self, Cat.self, Dog.self))
    let context = fixture.context()
    Dog(context: context).name = "Rex"
    _ = Cat(context: context)
    try context.save()
    let dog = try context.existingObject(where: \Dog.name, equals: "Rex")
    #expect(dog != nil)
    let animal = try context.existingObject(where: \Animal.name, equals: "Rex")
    #expect(animal === dog)
    let cat = try context.existingObject(where: \Cat.name, equals: "Rex")
    #expect(cat == nil)
    let nameless = try context.existingObject(where: \Cat.name, equals: nil)
    #expect(nameless == nil)
  }

  @Test(.evidence("FO-02"), .evidence("FO-06"), .evidence("P-06"))
  func `a fetch by a unique value respects offsets, classes and options`() throws {
    class Token: ManagedObject {
      @Attribute var name: String = ""
      override class var entity: Entity { Entity("Token") { Unique(\Token.name) } }
    }
    final class Coin: Token {}
    let fixture = try GraphFixture(Schema(Token.self, Coin.self))
    let context = fixture.context()
    Coin(context: context).name = "Penny"
    try context.save()
    var request = FetchRequest<Token>(where: #Predicate { $0.name == "Penny" })
    #expect(try context.fetch(request).count == 1)
    request.includesSubentities = false
    #expect(try context.fetch(request) == [])
    request.includesSubentities = true
    request.fetchOffset = 1
    #expect(try context.fetch(request) == [])
    let folded = try QueryPredicate<Token>(format: "name ==[c] %@", arguments: ["PENNY"])
    #expect(try context.fetch(FetchRequest(where: folded)).count == 1)
  }

  @Test(.evidence("FO-02")) func `an abstract class has no objects of its own`() throws {
    class Shape: ManagedObject {
      @Attribute var sides: Int = 0
      override class var entity: Entity { Entity("Shape", isAbstract: true) }
    }
    final class Square: Shape {}
    let fixture = try GraphFixture(Schema(Shape.self, Square.self))
    try fixture.saved { Square(context: $0).sides = 4 }
    var request = FetchRequest<Shape>(where: #Predicate { $0.sides == 4 })
    #expect(try fixture.context().fetch(request).count == 1)
    request.includesSubentities = false
    #expect(try fixture.context().fetch(request) == [])
  }

  @Test(.evidence("FO-02")) func `a lookup by ID finds nothing in a class without rows`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada")
    let text = id.uriRepresentation.absoluteString.replacing("/Person/", with: "/Club/")
    let club = try #require(URL(string: text).flatMap { ManagedObjectID(uriRepresentation: $0) })
    let request = FetchRequest<Club>(where: #Predicate { $0.objectID == club })
    #expect(try fixture.context().fetch(request) == [])
    #expect(try fixture.context().count(for: request) == 0)
  }

  @Test(.evidence("F-15"), .evidence("IE-02"), .evidence("V-05"), .evidence("V-06"))
  func `imports match NaN and values that are too long for an index`() throws {
    final class Reading: ManagedObject {
      @Attribute(.unique) var level: Double? = nil
      @Attribute(.unique) var code: String? = nil
      @Attribute var count: Int = 0
      @ToOne var previous: Reading?
    }
    let fixture = try GraphFixture(Schema(Reading.self))
    let long = String(repeating: "x", count: 5000)
    for count in 1...3 {
      let context = fixture.context()
      let level = """
        [{"level": "nan", "count": \(count), "previous": {"level": "nan"}},
        {"level": 1}, {"level": 1}]
        """
      let report = try context.upsert(Reading.self, matching: \.level, from: level) { _ in }
      #expect(report.insertedCount == (count == 1 ? 2 : 0))
      let code = """
        [{"code": "\(long)a", "count": \(count)}, {"code": "\(long)b", "count": \(-count)}]
        """
      let reports = try (0..<2).map { _ in
        try context.upsert(Reading.self, matching: \.code, from: code) { _ in }
      }
      #expect(reports[0].insertedCount == (count == 1 ? 2 : 0) && reports[1].unchangedCount == 2)
      let readings = try context.all(Reading.self)
      #expect(readings.count == 4)
      #expect(readings.first { $0.level?.isNaN == true }?.count == count)
      #expect(readings.first { $0.level?.isNaN == true }?.previous?.count == count)
      let found = try context.existingObject(where: \Reading.code, equals: long + "b")
      #expect(found?.count == -count)
      #expect(try context.existingObject(where: \Reading.level, equals: .nan) == nil)
      try context.save()
    }
  }

  @Test(.evidence("F-15")) func `lookup finds an object that is edited after a save`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0) }
    let context = fixture.context()
    let people: [Person] = ids.map { context.object(with: $0) }
    people[0].name = "Eve"
    #expect(try context.existingObject(where: \Person.name, equals: "Eve") === people[0])
    try context.save()
    people[1].name = "Zoe"
    #expect(try context.existingObject(where: \Person.name, equals: "Zoe") === people[1])
  }

  @Test(.evidence("F-15"), .evidence("V-06"), arguments: [false, true])
  func `lookup finds a negative zero by zero`(isSaved: Bool) throws {
    let fixture = try GraphFixture(Schema(Level.self))
    let context = fixture.context()
    let level = Level(context: context)
    level.height = -0.0
    level.day = Date(timeIntervalSinceReferenceDate: -0.0)
    if isSaved { try context.save() }
    #expect(try context.existingObject(where: \Level.height, equals: 0) === level)
    let zero = Date(timeIntervalSinceReferenceDate: 0)
    #expect(try context.existingObject(where: \Level.day, equals: zero) === level)
    #expect(try context.existingObject(where: \Level.code, equals: 1) == nil)
  }
}
