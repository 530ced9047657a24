import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

private enum Before {
  final class Scan: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var content: Data = Data()
    @ToOne var next: Scan?
  }
}

private enum After {
  final class Scan: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var content: Data = Data()
    @Attribute var capital: String = ""
    @ToMany(inverse: \Scan.previous, renamedFrom: "next") var following: Set<Scan>
    @ToMany var previous: Set<Scan>
    override class var entity: Entity {
      Entity("Scan") {
        Unique(\Scan.capital)
        Derived(\Scan.capital, .uppercase(\Scan.name))
      }
    }
  }
}

@Suite("Memory use of a migration")
struct MigrationMemoryTests {
  @Test(.spawning, .evidence("E-15"))
  func `the memory of a migration does not depend on the number of rows`()
    async
  {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchDirectory()
      let url = URL(filePath: scratch.path)
      var options = ContainerOptions()
      options.store.transactionMemoryByteCount = 8 << 20
      let count = TestScale.pick(quick: 100, all: 400)
      do {
        let container = try PersistentContainer(
          url: url, schema: Schema(Before.Scan.self), options: options)
        var number = 0
        try container.newContext().execute(
          BatchInsertRequest<Before.Scan> { row in
            guard number < count else { return true }
            number += 1
            row[\.name] = "n\(number)"
            row[\.content] = Data(repeating: UInt8(number % 251), count: 1 << 18)
            return false
          })
        try container.store.close()
      }
      let start = try anonymousByteCount()
      let highest = Mutex(start)
      options.progress = { _ in
        let now = (try? anonymousByteCount()) ?? .max
        highest.withLock { $0 = max($0, now) }
      }
      let container = try PersistentContainer(
        url: url, schema: Schema(version: 2, After.Scan.self), options: options)
      let growth = highest.withLock { $0 } - start
      guard growth < 48 << 20 else { fatalError("\(growth) bytes more than at the start") }
      let context = container.newContext()
      var request = FetchRequest<After.Scan>()
      request.predicate = try QueryPredicate(format: "capital == 'N77'")
      let found = try context.fetch(request).map { ($0.name, $0.content.first) }
      let findings = try container.store.verify().findings
      precondition(found.count == 1 && found[0] == ("n77", 77) && findings.isEmpty)
      withExtendedLifetime(context) {}
    }
  }
}
