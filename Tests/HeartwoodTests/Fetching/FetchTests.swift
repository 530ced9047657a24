import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Fetching")
struct FetchTests {
  private func filled() throws -> GraphFixture {
    let fixture = try GraphFixture()
    for number in 0..<20 { try fixture.person("p\(number)", age: number % 4, cars: number % 3) }
    return fixture
  }

  @Test func `a fetch sorts, skips and limits`() throws {
    let fixture = try filled()
    let context = fixture.context()
    let sort = [SortDescriptor(\Person.age, order: .reverse), SortDescriptor(\Person.name)]
    let all = try context.fetch(FetchRequest<Person>(sort: sort))
    #expect(all.count == 20 && all.first?.name == "p11" && all.first?.age == 3)
    let page = try context.fetch(FetchRequest<Person>(sort: sort, limit: 3, offset: 4))
    #expect(zip(page, all[4..<7]).allSatisfy { $0 === $1 } && page.count == 3)
    #expect(try context.count(for: FetchRequest<Person>(limit: 50, offset: 18)) == 2)
    #expect(try context.fetch(FetchRequest<Person>(offset: 100)).isEmpty)
    #expect(try context.fetchObjectIDs(FetchRequest<Person>(limit: 2)).count == 2)
  }

  @Test(.evidence("FO-01"), .evidence("FO-02"), arguments: [SortOrder.forward, .reverse])
  func `a sort by a value that all objects share decides the order of equal objects`(
    order: SortOrder
  ) throws {
    let fixture = try GraphFixture(animals)
    try fixture.saved { context in
      for number in 0..<60 {
        let animal = Animal(context: context)
        (animal.rank, animal.legs, animal.paws) = (number % 5, number % 3, number)
      }
    }
    let context = fixture.context()
    // The index orders the animals of one rank by their legs.
    let other: SortOrder = order == .forward ? .reverse : .forward
    let request = FetchRequest<Animal>(
      where: #Predicate { $0.rank == 1 },
      sort: [SortDescriptor(\.legs, order: order), SortDescriptor(\.rank, order: other)])
    let groups = (0..<3).map { legs in
      let paws = (0..<60).filter { $0 % 5 == 1 && $0 % 3 == legs }
      return order == .forward ? paws.reversed() : paws
    }
    let expected = order == .forward ? groups : groups.reversed()
    #expect(try context.explain(request).indexes == ["rank, legs"])
    #expect(try context.fetch(request).map(\.paws) == expected.flatMap(\.self))
  }

  @Test(.evidence("P-09"))
  func `a fetch finds the same objects by index, by record and by object`() throws {
    let fixture = try filled()
    let context = fixture.context()
    func names(_ predicate: Predicate<Person>) throws -> [String] {
      try context.fetch(FetchRequest(where: predicate)).map(\.name)
    }
    let name = "p7"
    let none: String? = nil
    let byUnique = try names(#Predicate { $0.name == name })
    #expect(byUnique == ["p7"])
    let byIndex = try names(#Predicate { $0.age == 2 })
    #expect(byIndex.count == 5)
    let byRecord = try names(#Predicate { $0.nickname == none && $0.age == 1 })
    #expect(byRecord.count == 5)
    let byObject = try names(#Predicate { $0.age >= 2 })
    #expect(byObject.count == 10)
    let byBoth = try names(#Predicate { $0.age == 1 && $0.cars.count == 2 })
    #expect(byBoth == ["p5", "p17"])
    let car = "p5's car 1"
    let cars = try context.fetch(FetchRequest<Car>(where: #Predicate { $0.name == car }))
    #expect(cars.first?.owner?.name == "p5")
  }

  @Test(.evidence("F-10"))
  func `a fetch includes unsaved changes`() throws {
    let fixture = try filled()
    let context = fixture.context()
    let request = FetchRequest<Person>(where: #Predicate { $0.age == 3 })
    let found = try context.fetch(request)
    #expect(found.count == 5)
    found[0].age = 100
    context.delete(found[1])
    let new = Person(context: context)
    new.name = "new"
    new.age = 3
    let young = FetchRequest<Person>(where: #Predicate { $0.age == 0 })
    let other = try #require(try context.fetch(young).first)
    other.age = 3
    #expect(Set(try context.fetch(request)) == Set(found[2...] + [new, other]))
    #expect(try context.count(for: request) == 5)
    var stored = request
    stored.includesPendingChanges = false
    #expect(Set(try context.fetch(stored)) == Set(found))
    #expect(try context.count(for: FetchRequest<Person>()) == 20)
  }

  @Test(.evidence("N-01"))
  func `a child's fetch without unsaved changes includes the parent's unsaved changes`() throws {
    let fixture = try filled()
    let parent = fixture.context()
    let people = try parent.fetch(FetchRequest<Person>(sort: [SortDescriptor(\.age)]))
    let (first, last) = (people[0], people[19])
    let oldest = last.age
    first.age = oldest + 2
    last.age = oldest + 1
    let child = fixture.child(of: parent)
    try #require(child.object(with: last.objectID) as? Person).age = oldest + 3
    var request = FetchRequest<Person>(where: #Predicate { $0.age > oldest })
    request.sortDescriptors = [SortDescriptor(\.age)]
    request.includesPendingChanges = false
    let ids = [last.objectID, first.objectID]
    #expect(try child.fetch(request).map(\.objectID) == ids)
    #expect(try child.count(for: request) == 2)
    request.includesPendingChanges = true
    #expect(try child.fetch(request).map(\.objectID) == ids.reversed())
  }

  @Test func `a fetch prefetches related objects`() throws {
    let fixture = try filled()
    let context = fixture.context()
    var request = FetchRequest<Person>()
    request.relationshipKeyPathsForPrefetching = [\.cars]
    let people = try context.fetch(request)
    #expect(people.flatMap(\.cars).count == 19)
    #expect(!people.flatMap(\.cars).contains { $0.isFault })
    request.relationshipKeyPathsForPrefetching = [\.name]
    #expect(throws: ObjectGraphError.self) { try context.fetch(request) }
  }

  @Test func `fetching a class outside the model throws`() throws {
    let fixture = try filled()
    let error = try #require(throws: ObjectGraphError.self) {
      try fixture.context().fetch(FetchRequest<More>())
    }
    #expect(error.kind == .unknownEntity && "\(error)".contains("More"))
  }

  @Test(.evidence("FO-05"), arguments: 0..<2 as Range<UInt64>)
  func `an asynchronous fetch finds the same objects`(seed: UInt64) async throws {
    let herd = try Herd(seed: seed, count: 60)
    for number in 0..<TestScale.pick(quick: 9, all: 40) {
      let condition = RandomCondition.any(&herd.random, depth: number % 3)
      var request = FetchRequest<Animal>(
        sort: [SortDescriptor(\.paws, order: .reverse)], limit: number % 2 == 0 ? nil : 7,
        offset: number % 3)
      request.relationshipKeyPathsForPrefetching = [\.home]
      request.predicate = try QueryPredicate(
        format: condition.format, arguments: condition.arguments)
      for (name, context) in herd.contexts {
        let found = try await context.fetchAsync(request)
        let expected = try context.fetch(request)
        #expect(found == expected, "seed \(seed), \(name): \(condition.format)")
        #expect(found.count { $0.isFault || $0.home?.isFault == true } == 0)
      }
    }
  }

  @Test(.evidence("FO-05")) func `an asynchronous fetch includes changes made meanwhile`()
    async throws
  {
    let fixture = try filled()
    let container = fixture.container
    let context = fixture.context()
    let request = FetchRequest<Person>(where: #Predicate { $0.age == 3 })
    for number in 0..<20 {
      let saved = Task.detached {
        try await container.performBackgroundTask { other in
          let person = Person(context: other)
          (person.name, person.age) = ("late \(number)", 3)
          try other.save()
        }
      }
      let found = try await context.fetchAsync(request).count
      #expect(found == 5 + number || found == 6 + number)
      try await saved.value
      #expect(try await context.fetchAsync(request).count == 6 + number)
    }
    try #require(try context.fetch(request).first).age = 4
    #expect(try await context.fetchAsync(request).count == 24)
  }

  @Test(.evidence("FO-01"), .evidence("FO-02"))
  func `a limit does not change the order of equal objects`() throws {
    let fixture = try GraphFixture(animals)
    try fixture.saved { context in
      for number in 0..<300 {
        let animal = Animal(context: context)
        (animal.rank, animal.legs, animal.paws) = (number % 2, (300 - number) / 3, number)
      }
    }
    let context = fixture.context()
    func check(_ request: FetchRequest<Animal>) throws {
      var request = request
      let all = try context.fetch(request)
      request.fetchLimit = 5
      #expect(try context.fetch(request) == Array(all.prefix(5)))
    }
    try check(FetchRequest(sort: [SortDescriptor(\.rank)]))
    try check(FetchRequest(sort: [SortDescriptor(\.rank, order: .reverse)]))
    for first in [SortOrder.forward, .reverse] {
      for second in [SortOrder.forward, .reverse] {
        try check(
          FetchRequest(
            where: #Predicate { $0.rank == 1 },
            sort: [SortDescriptor(\.legs, order: first), SortDescriptor(\.rank, order: second)]))
      }
    }
  }

  @Test(.evidence("FO-01"), .evidence("FO-02"))
  func `sorting by an optional unique attribute includes objects without a value`() throws {
    let fixture = try GraphFixture(purchases)
    try fixture.saved { context in
      for number in 0..<300 {
        let order = Purchase(context: context)
        (order.number, order.code) = (number, number < 290 ? "c\(number)" : nil)
      }
    }
    let request = FetchRequest<Purchase>(sort: [SortDescriptor(\.code)], limit: 3)
    #expect(try fixture.context().fetch(request).map(\.number) == [290, 291, 292])
  }

  @Test(.evidence("FO-01"), arguments: [SortOrder.forward, .reverse], [false, true])
  func `a comparator does not affect how other descriptors sort`(
    order: SortOrder, isSaved: Bool
  ) throws {
    let fixture = try GraphFixture(Schema(WeighedItem.self))
    let context = fixture.context()
    for (position, weight) in [2, .nan, nil, -1, .nan, -0.0, 0, nil, .infinity].enumerated() {
      let item = WeighedItem(context: context)
      (item.weight, item.mass) = (weight ?? 7, weight.map { Float($0) })
      item.time = weight.map { Date(timeIntervalSinceReferenceDate: $0) }
      (item.name, item.count) = ("\(position % 3)", weight.map { $0 < 1 ? 1 : 2 })
    }
    if isSaved { try context.save() }
    func check(_ first: SortDescriptor<WeighedItem>) throws {
      let plain = FetchRequest<WeighedItem>(sort: [first, SortDescriptor(\.name, order: order)])
      let compared = FetchRequest<WeighedItem>(
        sort: [first, SortDescriptor(\.name, comparator: .lexical, order: order)])
      #expect(try context.fetch(compared) == context.fetch(plain))
      #expect(try context.fetchObjectIDs(compared) == context.fetchObjectIDs(plain))
    }
    try check(SortDescriptor(\.weight, order: order))
    try check(SortDescriptor(\.mass, order: order))
    try check(SortDescriptor(\.time, order: order))
    try check(SortDescriptor(\.count, order: order))
  }

  @Test(.evidence("FO-04"), .evidence("LR-01"), arguments: [false, true])
  func `a fetch without unsaved changes sorts by stored values and returns them`(
    isChild: Bool
  ) throws {
    let fixture = try filled()
    let parent = fixture.context()
    let context = isChild ? fixture.child(of: parent) : parent
    var request = FetchRequest<Person>(
      sort: [SortDescriptor(\.age), SortDescriptor(\.name, comparator: .lexical)], limit: 5,
      offset: 3)
    request.includesPendingChanges = false
    let expected = try context.fetch(request)
    let names = ["p4", "p8", "p1", "p13", "p17"]
    #expect(expected.map(\.name) == names)
    for person in try context.fetch(FetchRequest<Person>()) {
      (person.name, person.age) = (String(person.name.reversed()), 100 - person.age)
    }
    context.delete(expected[0])
    Person(context: context).age = 0
    #expect(try context.fetch(request) == expected)
    #expect(try context.fetchObjectIDs(request) == expected.map(\.objectID))
    let rows = try context.fetchValues(request, \.name, \.age)
    #expect(rows.map(\.0) == names && rows.map(\.1) == [0, 0, 1, 1, 1])
    let controller = FetchedResultsController(
      fetchRequest: request, context: context, sectionedBy: \.age)
    try controller.performFetch()
    #expect(controller.objectIDs == expected.map(\.objectID))
    #expect(controller.sections.map(\.name) == ["0", "1"])
    #expect(controller.sections.map(\.count) == [2, 3])
    (request.fetchLimit, request.fetchOffset) = (nil, 0)
    let ages = try context.fetchValues(request, \.age)
    #expect(ages == [0, 1, 2, 3].flatMap { Array(repeating: $0, count: 5) })
  }
}

private final class WeighedItem: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var weight: Double = 0
  @Attribute var mass: Float? = nil
  @Attribute var time: Date? = nil
  @Attribute var count: Int? = nil
}
