import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Saving a child whose parent has newer edits")
struct NestedSavingTests {
  @Test(.evidence("C-05"), .evidence("N-02"), arguments: [false, true])
  func `setting a property to its current value in a child keeps the newer value of the parent`(
    savesMore: Bool
  ) throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob", "Cid"].map { try fixture.person($0, age: 1, cars: 1) }
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let people: [Person] = ids.map { parent.object(with: $0) }
    let own: [Person] = ids.map { child.object(with: $0) }
    #expect(own.map(\.age) == [1, 1, 1])
    let ownCar = try #require(own[0].cars.first)
    let car: Car = parent.object(with: ownCar.objectID)
    #expect(ownCar.owner === own[0])
    people[0].age = 5
    car.owner = people[2]
    own[0].age = own[0].age
    ownCar.owner = own[1]
    ownCar.owner = own[0]
    if savesMore { own[1].age = 7 }
    try child.save()
    #expect(people.map(\.age) == [5, savesMore ? 7 : 1, 1])
    #expect(car.owner === people[2] && people.map(\.cars.count) == [0, 1, 2])
    #expect(!child.hasChanges && child.updatedObjects == [])
    try child.fetch(FetchRequest<Person>()).forEach { #expect($0.isUpdated == false) }
    #expect(own[0].age == 5)
  }
}
