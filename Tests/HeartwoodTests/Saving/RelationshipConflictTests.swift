import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Two contexts that change the same relationships")
struct RelationshipConflictTests {
  @Test(.evidence("R-11")) func `both sides of a relationship agree after a conflict`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada")
    func context(_ policy: MergePolicy) -> (ManagedObjectContext, Person) {
      let context = fixture.context()
      context.mergePolicy = policy
      let ada: Person = context.object(with: id)
      #expect(ada.clubs.isEmpty)
      return (context, ada)
    }
    /// Returns the names of Ada's clubs, and the names of all clubs that have members.
    func sides() throws -> [[String]] {
      let fresh = fixture.context()
      let ada = try fresh.existingObject(Person.self, with: id)
      let clubs = try fresh.fetch(FetchRequest<Club>()).filter { !$0.members.isEmpty }
      return [ada?.clubs.map(\.name) ?? [], clubs.map(\.name)]
    }
    let (first, mine) = context(.rollback)
    let club = Club(context: first)
    club.name = "chess"
    try first.save()
    // The policy discards this context's edit to the club, but Ada still becomes a member.
    club.members = [mine]
    let elsewhere = fixture.context()
    elsewhere.object(Club.self, with: club.objectID).name = "go"
    try elsewhere.save()
    try first.save()
    #expect(try sides() == [["go"], ["go"]])
    mine.clubs = []
    elsewhere.object(Club.self, with: club.objectID).name = "bridge"
    try elsewhere.save()
    try first.save()
    #expect(try sides() == [[], []])

    let (second, hers) = context(.mergeByPropertyStoreTrump)
    hers.clubs = [second.object(with: club.objectID)]
    elsewhere.delete(elsewhere.object(Club.self, with: club.objectID))
    try elsewhere.save()
    try second.save()
    #expect(try sides() == [[], []])

    // The context that deletes Ada does not know that another context has added her to a club.
    let (third, ada) = context(.mergeByPropertyObjectTrump)
    third.delete(ada)
    let (fourth, again) = context(.error)
    Club(context: fourth).members = [again]
    try fourth.save()
    try third.save()
    #expect(try sides() == [[], []])
  }

  private func car(_ name: String, of owner: ManagedObjectID, _ fixture: GraphFixture) throws {
    try fixture.change(owner) { person in
      guard let context = person.managedObjectContext else { return }
      let car = Car(context: context)
      (car.name, car.owner) = (name, person)
    }
  }

  @Test(.evidence("C-02"), .evidence("QG-23"), arguments: MergePolicy.Each.merging)
  func `members added by both contexts are kept`(policy: MergePolicy.Each) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", cars: 1)
    let context = fixture.context()
    context.mergePolicy = policy.policy
    try context.setQueryGenerationFrom(.current)
    let ada: Person = context.object(with: id)
    #expect(ada.cars.count == 1)
    try car("theirs", of: id, fixture)
    let mine = Car(context: context)
    (mine.name, mine.owner) = ("mine", ada)
    #expect(ada.cars.count == 2)
    try context.save()
    #expect(ada.cars.count == 3 && ada.cars.allSatisfy { $0.owner === ada })
    #expect(try context.fetch(FetchRequest<Person>()).first?.cars.count == 3)
  }

  @Test(.evidence("QG-27"), .evidence("S-03"))
  func `members added by both contexts are kept in contexts that merged before`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", cars: 1)
    let context = fixture.context()
    let ada: Person = context.object(with: id)
    let gone = try #require(ada.cars.first)
    gone.owner = nil
    let mine = Car(context: context)
    (mine.name, mine.owner) = ("mine", ada)
    #expect(ada.cars == [mine])
    try car("theirs", of: id, fixture)
    let last = try #require(try fixture.container.fetchHistory(after: nil).last)
    try context.mergeChanges(from: last)
    #expect(ada.cars.map(\.name).sorted() == ["mine", "theirs"])
    try context.save()
    #expect(ada.cars.count == 2 && gone.owner == nil)
    #expect(try fixture.stored(id)?.cars == 2)
  }

  @Test(.evidence("C-02"), .evidence("R-11"))
  func `members that lost in a conflict are removed`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", cars: 1)
    let bob = try fixture.person("Bob")
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyStoreTrump
    let car = try #require(try context.fetch(FetchRequest<Car>()).first)
    let new: Person = context.object(with: bob)
    car.owner = new
    try fixture.change(id) { $0.cars.forEach { $0.managedObjectContext?.delete($0) } }
    #expect(new.cars == [car])
    try context.save()
    #expect(new.cars.isEmpty)
  }

  /// Creates three people and a car of the first person.
  ///
  /// - Returns: The IDs of the people, and a closure that returns the number of cars that each
  ///   person has in a separate context.
  private func owners(
    _ fixture: GraphFixture
  ) throws -> (ids: [ManagedObjectID], shown: () throws -> [Int]) {
    let ids = try ["Ada", "Bob", "Cid"].map { try fixture.person($0, cars: $0 == "Ada" ? 1 : 0) }
    let context = fixture.context()
    context.retainsRegisteredObjects = true
    return (
      ids,
      {
        let request = FetchRequest<Person>(sort: [SortDescriptor(\.name)])
        return try context.fetch(request).map(\.cars.count)
      }
    )
  }

  @Test(.evidence("C-02"), .evidence("F-09"), .evidence("H-02"))
  func `a third object is reread if a conflict removed its reference`() throws {
    let fixture = try GraphFixture()
    let (ids, shown) = try owners(fixture)
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let car = try #require(try context.fetch(FetchRequest<Car>()).first)
    car.owner = context.object(Person.self, with: ids[2])
    let other = fixture.context()
    try #require(try other.fetch(FetchRequest<Car>()).first).owner = other.object(with: ids[1])
    try other.save()
    #expect(try shown() == [0, 1, 0])
    let token = try fixture.container.fetchHistory(after: nil).last?.token
    try context.save()
    #expect(try shown() == [0, 0, 1])
    let changes = try fixture.container.fetchHistory(after: token).flatMap(\.changes)
    #expect(changes.contains { $0.objectID == ids[1] && $0.kind == .update(properties: ["cars"]) })
  }

  @Test(.evidence("C-02"), .evidence("F-09"))
  func `a third object is reread if a conflict gave it a reference`() throws {
    let fixture = try GraphFixture()
    let (ids, shown) = try owners(fixture)
    let context = fixture.context()
    context.mergePolicy = .rollback
    let bob = try #require(try context.existingObject(Person.self, with: ids[1]))
    Car(context: context).owner = bob
    try fixture.change(ids[1]) { $0.age = 5 }
    #expect(try shown() == [1, 0, 0])
    try context.save()
    #expect(try shown() == [1, 1, 0])
    #expect(bob.age == 5 && bob.cars.count == 1)
  }

  /// One context gives a job to a member and deletes another member.
  ///
  /// Meanwhile, another context gives the job to the deleted member.
  @Test(
    .evidence("C-10"), .evidence("C-02"), arguments: MergePolicy.Each.allCases.filter(\.prefersMine)
  )
  func `members moved out of a deleted object are kept`(policy: MergePolicy.Each) throws {
    let fixture = try GraphFixture(crew)
    let writer = fixture.context()
    let (old, new) = (CrewMember(context: writer), CrewMember(context: writer))
    let job = CrewJob(context: writer)
    try writer.save()
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let mine: CrewJob = context.object(with: job.objectID)
    mine.owner = context.object(with: new.objectID)
    context.delete(context.object(CrewMember.self, with: old.objectID))
    job.owner = old
    try writer.save()
    try context.save()
    let stored = fixture.context()
    let jobs = try stored.fetch(FetchRequest<CrewJob>())
    #expect(jobs.map(\.owner?.objectID) == [new.objectID])
    #expect(try stored.fetch(FetchRequest<CrewMember>()).map(\.jobCount) == [1])
  }

  @Test(.evidence("C-10"), .evidence("C-02"))
  func `overwriting a reference lets its former target be deleted`() throws {
    let fixture = try GraphFixture(crew)
    let writer = fixture.context()
    let (team, job) = (CrewTeam(context: writer), CrewJob(context: writer))
    try writer.save()
    let context = fixture.context()
    context.mergePolicy = .overwrite
    context.object(CrewJob.self, with: job.objectID).title = "mine"
    let mine: CrewTeam = context.object(with: team.objectID)
    #expect(mine.reserved == [])
    context.delete(mine)
    job.reserve = team
    try writer.save()
    try context.save()
    let stored = fixture.context()
    #expect(try stored.count(for: FetchRequest<CrewTeam>()) == 0)
    #expect(try stored.fetch(FetchRequest<CrewJob>()).map(\.reserve) == [nil])
  }

  @Test(.evidence("C-08"), .evidence("C-06"))
  func `a one-to-one relationship with a missing partner is cleared`() throws {
    let fixture = try GraphFixture(crew)
    let writer = fixture.context()
    let (old, new) = (CrewMember(context: writer), CrewMember(context: writer))
    let badge = CrewBadge(context: writer)
    badge.holder = old
    try writer.save()
    let context = fixture.context()
    context.mergePolicy = .rollback
    context.object(CrewBadge.self, with: badge.objectID).holder = context.object(with: new.objectID)
    old.title = "theirs"
    writer.delete(new)
    try writer.save()
    try context.save()
    let stored = fixture.context()
    #expect(try stored.fetch(FetchRequest<CrewBadge>()).map(\.holder) == [nil])
    #expect(try stored.fetch(FetchRequest<CrewMember>()).map(\.badge) == [nil])
  }

  @Test(.evidence("C-17"))
  func `no reference in memory leads to an object that both contexts deleted`() throws {
    let fixture = try GraphFixture(crew)
    let writer = fixture.context()
    let (team, job) = (CrewTeam(context: writer), CrewJob(context: writer))
    job.reserve = team
    try writer.save()
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let mine: CrewJob = context.object(with: job.objectID)
    let here = try #require(mine.reserve)
    #expect(here.reserved == [mine])
    context.delete(here)
    job.reserve = nil
    writer.delete(team)
    try writer.save()
    try context.save()
    #expect(mine.reserve == nil)
  }

  @Test(.evidence("C-08"))
  func `an exchange that loses on both ends matches the store`() throws {
    let fixture = try GraphFixture(crew)
    let writer = fixture.context()
    let (ada, bob) = (CrewMember(context: writer), CrewMember(context: writer))
    let (blue, red) = (CrewBadge(context: writer), CrewBadge(context: writer))
    (blue.stamp.serial, red.stamp.serial) = (1, 2)
    red.holder = ada
    try writer.save()
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyStoreTrump
    context.object(CrewBadge.self, with: red.objectID).holder = context.object(with: bob.objectID)
    context.object(CrewBadge.self, with: blue.objectID).holder = context.object(with: ada.objectID)
    blue.holder = bob
    try writer.save()
    try context.save()
    let stored = fixture.context()
    let request = FetchRequest<CrewBadge>(sort: [SortDescriptor(\.stamp.serial)])
    let badges = try stored.fetch(request)
    #expect(badges.map(\.holder?.objectID) == [bob.objectID, ada.objectID])
    #expect(badges.allSatisfy { $0.holder?.badge === $0 })
  }

  @Test(.evidence("C-10"), arguments: [MergePolicy.Each.storeTrump, .rollback])
  func `a cascade keeps an object that others have changed`(policy: MergePolicy.Each) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", cars: 2)
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let ada: Person = context.object(with: id)
    #expect(ada.cars.map(\.name).count == 2)
    let others = fixture.context()
    let theirs = try #require(try others.fetch(FetchRequest<Car>()).first)
    theirs.name = "changed"
    try others.save()
    context.delete(ada)
    try context.save()
    let cars = try fixture.context().fetch(FetchRequest<Car>())
    #expect(cars.map(\.name) == ["changed"] && cars[0].owner == nil)
  }

  @Test(.evidence("C-06"))
  func `a reference to an object that both contexts have deleted is no conflict`() throws {
    let fixture = try GraphFixture(purchases)
    try fixture.saved { context in
      _ = Hint(context: context)
      _ = Article(context: context)
    }
    let context = fixture.context()
    let article = try #require(try context.fetch(FetchRequest<Article>()).first)
    let hint = try #require(try context.fetch(FetchRequest<Hint>()).first)
    try fixture.saved { other in
      for hint in try other.fetch(FetchRequest<Hint>()) { other.delete(hint) }
    }
    article.hint = hint
    context.delete(hint)
    try context.save()
    #expect(try fixture.context().fetch(FetchRequest<Article>()).map(\.hint) == [nil])
  }

  @Test(.evidence("C-07"), .evidence("C-11"))
  func `a row takes no members from a new object if neither side wins`() throws {
    let fixture = try GraphFixture(crew)
    let writer = fixture.context()
    let (member, tag) = (CrewMember(context: writer), CrewTag(context: writer))
    member.code = "same"
    try writer.save()
    let context = fixture.context()
    context.mergePolicy = .rollback
    let mine: CrewTag = context.object(with: tag.objectID)
    let new = CrewMember(context: context)
    new.code = "same"
    mine.members = [new]
    tag.name = "theirs"
    try writer.save()
    try context.save()
    #expect(new.objectID == member.objectID && new.tags == [] && mine.members == [])
    #expect(try fixture.context().fetch(FetchRequest<CrewTag>()).map(\.members) == [[]])
  }

  @Test(.evidence("C-09"))
  func `a member that both contexts have added is no change of the order`() throws {
    let fixture = try GraphFixture()
    let writer = fixture.context()
    let club = Club(context: writer)
    let halls = (0..<4).map { _ in Hall(context: writer) }
    for (number, hall) in halls.enumerated() { hall.number = number }
    club.halls = Array(halls[..<3])
    try writer.save()
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let mine: Club = context.object(with: club.objectID)
    mine.halls.append(context.object(with: halls[3].objectID))
    club.halls = halls.reversed()
    try writer.save()
    try context.save()
    #expect(mine.halls.map(\.number) == [3, 2, 1, 0])
    let stored: Club = fixture.context().object(with: club.objectID)
    #expect(stored.halls.map(\.number) == [3, 2, 1, 0])
  }

  @Test(.evidence("H-02"), .evidence("C-07"))
  func `a member that others have added too is no update`() throws {
    let fixture = try GraphFixture()
    try fixture.person("Ada")
    try fixture.saved { Club(context: $0).name = "club" }
    let contexts = [fixture.context(), fixture.context()]
    for context in contexts {
      context.mergePolicy = .mergeByPropertyObjectTrump
      let club = try #require(try context.fetch(FetchRequest<Club>()).first)
      club.members = Set(try context.fetch(FetchRequest<Person>()))
    }
    try contexts[0].save()
    let token = try fixture.container.currentHistoryToken
    try contexts[1].save()
    #expect(try fixture.container.fetchHistory(after: token).flatMap(\.changes).isEmpty)
  }

  @Test(.evidence("C-02"), .evidence("R-11"))
  func `a merged list contains others' new member after its predecessor`() throws {
    let fixture = try GraphFixture()
    let (context, other) = (fixture.context(), fixture.context())
    context.mergePolicy = .mergeByPropertyObjectTrump
    let club = Club(context: context)
    club.halls = (1...3).map { number in
      let hall = Hall(context: context)
      hall.number = number
      return hall
    }
    try context.save()
    let theirs = try #require(try other.existingObject(Club.self, with: club.objectID))
    let hall = Hall(context: other)
    hall.number = 9
    theirs.halls.insert(hall, at: 1)
    try other.save()
    club.halls.reverse()
    try context.save()
    let read = try #require(try fixture.context().existingObject(Club.self, with: club.objectID))
    #expect(read.halls.map(\.number) == [3, 2, 1, 9])
  }
}
