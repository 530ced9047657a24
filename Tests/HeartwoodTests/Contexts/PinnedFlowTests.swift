import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Driver: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var age: Int = 0
  @ToMany(inverse: \Vehicle.driver) var vehicles: Set<Vehicle>
}

private final class Vehicle: ManagedObject {
  @ToOne var driver: Driver?
}

/// Tests reads and saves in a pinned context after another context has changed a hundred rows.
@Suite("A pinned context beside others")
struct PinnedFlowTests {
  private func driver(_ name: String) -> FetchRequest<Driver> {
    FetchRequest<Driver>(where: #Predicate { $0.name == name })
  }

  private func fixture() throws -> GraphFixture {
    let fixture = try GraphFixture(Schema(Driver.self, Vehicle.self))
    let context = fixture.context()
    for number in 0..<100 {
      let driver = Driver(context: context)
      driver.name = "dave\(number)"
      driver.age = number
      Vehicle(context: context).driver = driver
    }
    try context.save()
    return fixture
  }

  /// Deletes the vehicle of one driver, and gives all drivers the same name.
  private func changeAll(_ context: ManagedObjectContext) throws {
    try context.performAndWait {
      let dave0 = try #require(try context.fetch(driver("dave0")).first)
      for vehicle in dave0.vehicles { context.delete(vehicle) }
      try context.save()
      var update = BatchUpdateRequest<Driver> { $0[\.name] = "DaveUpdate" }
      update.resultType = .count
      let result = try context.execute(update)
      #expect(result.count == 100)
    }
  }

  @Test(
    .evidence("QG-04"), .evidence("QG-06"), .evidence("QG-16"), .evidence("QG-23"),
    .evidence("QG-25"), arguments: MergePolicy.Each.allCases, [false, true])
  func `a pinned context reads its generation and saves by its merge policy`(
    policy: MergePolicy.Each, unpins: Bool
  ) throws {
    let fixture = try fixture()
    let (pinned, other) = (fixture.context(), fixture.context())
    pinned.mergePolicy = policy.policy
    pinned.generationAfterSave = unpins ? .unpin : .advance
    try pinned.performAndWait {
      #expect(pinned.queryGenerationToken == nil)
      try pinned.setQueryGenerationFrom(.current)
      #expect(pinned.queryGenerationToken != nil)
      let dave0 = try #require(try pinned.fetch(driver("dave0")).first)
      #expect(dave0.age == 0 && dave0.vehicles.count == 1)
      try changeAll(other)
      #expect(try other.fetch(driver("dave23")).isEmpty)
      let dave23 = try #require(try pinned.fetch(driver("dave23")).first)
      #expect(dave23.name == "dave23" && dave23.vehicles.count == 1)
      let again = try #require(try pinned.fetch(driver("dave0")).first)
      #expect(again.vehicles.count == 1)
      let token = pinned.queryGenerationToken
      dave23.name = "NAME_23"
      try save(pinned, dave23, policy)
      let after = pinned.queryGenerationToken
      if policy == .error {
        #expect(after == token && dave23.name == "NAME_23" && dave23.hasChanges)
      } else {
        #expect((after == nil) == unpins && after != token)
        #expect(dave23.name == (policy.prefersMine ? "NAME_23" : "DaveUpdate"))
        #expect(try pinned.fetch(driver("dave0")).isEmpty)
      }
    }
    let names = try fixture.context().fetchValues(FetchRequest<Driver>(), \.name)
    #expect(names.count { $0 == "NAME_23" } == (policy.prefersMine ? 1 : 0))
    #expect(names.count { $0 == "DaveUpdate" } == (policy.prefersMine ? 99 : 100))
  }

  private func save(
    _ context: ManagedObjectContext, _ object: Driver, _ policy: MergePolicy.Each
  ) throws {
    guard policy == .error else { return try context.save() }
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .mergeConflict && error?.objectID == object.objectID)
    #expect(error?.failures.isEmpty == true)
  }
}
