import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

@Suite("The log", .serialized)
struct LogTests {
  @Test(.spawning, .evidence("L-01")) func `each log level adds details`() async {
    // Use a separate process, because other tests fetch at the same time.
    await #expect(processExitsWith: .success) {
      let lines = Mutex<[String]>([])
      func logged(_ level: ContextLog.Level, _ body: () throws -> Void) rethrows -> [String] {
        ContextLog.level = level
        try body()
        ContextLog.level = .off
        return lines.withLock { lines in
          defer { lines = [] }
          return lines
        }
      }
      ContextLog.handler = { line in lines.withLock { $0.append(line) } }
      let fixture = try GraphFixture()
      let context = fixture.context()
      func save() throws {
        Person(context: context).name = "Ada \(UUID())"
        try context.save()
      }
      func fetch() throws {
        _ = try context.fetch(FetchRequest<Person>(where: #Predicate { $0.age == 0 }))
      }
      func matches(_ line: String?, _ parts: [String], without: [String] = []) -> Bool {
        guard let line else { return false }
        return parts.allSatisfy { line.contains($0) } && !without.contains { line.contains($0) }
      }
      let silent = try logged(.off) { try save() }
      precondition(silent.isEmpty)
      let saved = try logged(.operations) { try save() }
      precondition(saved.count == 1)
      precondition(matches(saved.first, ["saved 1 new, 0 changed, 0 deleted", " in "]))
      let named = try logged(.objectIDs) { try save() }
      precondition(matches(named.first, ["x-heartwood://"]))
      let fetched = try logged(.operations) { try fetch() }.first
      let expected = "fetched 3 of Person where age ="
      precondition(matches(fetched, [expected], without: ["(0)", "x-heart"]))
      let bound = try logged(.values) { try fetch() }.first
      precondition(matches(bound, ["age = ", "(0)"], without: ["x-heart"]))
      let found = try logged(.objectIDs) { try fetch() }.first
      precondition(matches(found, ["x-heartwood://", "/Person/p"], without: ["a scan"]))
      let planned = try logged(.accessPaths) { try fetch() }.first
      precondition(matches(planned, ["Person: a scan of all 3 rows", "Filter: age = "]))
      let counted = try logged(.accessPaths) {
        _ = try context.count(for: FetchRequest<Person>(where: #Predicate { $0.nickname == "x" }))
      }
      precondition(matches(counted.first, ["counted 0 of Person", "Person: a scan of all 3 rows"]))
      let all = FetchRequest<Person>()
      let ids = try logged(.values) { _ = try context.fetchObjectIDs(all) }.first
      precondition(matches(ids, ["fetched 3 of Person in "]))
      let values = try logged(.operations) { _ = try context.fetchValues(all, \.name) }.first
      precondition(matches(values, ["counted 3 of Person in "]))
      let batch = try logged(.operations) {
        try context.execute(BatchUpdateRequest<Person> { $0[\.age] = 1 })
      }.first
      precondition(matches(batch, ["updated rows of Person: 3 as "]))
    }
  }

  @Test(.spawning, .evidence("L-01")) func `without a handler the log goes to standard error`()
    async
  {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      ContextLog.level = .operations
      let fixture = try GraphFixture()
      try fixture.person("Ada")
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("heartwood: saved 1 new"))
  }
}
