import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

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
}
