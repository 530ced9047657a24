import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

final class Owner: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var age: Int = 0
  @ToMany(inverse: \Thing.owner) var things: Set<Thing>
}

final class Thing: ManagedObject {
  @ToOne var owner: Owner?
}

/// Tests the cost of code that the compiler inlines into a program.
///
/// This module is therefore optimised in every build in which Heartwood is optimised.
@Suite("Reading properties")
struct PropertyCostTests {
  @Test(.spawning, .evidence("F-14"))
  func `reading a property of a loaded object allocates nothing`() async {
    await #expect(processExitsWith: .success) {
      let container = try PersistentContainer.inMemory(schema: Schema(Owner.self))
      let context = container.newContext()
      let owner = Owner(context: context)
      // The name is too long for the inline representation of strings, so copying it would
      // allocate.
      owner.name = "a name of more than fifteen bytes"
      owner.age = 7
      let thing = Thing(context: context)
      thing.owner = owner
      try context.save()
      precondition(thing.owner === owner)
      var sum = 0
      let counts = RetainProbe.measure {
        for _ in 0..<1000 {
          sum += owner.age + owner.name.utf8.count + (thing.owner === owner ? 1 : 0)
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
