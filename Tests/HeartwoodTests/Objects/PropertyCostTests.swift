import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Reading properties")
struct PropertyCostTests {
  @Test(.spawning, .evidence("F-14"))
  func `reading a property of a loaded object allocates nothing`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try GraphFixture()
      // The name is too long for the inline representation of strings, so copying it would
      // allocate.
      let id = try fixture.person("a name of more than fifteen bytes", age: 7, cars: 1)
      let context = fixture.context()
      let person = try #require(try context.existingObject(Person.self, with: id))
      let car = try #require(person.cars.first)
      precondition(car.owner === person)
      var sum = 0
      let counts = RetainProbe.measure {
        for _ in 0..<1000 {
          sum += person.age + person.name.utf8.count + (car.owner === person ? 1 : 0)
        }
      }
      precondition(sum == 1000 * (7 + 33 + 1))
      // Unoptimised code allocates each key path.
      #if !DEBUG
        if let counts { precondition(counts.allocations == 0, "\(counts)") }
      #endif
    }
  }
}
