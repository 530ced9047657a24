import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Measures code that the compiler inlines into programs, and is therefore optimised in a release
/// build, unlike the other tests.
@Suite("Reading properties")
struct PropertyCostTests {
  @Test(.evidence("F-14")) func `reading a property of a loaded object allocates nothing`() async {
    await #expect(processExitsWith: .success) {
      let container = try PersistentContainer.inMemory(schema: Schema(Person.self))
      let context = container.newContext()
      let person = Person(context: context)
      // The name is too long for the inline representation of strings, so copying it would
      // allocate.
      person.name = "a name of more than fifteen bytes"
      person.age = 7
      let car = Car(context: context)
      car.owner = person
      try context.save()
      var sum = 0
      let counts = RetainProbe.measure {
        for _ in 0..<1000 {
          sum += person.age + person.name.utf8.count + (car.owner === person ? 1 : 0)
        }
      }
      precondition(sum == 1000 * (7 + 33 + 1))
      // Unoptimised code allocates each key path.
      if TestBuild.isOptimised, let counts { precondition(counts.allocations == 0, "\(counts)") }
    }
  }
}

final class Person: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var age: Int = 0
  @ToMany(inverse: \Car.owner) var cars: Set<Car>
}

final class Car: ManagedObject {
  @ToOne var owner: Person?
}
