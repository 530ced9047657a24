import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("The copy of a feed")
struct FeedCopyTests {
  /// Makes random changes, with two contexts.
  private final class Source {
    let fixture: GraphFixture
    private let contexts: [ManagedObjectContext]
    private var random: SeededGenerator
    private var count = 0

    init(_ random: SeededGenerator) throws {
      fixture = try GraphFixture()
      self.random = random
      contexts = (0..<2).map { [fixture] _ in fixture.context() }
      for context in contexts { context.mergePolicy = .mergeByPropertyObjectTrump }
    }

    func change() throws {
      let context = contexts[random.below(2)]
      do {
        for _ in 0..<(1 + random.below(4)) { try step(context) }
        try context.save()
      } catch is ObjectGraphError {
        // One of the steps violated a rule.
        context.rollback()
      }
    }

    private func name(_ prefix: String) -> String {
      count += 1
      return "\(prefix)\(count)"
    }

    private func any<M: ManagedObject>(_ type: M.Type, _ context: ManagedObjectContext) throws -> M?
    {
      try context.fetch(FetchRequest<M>()).randomElement(using: &random)
    }

    private func step(_ context: ManagedObjectContext) throws {
      switch random.below(13) {
      case 0, 1:
        let person = Person(context: context)
        person.name = name("p")
        person.cars = Set(try any(Car.self, context).map { [$0] } ?? [])
      case 2:
        let car = Car(context: context)
        (car.name, car.owner) = (name("c"), try any(Person.self, context))
      case 3:
        let club = Club(context: context)
        (club.name, club.members) = (
          name("k"), Set(try any(Person.self, context).map { [$0] } ?? [])
        )
      case 4, 5:
        let hall = Hall(context: context)
        count += 1
        (hall.number, hall.club) = (count, try any(Club.self, context))
        hall.previous = try any(Hall.self, context)
        if random.below(2) == 0 {
          hall.keeper = try any(Keeper.self, context) ?? Keeper(context: context)
        }
      case 6:
        // Exchange unique values.
        guard let one = try any(Person.self, context), let other = try any(Person.self, context)
        else { return }
        (one.name, other.name) = (other.name, one.name)
      case 7: try any(Person.self, context)?.age = random.below(100)
      case 8: try any(Club.self, context)?.halls.shuffle(using: &random)
      case 9: try any(Hall.self, context)?.next = try any(Hall.self, context)
      case 10: try any(Person.self, context).map { context.delete($0) }
      case 11: try any(Hall.self, context).map { context.delete($0) }
      default:
        let club = try any(Club.self, context)
        if random.below(2) == 0, let person = try any(Person.self, context) {
          club?.members.formSymmetricDifference([person])
        } else {
          club.map { context.delete($0) }
        }
      }
    }
  }

  /// Returns all objects of a container as text, without their IDs.
  private static func objects(_ fixture: GraphFixture) throws -> [String] {
    let context = fixture.context()
    var lines: [String] = []
    for person in try context.fetch(FetchRequest<Person>()) {
      let (cars, clubs) = (person.cars.map(\.name).sorted(), person.clubs.map(\.name).sorted())
      lines.append("\(person.name) \(person.age) \(person.nickname ?? "-") \(cars) \(clubs)")
    }
    for car in try context.fetch(FetchRequest<Car>()) {
      lines.append("\(car.name) \(car.owner?.name ?? "-")")
    }
    for club in try context.fetch(FetchRequest<Club>()) {
      let members = club.members.map(\.name).sorted()
      lines.append("\(club.name) \(club.halls.map(\.number)) \(members)")
    }
    for hall in try context.fetch(FetchRequest<Hall>()) {
      let keeper = hall.keeper.map { "\($0.id)" } ?? "-"
      lines.append(
        "\(hall.number) \(hall.club?.name ?? "-") \(keeper) \(hall.next?.number ?? -1) "
          + "\(hall.previous?.number ?? -1)")
    }
    for keeper in try context.fetch(FetchRequest<Keeper>()) {
      lines.append("\(keeper.id) \(keeper.hall?.number ?? -1)")
    }
    return lines.sorted()
  }

  /// Applies events until the copy has applied all of them.
  ///
  /// Each round may be interrupted at any point. The next round then continues after the last
  /// acknowledged or the last applied event, or begins with the existing objects.
  private static func follow(
    _ source: PersistentContainer, _ copy: PersistentContainer, _ policy: MergePolicy,
    _ random: inout SeededGenerator, after last: inout PersistentHistoryToken?, mayEndEarly: Bool
  ) async throws {
    let end = try source.currentHistoryToken
    guard try source.historyConsumers["copy"] != end else { return }
    let values = [ChangeFeed.IncludedValues.after, .both][random.below(2)]
    let consumer = random.below(3) == 0 ? nil : "copy"
    let start = consumer == nil && random.below(4) > 0 ? last : nil
    // A feed that begins at the end would wait for further transactions.
    guard start == nil || start != end else { return }
    let feed = try source.changeFeed(
      from: start.map { .after($0) } ?? .existingObjects, consumer: consumer, values: values)
    var receiver = FeedReceiver(copy, author: "feed", mergePolicy: policy)
    for try await events in feed.batches(ofAtMost: 1 + random.below(30)) {
      if mayEndEarly, random.below(6) == 0 { return }
      for event in events { try receiver.add(event.json()) }
      let position = try receiver.apply().token
      last = position ?? last
      if mayEndEarly, random.below(6) == 0 { return }
      if consumer != nil, let position, random.below(2) == 0 || position == end {
        try feed.acknowledge(position)
      }
      if events.last?.isLast == true, events.last?.token == end {
        #expect(position == end)
        return
      }
    }
  }

  @Test(
    .mustEnd, .evidence("CF-03"), .evidence("CF-04"), .evidence("CF-08"), .evidence("CF-10"),
    arguments: TestScale.seeds(quick: 6, all: 60, long: 200))
  func `equals its source after random changes, interruptions and repetitions`(seed: UInt64)
    async throws
  {
    var random = SeededGenerator(seed: seed)
    // The choice of merge policy matters only if the copy is edited.
    let policies = MergePolicy.Each.allCases
    let policy = policies[Int(seed) % policies.count].policy
    let source = try Source(random.forked())
    let copy = try GraphFixture()
    var last: PersistentHistoryToken?
    for _ in 0..<30 { try source.change() }
    for _ in 0..<12 {
      for _ in 0..<random.below(5) { try source.change() }
      try await Self.follow(
        source.fixture.container, copy.container, policy, &random, after: &last, mayEndEarly: true)
    }
    try await Self.follow(
      source.fixture.container, copy.container, policy, &random, after: &last, mayEndEarly: false)
    let (wanted, found) = (try Self.objects(source.fixture), try Self.objects(copy))
    #expect(wanted.difference(from: found).isEmpty, "seed \(seed): \(wanted) \(found)")
    #expect(!wanted.isEmpty)
    // Apply the complete history once more.
    let before = try copy.container.store.snapshot().generation
    let events = try await source.fixture.container.changeFeed(from: .oldestTransaction)
      .all(of: source.fixture.container)
    let report = try copy.container.apply(events: events.map { try $0.json() })
    #expect(report.appliedCount == 0 && report.repeatedCount == events.count)
    #expect(report.token == events.last?.token)
    #expect(try copy.container.store.snapshot().generation == before)
  }

  @Test(.mustEnd, .evidence("CF-08")) func `finds unknown objects by their unique values`()
    async throws
  {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    let known = try copy.person("Ada", age: 3)
    try copy.person("Bob")
    for name in ["Ada", "Cid"] { try source.person(name, age: 40) }
    let events = try await source.container.changeFeed(from: .existingObjects)
      .all(of: source.container)
    let report = try copy.container.apply(events: events.map { try $0.json() })
    #expect(report.appliedCount == 2 && report.repeatedCount == 0)
    #expect(try copy.stored(known)?.age == 40)
    #expect(try copy.context().count(for: FetchRequest<Person>()) == 3)
  }

  @Test(.mustEnd, .evidence("CF-08"))
  func `contains all later transactions after an interrupted snapshot`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    let ids = try ["Ada", "Bob"].map { try source.person($0, age: 1) }
    let complete = try await source.container.changeFeed(from: .existingObjects)
      .all(of: source.container)
    let report = try copy.container.apply(events: complete.map { try $0.json() })
    let token = try #require(report.token)
    try source.change(ids[0]) { $0.managedObjectContext?.delete($0) }
    try source.change(ids[1]) { $0.age = 2 }
    let interrupted = try await source.container.changeFeed(from: .existingObjects).first(1)
    try copy.container.apply(events: interrupted.map { try $0.json() })
    try source.person("Cid", age: 3)
    let later = try await source.container.changeFeed(from: .after(token)).all(of: source.container)
    try copy.container.apply(events: later.map { try $0.json() })
    let people = try copy.context().fetch(FetchRequest<Person>(sort: [SortDescriptor(\.name)]))
    #expect(people.map(\.name) == ["Bob", "Cid"] && people.map(\.age) == [2, 3])
    // An event of the interrupted snapshot is not applied again.
    let repeated = try copy.container.apply(events: interrupted.map { try $0.json() })
    #expect(repeated.appliedCount == 0 && repeated.repeatedCount == 1)
  }

  @Test(.mustEnd, .evidence("CF-03"), .evidence("CF-08"))
  func `contains nothing that was deleted after an interrupted snapshot`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    let ids = try ["Ada", "Bob"].map { try source.person($0, age: 1) }
    let interrupted = try await source.container.changeFeed(from: .existingObjects).first(2)
    try source.change(ids[0]) { $0.managedObjectContext?.delete($0) }
    try source.person("Ada", age: 2)
    let complete = try await source.container.changeFeed(from: .existingObjects)
      .all(of: source.container)
    try copy.container.apply(events: (interrupted + complete).map { try $0.json() })
    let people = try copy.context().fetch(FetchRequest<Person>(sort: [SortDescriptor(\.name)]))
    #expect(people.map(\.name) == ["Ada", "Bob"] && people.map(\.age) == [2, 1])
    let changes = try copy.container.fetchHistory(after: nil).flatMap(\.changes)
    #expect(changes.map(\.kind) == [.insert, .insert])
  }

  @Test(.mustEnd, .evidence("CF-08")) func `takes events as they arrive`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    for name in ["Ada", "Bob"] { try source.person(name) }
    let events = try await source.container.changeFeed(from: .oldestTransaction)
      .all(of: source.container)
    let documents = try events.map { try $0.json() }
    let stream = AsyncStream { continuation in
      for document in documents { continuation.yield(document) }
      continuation.finish()
    }
    #expect(try await copy.container.apply(events: stream).appliedCount == 2)
    #expect(try copy.context().count(for: FetchRequest<Person>()) == 2)
  }

  @Test(.mustEnd, .evidence("CF-08"), .evidence("CF-04"))
  func `follows a feed until its task is cancelled`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    try source.person("Ada")
    let (target, feed) = (
      copy.container, try source.container.changeFeed(from: .existingObjects, consumer: "copy")
    )
    let task = Task { try await target.follow(feed) }
    for name in ["Bob", "Cid"] { try source.person(name) }
    while try source.container.historyConsumers["copy"] != source.container.currentHistoryToken {
      try await Task.sleep(for: .milliseconds(5))
    }
    task.cancel()
    try await task.value
    let names = try copy.context().fetchValues(FetchRequest<Person>(), \.name)
    #expect(names.sorted() == ["Ada", "Bob", "Cid"])
  }

  // MARK: Transactions

  @Test(.mustEnd, .evidence("CF-09"), .enabled(if: TestScale.current >= .all))
  func `divides a large transaction, unless unique values move within it`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    let count = 25_000
    var number = 0
    let context = source.context()
    try context.execute(
      BatchInsertRequest<Person> { row in
        number += 1
        row[\.name] = "p\(number)"
        return number > count
      })
    let start = try #require(try source.container.currentHistoryToken)
    let inserted = try await source.container.changeFeed(from: .oldestTransaction)
      .all(of: source.container)
    try copy.container.apply(events: inserted.map { try $0.json() })
    #expect(
      try copy.container.fetchHistory(after: nil).map(\.changes.count) == [10_000, 10_000, 5000])
    // The first person and the last person swap names.
    try context.execute(BatchUpdateRequest<Person> { row in row[\.age] = 1 })
    let first = try #require(inserted[0].objectID)
    let last = try #require(inserted[count - 1].objectID)
    for (id, name) in [(first, "-"), (last, "p1"), (first, "p\(count)")] {
      try source.change(id) { $0.name = name }
    }
    let updated = try await source.container.changeFeed(from: .after(start)).all(
      of: source.container)
    let token = try copy.container.currentHistoryToken
    try copy.container.apply(events: updated.map { try $0.json() })
    let history = try copy.container.fetchHistory(after: token)
    #expect(history.map(\.changes.count) == [count])
    let names = try copy.context().fetchValues(FetchRequest<Person>(), \.name)
    #expect(names.first == "p\(count)" && names.last == "p1")
    #expect(Set(names) == Set((1...count).map { "p\($0)" }))
  }

  @Test(.mustEnd, .evidence("CF-09")) func `names the event that cannot be applied`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    let ada = try source.person("Ada")
    let feed = try source.container.changeFeed(from: .oldestTransaction)
    try copy.container.apply(events: try await feed.first(1).map { try $0.json() })
    try copy.person("Zoe")
    try source.change(ada) { $0.age = 1 }
    try source.change(ada) { $0.name = "Zoe" }
    let events = try await feed.all(of: source.container).map { try $0.json() }
    #expect {
      try copy.container.apply(events: events)
    } throws: { error in
      let error = error as? ObjectGraphError
      return error?.kind == .constraintConflict
        && error?.message.hasPrefix("Event 3-0 about Person/1 cannot be applied: ") == true
    }
    #expect(try copy.container.fetchHistory(after: nil).count == 2)
    let broken = String(decoding: events[1], as: UTF8.self).replacing(
      "\"age\":1", with: "\"age\":{}")
    #expect(broken != String(decoding: events[1], as: UTF8.self))
    #expect {
      try copy.container.apply(events: [Data(broken.utf8)])
    } throws: { error in
      let error = error as? ObjectGraphError
      return error?.kind == .invalidElement
        && error?.message.hasPrefix("Event 2-0 about Person/1 cannot be applied: ") == true
    }
    // An unknown property in an event that has already been applied does not matter.
    for (event, isNew) in [(events[0], false), (events[1], true)] {
      let text = String(decoding: event, as: UTF8.self)
        .replacing("\"age\":", with: "\"size\":2,\"age\":")
      guard isNew else {
        #expect(try copy.container.apply(events: [Data(text.utf8)]).repeatedCount == 1)
        continue
      }
      let error = #expect(throws: ObjectGraphError.self) {
        try copy.container.apply(events: [Data(text.utf8)])
      }
      #expect(error?.kind == .invalidElement)
      #expect(error?.message.contains("Person has no property named size") == true)
    }
    let bare = try await source.container.changeFeed(from: .oldestTransaction, values: .none)
      .first(1)
    #expect(throws: ObjectGraphError.self) {
      try copy.container.apply(events: bare.map { try $0.json() })
    }
  }
}
