import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Batched results")
struct BatchTests {
  private func filled(_ count: Int) throws -> GraphFixture {
    let fixture = try GraphFixture()
    let context = fixture.context()
    for number in 0..<count {
      let person = Person(context: context)
      person.name = "p\(number)"
      person.age = number % 7
    }
    try context.save()
    return fixture
  }

  @Test(.evidence("B-01")) func `batched results equal a fetch, in its order`() throws {
    let fixture = try filled(250)
    let context = fixture.context()
    let new = Person(context: context)
    new.name = "new"
    new.age = 3
    var requests = [
      FetchRequest<Person>(), FetchRequest<Person>(limit: 30, offset: 240, batchSize: 7),
      FetchRequest<Person>(sort: [SortDescriptor(\.age), SortDescriptor(\.name)], batchSize: 64),
    ]
    requests.append(FetchRequest<Person>(where: #Predicate { $0.age == 3 }, batchSize: 10))
    requests.append(FetchRequest<Person>(where: #Predicate { $0.age > 3 }, offset: 5))
    for request in requests {
      let all = try context.fetch(request)
      let batched = try context.fetchBatched(request)
      #expect(!all.isEmpty && Array(batched) == all)
      #expect(batched.objectIDs == all.map(\.objectID))
      #expect(Array(batched.reversed()) == all.reversed())
      #expect(try context.fetchObjectIDs(request) == all.map(\.objectID))
    }
    let child = fixture.child(of: context)
    let childResults = try child.fetchBatched(FetchRequest<Person>(batchSize: 9))
    #expect(
      childResults.count == 251 && childResults.last?.name == "new"
        && childResults.first?.name == "p0")
    // A save changes the IDs of new objects, but the result still finds these objects.
    let pending = try context.fetchBatched(FetchRequest<Person>())
    try context.save()
    #expect(pending.last === new && pending[0].name == "p0")
  }

  @Test(.evidence("B-01"), .evidence("B-02"))
  func `batched results load and retain one batch at a time`() throws {
    let fixture = try filled(100)
    let context = fixture.context()
    let batched = try context.fetchBatched(FetchRequest<Person>(batchSize: 10))
    #expect(context.registeredObjects.isEmpty)
    #expect(!batched[25].isFault)
    #expect(context.registeredObjects.count == 10)
    #expect(batched[20].name == "p20" && batched[29].name == "p29")
    #expect(context.registeredObjects.count == 10)
    #expect(batched[99].name == "p99" && context.registeredObjects.count == 10)
  }

  @Test(.evidence("QG-18")) func `batched results stay in the generation of their fetch`() throws {
    let fixture = try filled(20)
    let context = fixture.context()
    let batched = try context.fetchBatched(FetchRequest<Person>(batchSize: 5))
    #expect(batched[0].age == 0)
    let other = fixture.context()
    for person in try other.fetch(FetchRequest<Person>()) {
      if person.age == 6 { other.delete(person) } else { person.age = 100 }
    }
    try other.save()
    #expect(try context.count(for: FetchRequest<Person>()) == 18)
    #expect(batched.map(\.age) == (0..<20).map { $0 % 7 })
    #expect(!context.hasChanges && context.faultError == nil)
  }

  @Test(.spawning, .evidence("B-02"))
  func `batched results of a million objects use little memory`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchDirectory()
      let container = try PersistentContainer(
        url: URL(filePath: scratch.path), schema: Schema(Sample.self))
      #if DEBUG
        let count = TestScale.pick(quick: 10_000, all: 20_000)
      #else
        let count = 1_000_000
      #endif
      let context = container.newContext()
      for first in stride(from: 0, to: count, by: 10_000) {
        for number in first..<first + 10_000 { Sample(context: context).value = number }
        try context.save()
      }
      let start = try anonymousByteCount()
      var sum = 0
      var highest = start
      let results = try context.fetchBatched(FetchRequest<Sample>())
      for (position, sample) in results.enumerated() {
        sum += sample.value
        if position % 10_000 == 0 { highest = max(highest, try anonymousByteCount()) }
      }
      precondition(sum == count * (count - 1) / 2)
      guard highest - start < 64 << 20 else {
        fatalError("\(highest - start) bytes more than at the start")
      }
      let findings = try container.store.verify().findings
      precondition(findings.isEmpty)
    }
  }
}

private final class Sample: ManagedObject {
  @Attribute var value: Int = 0
  @Attribute var text: String = "a text of more than fifteen bytes"
}
