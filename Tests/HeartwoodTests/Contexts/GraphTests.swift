import Foundation
import Heartwood
import Testing

@Suite("An object graph")
struct GraphTests {
  @Test func `saved objects are the same in another context`() throws {
    let container = try PersistentContainer.inMemory(schema: people)
    let context = container.newContext()
    let ada = Person(context: context)
    ada.name = "Ada"
    ada.age = 36
    let car = Car(context: context)
    car.owner = ada
    #expect(ada.cars == [car])
    try context.save()
    #expect(!ada.objectID.isTemporary && !context.hasChanges)

    let other = container.newContext()
    let found = try other.fetch(FetchRequest<Person>(where: #Predicate { $0.name == "Ada" }))
    #expect(found.map(\.age) == [36])
    #expect(found.first?.nickname == nil)
    #expect(found.first?.cars.count == 1)
    #expect(found.first?.cars.first?.owner === found.first)
    #expect(try container.store.verify().findings == [])
  }
}
