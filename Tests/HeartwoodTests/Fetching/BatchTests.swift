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

  @Test(.evidence("B-01")) func `batched results load faults of the context`() throws {
    let fixture = try filled(6)
    let context = fixture.context()
    let ids = try context.fetchObjectIDs(FetchRequest<Person>())
    let faults: [Person] = ids.map { context.object(with: $0) }
    let batched = try context.fetchBatched(FetchRequest<Person>(batchSize: 2))
    #expect(batched[2] === faults[2])
    #expect(faults.map(\.isFault) == [true, true, false, false, true, true])
    #expect(batched.map(\.age) == [0, 1, 2, 3, 4, 5])
  }

  /// Sets the age of every person to 50 in another context, and saves.
  private func setAges(in fixture: GraphFixture) throws {
    try fixture.saved { other in
      for person in try other.fetch(FetchRequest<Person>()) { person.age = 50 }
    }
  }

  @Test(.evidence("B-01"), .evidence("F-09"), arguments: [false, true], [false, true])
  func `batched results reread loaded objects like any other fetch`(
    isCompared: Bool, isPinned: Bool
  ) throws {
    let fixture = try filled(6)
    let context = fixture.context()
    let loaded = try context.fetch(FetchRequest<Person>())
    loaded[1].nickname = "edited"
    try setAges(in: fixture)
    if isPinned { try context.setQueryGenerationFrom(.current) }
    var request = FetchRequest<Person>(where: #Predicate { $0.age == 50 }, batchSize: 2)
    if isCompared { request.sortDescriptors = [SortDescriptor(\.name, comparator: .lexical)] }
    // An object with edits keeps its other values.
    let batched = try context.fetchBatched(request)
    #expect(batched.map(\.name) == ["p0", "p2", "p3", "p4", "p5"])
    #expect(batched.map(\.age) == Array(repeating: 50, count: 5))
    #expect(try Array(batched) == context.fetch(request))
    #expect(loaded.map(\.age) == [50, 1, 50, 50, 50, 50] && loaded[1].nickname == "edited")
  }

  @Test(.evidence("QG-18"), .evidence("F-09"), arguments: [false, true], [false, true])
  func `batched results reread loaded objects only with their batch`(
    isPinned: Bool, isOverwritten: Bool
  ) throws {
    let fixture = try filled(6)
    let context = fixture.context()
    let loaded = try context.fetch(FetchRequest<Person>())
    try setAges(in: fixture)
    if isPinned { try context.setQueryGenerationFrom(.current) }
    let batched = try context.fetchBatched(
      FetchRequest<Person>(sort: [SortDescriptor(\.name)], batchSize: 2))
    #expect(loaded.map(\.age) == [0, 1, 2, 3, 4, 5])
    #expect(batched[2] === loaded[2] && loaded.map(\.age) == [0, 1, 50, 50, 4, 5])
    if isOverwritten {
      try fixture.saved { other in
        for person in try other.fetch(FetchRequest<Person>()) { person.age = 60 }
      }
      // The context reads the newer generation if it is not pinned.
      #expect(try context.fetch(FetchRequest<Person>(limit: 1)).map(\.age) == [isPinned ? 50 : 60])
    }
    #expect(batched[5] === loaded[5] && loaded[5].age == 50 && loaded[4].age == 50)
    #expect(batched[0] === loaded[0] && loaded[1].age == 50)
    #expect(loaded[0].age == (isOverwritten && !isPinned ? 60 : 50))
    #expect(!context.hasChanges && context.faultError == nil)
  }

  @Test(.evidence("QG-18"), arguments: [false, true], [false, true])
  func `batched results do not make newer objects older`(isOwnSave: Bool, isPinned: Bool) throws {
    let fixture = try filled(6)
    let context = fixture.context()
    if isPinned { try context.setQueryGenerationFrom(.current) }
    let batched = try context.fetchBatched(
      FetchRequest<Person>(sort: [SortDescriptor(\.name)], batchSize: 2))
    #expect(batched[5].age == 5)
    if isOwnSave {
      for person in try context.fetch(FetchRequest<Person>()) { person.age = 50 }
      try context.save()
    } else {
      try setAges(in: fixture)
      if isPinned { try context.setQueryGenerationFrom(.current) }
    }
    let loaded = try context.fetch(FetchRequest<Person>())
    for position in [0, 2, 4] { #expect(batched[position] === loaded[position]) }
    #expect(loaded.map(\.age) == Array(repeating: 50, count: 6))
    // Without `loaded`, the batches would read the objects from the generation of their fetch.
    try withExtendedLifetime(loaded) {
      for person in batched { person.age += 1 }
      try context.save()
    }
    #expect(try fixture.context().fetch(FetchRequest<Person>()).allSatisfy { $0.age == 51 })
  }

  @Test(.evidence("QG-18"), arguments: [false, true])
  func `batched results do not read what others save during the fetch`(merges: Bool) throws {
    let fixture = try GraphFixture(Schema(WakingItem.self))
    try fixture.saved { other in
      for number in 0..<6 { WakingItem(context: other).number = number }
    }
    let context = fixture.context()
    context.automaticallyMergesChangesFromParent = merges
    var saved: Result<Void, any Error>?
    context.undoGroupBegan = {
      guard saved == nil else { return }
      saved = Result {
        try fixture.saved { other in
          for item in try other.fetch(FetchRequest<WakingItem>()) { item.number = 50 }
        }
      }
    }
    // Because of the comparator, the search creates the objects.
    let request = FetchRequest<WakingItem>(
      sort: [SortDescriptor(\.text, comparator: .lexical)], batchSize: 2)
    let batched = try context.fetchBatched(request)
    try #require(saved).get()
    #expect(batched.map(\.number) == [0, 1, 2, 3, 4, 5])
    #expect(try context.fetch(FetchRequest<WakingItem>()).allSatisfy { $0.number == 50 })
    context.undoGroupBegan = nil
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

/// A class whose objects call a closure of their context when they are loaded.
private final class WakingItem: ManagedObject {
  @Attribute var number: Int = 0
  @Attribute var text: String = ""

  override func awakeFromFetch() { managedObjectContext?.undoGroupBegan?() }
}
