import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

@Suite("The log", .serialized)
struct LogTests {
  @Test(.evidence("L-01")) func `tells more with each level`() async {
    // In a process of its own: other tests fetch at the same time.
    await #expect(processExitsWith: .success) {
      let lines = Mutex<[String]>([])
      func told(_ level: Int, _ body: () throws -> Void) rethrows -> [String] {
        ContextLog.level = level
        try body()
        ContextLog.level = 0
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
      let silent = try told(0) { try save() }
      precondition(silent.isEmpty)
      let saved = try told(1) { try save() }
      precondition(saved.count == 1)
      precondition(matches(saved.first, ["saved 1 new, 0 changed, 0 deleted", " in "]))
      let named = try told(3) { try save() }
      precondition(matches(named.first, ["x-heartwood://"]))
      let fetched = try told(1) { try fetch() }.first
      let sentence = "fetched 3 of Person where age ="
      precondition(matches(fetched, [sentence], without: ["(0)", "x-heart"]))
      let bound = try told(2) { try fetch() }.first
      precondition(matches(bound, ["age = ", "(0)"], without: ["x-heart"]))
      let found = try told(3) { try fetch() }.first
      precondition(matches(found, ["x-heartwood://", "/Person/p"], without: ["every one"]))
      let planned = try told(4) { try fetch() }.first
      precondition(matches(planned, ["Person: every one of 3 rows", "Each is checked: age = "]))
      let counted = try told(4) {
        _ = try context.count(for: FetchRequest<Person>(where: #Predicate { $0.nickname == "x" }))
      }
      precondition(matches(counted.first, ["counted 0 of Person", "Person: every one of 3 rows"]))
    }
  }

  @Test(.evidence("L-01")) func `goes to the standard error if nobody else takes it`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      ContextLog.level = 1
      let fixture = try GraphFixture()
      try fixture.person("Ada")
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("heartwood: saved 1 new"))
  }
}
