import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

final class Reading: ManagedObject {
  @Attribute var number: Int = 0
  @Attribute var weight: Double? = nil
  @Attribute(.indexed) var time: Date = .distantPast
  @Attribute var isOld: Bool = false
  @ToOne(inverse: \Station.readings) var station: Station?
}

final class Sample: ManagedObject {
  @Attribute var first: Int = 0
  @Attribute var second: Int = 0
  @Attribute var third: Int = 0
}

final class Station: ManagedObject {
  @ToMany var readings: Set<Reading>
}

/// Tests the number of allocations and retains for each object.
///
/// The counts are differences between work on many and on few objects, so that the cost of each
/// call is left out.
@Suite("Costs of objects", .enabled(if: TestBuild.isOptimised))
struct ObjectCostTests {
  private static let few = 200
  private static let many = 1200

  /// Fails if the work makes more allocations or retains for each object than allowed.
  private static func expect(
    allocations: Int, retains: Int, _ work: (_ count: Int) throws -> Void
  ) throws {
    try work(few)
    guard let base = try RetainProbe.measure({ try work(few) }),
      let all = try RetainProbe.measure({ try work(many) })
    else { return }
    let count = many - few
    let found = (all.allocations - base.allocations, all.retains - base.retains)
    // Tables and arrays that grow also allocate.
    let spare = count / 5
    precondition(
      found.0 <= allocations * count + spare && found.1 <= retains * count + spare,
      "allocations and retains of \(count) objects: \(found)")
  }

  private static func container(readings count: Int) throws -> PersistentContainer {
    let container = try PersistentContainer.inMemory(schema: Schema(Station.self))
    let context = container.newContext()
    let station = Station(context: context)
    for number in 0..<count {
      let reading = Reading(context: context)
      reading.number = number
      reading.time = Date(timeIntervalSinceReferenceDate: Double(number))
      reading.station = station
    }
    try context.save()
    return container
  }

  @Test(.spawning, .evidence("F-14"))
  func `fetching and reading an object allocates only the object`() async {
    await #expect(processExitsWith: .success) {
      let containers = [
        Self.few: try Self.container(readings: Self.few),
        Self.many: try Self.container(readings: Self.many),
      ]
      try Self.expect(allocations: 1, retains: 12) { count in
        guard let context = containers[count]?.newContext() else { return }
        var sum = 0.0
        for reading in try context.fetch(FetchRequest<Reading>()) {
          sum += Double(reading.number) + (reading.weight ?? 1) + (reading.isOld ? 1 : 0)
          sum += reading.time.timeIntervalSinceReferenceDate
        }
        precondition(sum >= Double(count))
        // Objects that outlive their context need memory for its identity.
        withExtendedLifetime(context) {}
      }
    }
  }

  @Test(.spawning) func `changing an object allocates only the record of the change`() async {
    await #expect(processExitsWith: .success) {
      let container = try Self.container(readings: Self.many)
      let context = container.newContext()
      let readings = try context.fetch(FetchRequest<Reading>())
      // An object's first change allocates the record and its table.
      try Self.expect(allocations: 2, retains: 20) { count in
        for reading in readings[..<count] { reading.weight = (reading.weight ?? 0) + 1 }
        context.rollback()
      }
    }
  }

  @Test(.spawning) func `saving a new object without relationships allocates only the object`()
    async
  {
    await #expect(processExitsWith: .success) {
      let container = try PersistentContainer.inMemory(schema: Schema(Sample.self))
      try Self.expect(allocations: 1, retains: 30) { count in
        let context = container.newContext()
        for number in 0..<count {
          let sample = Sample(context: context)
          (sample.first, sample.second, sample.third) = (number, number, number)
        }
        try context.save()
      }
    }
  }

  @Test(.spawning) func `saving a new object with a relationship and an index allocates little`()
    async
  {
    await #expect(processExitsWith: .success) {
      let container = try PersistentContainer.inMemory(schema: Schema(Station.self))
      // The object, the change of its row, its array of values and the key of its index entry.
      try Self.expect(allocations: 4, retains: 64) { count in
        let context = container.newContext()
        for number in 0..<count {
          let reading = Reading(context: context)
          reading.number = number
          reading.time = Date(timeIntervalSinceReferenceDate: Double(number))
        }
        try context.save()
      }
    }
  }

  @Test(.spawning) func `inserting a row in a batch allocates no object`() async {
    await #expect(processExitsWith: .success) {
      let container = try PersistentContainer.inMemory(schema: Schema(Station.self))
      // The change of the row, its array of values and the key of its index entry.
      try Self.expect(allocations: 3, retains: 36) { count in
        var number = 0
        let insertion = BatchInsertRequest<Reading> { row in
          guard number < count else { return true }
          row[\.number] = number
          row[\.time] = Date(timeIntervalSinceReferenceDate: Double(number))
          number += 1
          return false
        }
        try container.newContext().execute(insertion)
      }
    }
  }
}
