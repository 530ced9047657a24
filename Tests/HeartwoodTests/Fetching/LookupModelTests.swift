import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Finding or creating")
struct LookupModelTests {
  /// Returns the CPU time, in seconds, for finding or creating the given number of people.
  private func seconds(_ count: Int, isInChild: Bool) throws -> Double {
    let fixture = try GraphFixture()
    let parent = fixture.context()
    let context = isInChild ? fixture.child(of: parent) : parent
    var start = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start)
    for number in 0..<count {
      let name = "\(number * 7919 % count / 2)"
      let person =
        try context.existingObject(where: \Person.name, equals: name) ?? Person(context: context)
      person.name = name
      person.age += 1
    }
    var end = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
    #expect(context.insertedObjects.count == (count + 1) / 2)
    return Double(end.tv_sec - start.tv_sec) + Double(end.tv_nsec - start.tv_nsec) * 1e-9
  }

  @Test(.evidence("FO-08"), arguments: [false, true])
  func `finding or creating n objects takes less than quadratic time`(
    isInChild: Bool
  ) throws {
    _ = try seconds(200, isInChild: isInChild)
    let few = try seconds(1000, isInChild: isInChild)
    let many = try seconds(TestScale.pick(quick: 8000, all: 16_000), isInChild: isInChild)
    // With quadratic time, the ratio would be 256, or 64 in a quick run.
    #expect(many < few * TestScale.pick(quick: 28, all: 80), "\(few), \(many)")
  }

  @Test(.evidence("F-15"), arguments: TestScale.seeds(quick: 2, all: 12))
  func `a lookup returns the same result as a fetch after every kind of change`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try GraphFixture()
    for name in ["a", "b", "c"] { try fixture.person(name) }
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    parent.tracksUndo = true
    child.tracksUndo = seed % 2 == 0
    let names = ["a", "b", "c", "d", "e\u{301}", "\u{e9}", ""]
    for step in 0..<150 {
      let context = random.isTrue(in256: 100) ? child : parent
      let people = try context.fetch(FetchRequest<Person>(sort: [SortDescriptor(\.age)]))
      let person = people.isEmpty ? nil : people[random.below(people.count)]
      let name = names[random.below(names.count)]
      let what = random.below(14)
      switch what {
      case 0, 1, 2: person?.name = name
      case 3: Person(context: context).name = name
      case 4: if let person { context.delete(person) }
      case 5: context.undo()
      case 6: context.redo()
      case 7: context.endUndoGroup()
      case 8: if random.isTrue(in256: 60) { context.rollback() }
      case 9: if let person { try? context.refresh(person, mergeChanges: step % 2 == 0) }
      case 10: context.refreshAllObjects()
      case 11: try? context.save()
      case 12: context.tracksUndo.toggle()
      default:
        let other = fixture.context()
        let theirs = try other.fetch(FetchRequest<Person>())
        if let first = theirs.first { first.name = name }
        try? other.save()
        if let person { try? context.refresh(person, mergeChanges: true) }
      }
      for context in [parent, child] {
        for name in names {
          let found = try context.existingObject(where: \Person.name, equals: name)
          #expect(found?.name ?? name == name, "seed \(seed), step \(step)")
          let fetched = try context.fetch(
            FetchRequest<Person>(where: #Predicate { $0.name == name }, limit: 1)
          ).first
          let isInChild = context === child
          #expect(
            found === fetched,
            "seed \(seed), step \(step), \(what), \(name), in a child: \(isInChild)")
        }
      }
    }
  }

  @Test(.evidence("FO-02"), .evidence("P-09"))
  func `fetching a unique value equals fetching with a further condition`() throws {
    let fixture = try GraphFixture(crates)
    let long = String(repeating: "x", count: 3000)
    let codes: [String?] = ["", "a", "e\u{301}", "a\u{0}b", long, nil]
    let context = fixture.context()
    for (number, code) in codes.enumerated() {
      let crate = number % 2 == 0 ? Crate(context: context) : SealedCrate(context: context)
      (crate.code, crate.number) = (code, number)
    }
    try context.save()
    let clean = fixture.context()
    func check<M: Crate>(_ type: M.Type, includesSubentities: Bool) throws {
      for code in codes + ["\u{e9}", "b", long + "x"] {
        let least = Int.min
        var requests = [
          FetchRequest<M>(where: #Predicate { $0.code == code }),
          FetchRequest<M>(where: #Predicate { code == $0.code }),
          FetchRequest<M>(where: #Predicate { $0.code == code && $0.number >= least }),
        ]
        for index in requests.indices { requests[index].includesSubentities = includesSubentities }
        let found = try requests.map { try clean.fetch($0) }
        #expect(found[0] == found[2] && found[1] == found[2], "\(code ?? "nil"), \(type)")
        for one in requests {
          #expect(try clean.fetchObjectIDs(one) == found[2].map(\.objectID))
          #expect(try clean.count(for: one) == found[2].count)
        }
      }
    }
    try check(Crate.self, includesSubentities: true)
    try check(Crate.self, includesSubentities: false)
    try check(SealedCrate.self, includesSubentities: true)
  }
}
