import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A class with ten integers, as in the benchmark `graph-insert`.
final class Sample: ManagedObject {
  @Attribute var a: Int = 0
  @Attribute var b: Int = 0
  @Attribute var c: Int = 0
  @Attribute var d: Int = 0
  @Attribute var e: Int = 0
  @Attribute var f: Int = 0
  @Attribute var g: Int = 0
  @Attribute var h: Int = 0
  @Attribute var i: Int = 0
  @Attribute var j: Int = 0
}

/// The memory allocations and reference counting of common operations, per object.
///
/// Times depend on the machine, but these counts do not. `Docs/Reference/Performance.md` lists them.
@Suite("The cost of an object")
struct ObjectCostTests {
  private enum Operation: String, CaseIterable {
    case create, insert, fetch, read, change, update, delete, count
  }

  @Test(.spawning) func `allocations and retains do not exceed the documented numbers`() async {
    await #expect(processExitsWith: .success) {
      let count = 2000
      let container = try PersistentContainer.inMemory(schema: Schema(Sample.self))
      let writer = container.newContext()
      var objects: [Sample] = []
      objects.reserveCapacity(count)
      var found: [(String, RetainProbe.Counts)] = []
      func measure(_ name: String, _ body: () throws -> Void) rethrows {
        if let counts = try RetainProbe.measure(body) { found.append((name, counts)) }
      }
      // The first use builds tables and resolves metadata.
      objects.append(Sample(context: writer))
      try writer.save()
      measure("create") {
        for number in 0..<count {
          let sample = Sample(context: writer)
          (sample.a, sample.j) = (number, number)
          objects.append(sample)
        }
      }
      try measure("insert") { try writer.save() }
      let reader = container.newContext()
      let request = FetchRequest<Sample>()
      var fetched: [Sample] = []
      _ = try container.newContext().fetch(request)
      try measure("fetch") { fetched = try reader.fetch(request) }
      var sum = 0
      measure("read") { for sample in fetched { sum &+= sample.a &+ sample.j } }
      measure("change") { for sample in fetched { sample.b = 1 } }
      try measure("update") { try reader.save() }
      try measure("count") { sum &+= try reader.count(for: request) }
      measure("mark as deleted") { for sample in fetched { reader.delete(sample) } }
      try measure("delete") { try reader.save() }
      precondition(sum > 0)
      for (name, counts) in found {
        print(
          "cost of an object: \(name): \(Double(counts.allocations) / Double(count)) allocations, "
            + "\(Double(counts.retains) / Double(count)) retains")
      }
    }
  }
}
