import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Reads of a pinned context")
struct PinnedReadingTests {
  @Test(.evidence("QG-20")) func `every kind of read in a pinned context returns its generation`()
    throws
  {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob", "Cid"].enumerated().map { number, name in
      try fixture.person(name, age: 10 * number)
    }
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    let all = FetchRequest<Person>(sort: [SortDescriptor(\.age, order: .reverse)])
    #expect(try context.fetch(all).map(\.name) == ["Cid", "Bob", "Ada"])
    context.reset()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.count(for: all) == 3)
    try fixture.change(ids[0]) { $0.age = 99 }
    try fixture.change(ids[1]) { $0.managedObjectContext?.delete($0) }
    try fixture.person("Dan", age: 50)
    #expect(try context.count(for: all) == 3)
    #expect(try context.fetch(all).map(\.name) == ["Cid", "Bob", "Ada"])
    let ages: [Int] = try context.fetchValues(all, \.age)
    #expect(ages == [20, 10, 0])
    let sum = try context.aggregate(all, .sum(\.age))
    #expect(sum == 30)
    let groups = try context.aggregate(all, by: \.name, .count)
    #expect(groups.count == 3)
    let old = 5
    let grown = FetchRequest<Person>(where: #Predicate { $0.age > old })
    #expect(try Set(context.fetch(grown).map(\.name)) == ["Bob", "Cid"])
    try context.setQueryGenerationFrom(.current)
    #expect(try context.fetch(all).map(\.name) == ["Ada", "Dan", "Cid"])
  }

  @Test(.evidence("H-10"))
  func `the current history token is the position after the last transaction`() throws {
    let fixture = try GraphFixture()
    #expect(try fixture.container.currentHistoryToken == nil)
    #expect(try fixture.container.newestTransactionNumber() == 0)
    try fixture.person("Ada")
    try fixture.person("Bob")
    let all = try fixture.container.fetchHistory(after: nil as PersistentHistoryToken?)
    let token = try fixture.container.currentHistoryToken
    #expect(all.count == 2 && token == all.last?.token)
    #expect(try fixture.container.fetchHistory(after: token).isEmpty)
    try fixture.person("Cid")
    #expect(try fixture.container.fetchHistory(after: token).count == 1)
    #expect(try fixture.container.newestTransactionNumber() == 3)
  }

  @Test(.evidence("QG-04"))
  func `a pinned context finds no object by its ID in a generation without objects`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.count(for: FetchRequest<Person>()) == 0)
    let id = try fixture.person("Ada")
    let request = FetchRequest<Person>(where: #Predicate { $0.objectID == id })
    #expect(try context.fetch(request).isEmpty)
    try context.setQueryGenerationFrom(nil)
    #expect(try context.fetch(request).map(\.name) == ["Ada"])
  }

  @Test(.evidence("QG-21"))
  func `merging the history brings a pinned context to later generations`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let view = fixture.context()
    try view.setQueryGenerationFrom(.current)
    let ada = try #require(try view.existingObject(Person.self, with: id))
    #expect(ada.age == 1)
    let token = try fixture.container.currentHistoryToken
    try fixture.change(id) { $0.age = 2 }
    let news = try fixture.container.fetchHistory(after: token)
    #expect(news.count == 1)
    #expect(try view.existingObject(Person.self, with: id)?.age == 1)
    for transaction in news { try view.mergeChanges(from: transaction) }
    #expect(ada.age == 2)
  }

  /// Creates a person, and saves first one car of the person and then another.
  ///
  /// - Returns: Two contexts, pinned to the generations after the first and the second save.
  private func twoGenerations(_ fixture: GraphFixture) throws -> [ManagedObjectContext] {
    let id = try fixture.person("Ada")
    return try ["Bug", "Van"].map { name in
      try fixture.change(id) { person in
        guard let context = person.managedObjectContext else { return }
        let car = Car(context: context)
        car.name = name
        car.owner = person
      }
      let context = fixture.context()
      try context.setQueryGenerationFrom(.current)
      _ = try context.count(for: FetchRequest<Person>())
      return context
    }
  }

  @Test(.evidence("QG-30"), arguments: [false, true])
  func `moving the pin shows the new generation's members, not those read before`(
    isChanged: Bool
  ) throws {
    let fixture = try GraphFixture()
    let generations = try twoGenerations(fixture)
    let context = fixture.context()
    let ada = try #require(try context.fetch(FetchRequest<Person>()).first)
    if isChanged { ada.age = 40 }
    try context.setQueryGenerationFrom(generations[0].queryGenerationToken)
    #expect(ada.cars.map(\.name) == ["Bug"])
    try context.setQueryGenerationFrom(generations[1].queryGenerationToken)
    _ = try context.fetch(FetchRequest<Person>())
    #expect(Set(ada.cars.map(\.name)) == ["Bug", "Van"])
    #expect(ada.age == (isChanged ? 40 : 0))
  }

  @Test(.evidence("QG-30"), arguments: [false, true])
  func `a moved pin shows the members of its generation, not those read in a later one`(
    isChanged: Bool
  ) throws {
    let fixture = try GraphFixture()
    let generations = try twoGenerations(fixture)
    let context = fixture.context()
    try context.setQueryGenerationFrom(generations[0].queryGenerationToken)
    let ada = try #require(try context.fetch(FetchRequest<Person>()).first)
    if isChanged { ada.age = 40 }
    try context.setQueryGenerationFrom(nil)
    #expect(Set(ada.cars.map(\.name)) == ["Bug", "Van"])
    try context.setQueryGenerationFrom(generations[0].queryGenerationToken)
    #expect(Set(ada.cars.map(\.name)) == ["Bug", "Van"])
    _ = try context.fetch(FetchRequest<Person>())
    #expect(ada.cars.map(\.name) == ["Bug"])
    #expect(ada.age == (isChanged ? 40 : 0))
  }

  @Test(.evidence("QG-30"))
  func `a moved pin shows the members of an edited object that its generation lacked`() throws {
    let fixture = try GraphFixture()
    try fixture.person("Bob")
    let earlier = try fixture.container.newContext(pinnedTo: .current)
    #expect(try earlier.count(for: FetchRequest<Person>()) == 1)
    let id = try fixture.person("Ada", cars: 1)
    let context = fixture.context()
    let ada = try #require(try context.existingObject(Person.self, with: id))
    ada.age = 40
    try context.setQueryGenerationFrom(earlier.queryGenerationToken)
    try context.refresh(ada, mergeChanges: true)
    #expect(ada.cars.isEmpty)
    try context.setQueryGenerationFrom(nil)
    _ = try context.fetch(FetchRequest<Person>())
    #expect(ada.cars.count == 1 && ada.age == 40)
  }

  enum Edit: CaseIterable { case value, removal, addition }

  @Test(.evidence("C-06"), arguments: Edit.allCases, [false, true])
  func `a saved object shows the members in the store, not those read in an earlier generation`(
    edit: Edit, isPinned: Bool
  ) throws {
    let fixture = try GraphFixture()
    let generations = try twoGenerations(fixture)
    let context = fixture.context()
    let ada = try #require(try context.fetch(FetchRequest<Person>()).first)
    try context.setQueryGenerationFrom(generations[0].queryGenerationToken)
    #expect(ada.cars.map(\.name) == ["Bug"])
    var expected = ["Bug", "Van"]
    switch edit {
    case .value: ada.age = 40
    case .removal:
      ada.cars = []
      expected = ["Van"]
    case .addition:
      let car = Car(context: context)
      car.name = "Cab"
      ada.cars.insert(car)
      expected = ["Bug", "Cab", "Van"]
    }
    if !isPinned { try context.setQueryGenerationFrom(nil) }
    try context.save()
    #expect(ada.cars.map(\.name).sorted() == expected && !context.hasChanges)
    #expect(ada.cars.allSatisfy { $0.owner === ada })
    let stored = try #require(try fixture.context().fetch(FetchRequest<Person>()).first)
    #expect(stored.cars.map(\.name).sorted() == expected && stored.age == ada.age)
  }

  @Test(.evidence("R-19"))
  func `members counted in an earlier generation are loaded like those that were read`() throws {
    let fixture = try GraphFixture()
    let generations = try twoGenerations(fixture)
    let shown = try [false, true].map { isCounted in
      let context = fixture.context()
      let ada = try #require(try context.fetch(FetchRequest<Person>()).first)
      try context.setQueryGenerationFrom(generations[0].queryGenerationToken)
      #expect((isCounted ? ada.$cars.count : ada.cars.count) == 1)
      try context.setQueryGenerationFrom(nil)
      return ada.cars.map(\.name).sorted()
    }
    #expect(shown[0] == shown[1])
  }

  @Test(.evidence("QG-27"), arguments: [false, true])
  func `a merge shows the new members although others were read before`(
    saves: Bool
  ) throws {
    let fixture = try GraphFixture()
    let generations = try twoGenerations(fixture)
    let context = fixture.context()
    let ada = try #require(try context.fetch(FetchRequest<Person>()).first)
    ada.age = 40
    try context.setQueryGenerationFrom(generations[0].queryGenerationToken)
    #expect(ada.cars.map(\.name) == ["Bug"])
    try fixture.person("Bob")
    if saves {
      try context.save()
    } else {
      let last = try #require(
        try fixture.container.fetchHistory(after: nil as PersistentHistoryToken?).last)
      try context.mergeChanges(from: last)
    }
    _ = try context.fetch(FetchRequest<Person>())
    #expect(Set(ada.cars.map(\.name)) == ["Bug", "Van"])
  }

  /// Saves 400 versions of a 32 KiB value, which writes 13 MB of page images.
  ///
  /// Only the pinned version and the newest version must remain readable, so the log must stay much
  /// smaller.
  @Test(.evidence("QG-49"))
  func `the cost of reads in a pinned context does not depend on later writes`() throws {
    let directory = try ScratchDirectory()
    var options = ContainerOptions()
    options.store.durability = .normal
    options.store.segmentByteCount = 1 << 20
    options.tracksHistory = false
    let container = try PersistentContainer(
      url: URL(filePath: directory.path(of: "store")), schema: Schema(Everything.self),
      options: options)
    let writer = container.newContext()
    let object = Everything(context: writer)
    object.data = Data(repeating: 0, count: 32 << 10)
    try writer.save()
    let view = container.newContext()
    try view.setQueryGenerationFrom(.current)
    #expect(try view.count(for: FetchRequest<Everything>()) == 1)
    for number in 1...400 {
      object.data = Data(repeating: UInt8(number % 256), count: 32 << 10)
      try writer.save()
    }
    try container.store.checkpoint()
    let statistics = container.store.statistics
    #expect(statistics.logByteCount < 6 << 20)
    if statistics.canPunchHoles {
      #expect(statistics.logByteCount <= statistics.logByteBound ?? 0)
    }
    let old = try #require(try view.fetch(FetchRequest<Everything>()).first)
    #expect(old.data == Data(repeating: 0, count: 32 << 10))
    #expect(try container.store.verify().findings == [])
    try container.store.close()
  }

  @Test(.evidence("I-04"), .evidence("LR-01"), arguments: [false, true])
  func `an edited object without a row has no changes once its edits are saved`(
    overwrites: Bool
  ) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let (context, other) = (fixture.context(), fixture.context())
    let person = try #require(try context.existingObject(Person.self, with: id))
    other.delete(try #require(try other.existingObject(Person.self, with: id)))
    try other.save()
    try context.setQueryGenerationFrom(.current)
    context.mergePolicy = overwrites ? .overwrite : .mergeByPropertyObjectTrump
    let people = FetchedResultsController(fetchRequest: FetchRequest<Person>(), context: context)
    try people.performFetch()
    person.age = 5
    try context.save()
    #expect(!person.hasChanges && !context.hasChanges && person.age == 5)
    #expect(people.objectIDs == [id])
    other.delete(try #require(try other.existingObject(Person.self, with: id)))
    try other.save()
    try context.setQueryGenerationFrom(.current)
    #expect(people.isEmpty)
    #expect(try context.fetch(FetchRequest<Person>()).isEmpty)
  }
}
