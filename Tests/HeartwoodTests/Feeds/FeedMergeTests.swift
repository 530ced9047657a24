import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("An edited copy of a feed")
struct FeedMergeTests {
  private let source: GraphFixture
  private let copy: GraphFixture
  private let person: ManagedObjectID
  private let copied: ManagedObjectID
  private let start: PersistentHistoryToken

  init() async throws {
    (source, copy) = (try GraphFixture(), try GraphFixture())
    person = try source.person("Ada", age: 1)
    let events = try await source.container.changeFeed(from: .existingObjects)
      .all(of: source.container)
    try copy.container.apply(events: events.map { try $0.json() })
    copied = try #require(try copy.context().fetchObjectIDs(FetchRequest<Person>()).first)
    start = try #require(try source.container.currentHistoryToken)
  }

  /// Applies the changes of the source.
  ///
  /// - Returns: The values of the person in the copy, or the error.
  private func apply(_ policy: MergePolicy) async throws -> String {
    let events = try await source.container.changeFeed(from: .after(start))
      .all(of: source.container)
    do {
      try copy.container.apply(events: events.map { try $0.json() }, mergePolicy: policy)
    } catch let error as ObjectGraphError {
      return "\(error.kind)"
    }
    let people = try copy.context().fetch(FetchRequest<Person>())
    return people.map { "\($0.age) \($0.nickname ?? "-")" }.joined(separator: ", ")
  }

  private func delete(_ id: ManagedObjectID, in fixture: GraphFixture) throws {
    let context = fixture.context()
    let person = try #require(try context.existingObject(Person.self, with: id))
    context.delete(person)
    try context.save()
  }

  private static let policies: [MergePolicy] = [
    .error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
  ]

  /// Returns each policy with its result.
  private static func cases(_ results: String...) -> [(Int, String)] {
    results.enumerated().map { ($0.offset, $0.element) }
  }

  @Test(
    .mustEnd, .evidence("CF-10"), arguments: cases("mergeConflict", "5 -", "2 -", "2 -", "5 -"))
  func `resolves a property that both sides changed`(policy: Int, result: String) async throws {
    try source.change(person) { $0.age = 2 }
    try copy.change(copied) { $0.age = 5 }
    #expect(try await apply(Self.policies[policy]) == result)
  }

  @Test(
    .mustEnd, .evidence("CF-10"),
    arguments: cases("mergeConflict", "2 Addy", "2 Addy", "2 -", "1 Addy"))
  func `resolves an object in which both sides changed different properties`(
    policy: Int, result: String
  ) async throws {
    try source.change(person) { $0.age = 2 }
    try copy.change(copied) { $0.nickname = "Addy" }
    #expect(try await apply(Self.policies[policy]) == result)
  }

  @Test(
    .mustEnd, .evidence("CF-10"), arguments: cases("mergeConflict", "", "2 -", "2 -", ""))
  func `resolves a change to an object that the copy has deleted`(
    policy: Int, result: String
  ) async throws {
    try source.change(person) { $0.age = 2 }
    try delete(copied, in: copy)
    #expect(try await apply(Self.policies[policy]) == result)
  }

  @Test(
    .mustEnd, .evidence("CF-10"), arguments: cases("mergeConflict", "5 -", "", "", "5 -"))
  func `resolves the deletion of an object that the copy has changed`(
    policy: Int, result: String
  ) async throws {
    try delete(person, in: source)
    try copy.change(copied) { $0.age = 5 }
    #expect(try await apply(Self.policies[policy]) == result)
  }

  @Test(.mustEnd, .evidence("CF-10"), arguments: policies.indices)
  func `has no conflict if both sides made the same changes`(policy: Int) async throws {
    try source.change(person) { $0.age = 2 }
    try copy.change(copied) { $0.age = 2 }
    #expect(try await apply(Self.policies[policy]) == "2 -")
  }

  @Test(.mustEnd, .evidence("CF-10"), arguments: policies.indices)
  func `follows the source in all values that the copy has not edited`(policy: Int) async throws {
    try source.change(person) { $0.age = 2 }
    try source.change(person) { $0.nickname = "Addy" }
    #expect(try await apply(Self.policies[policy]) == "2 Addy")
  }

  @Test(.mustEnd, .evidence("CF-10"))
  func `keeps its edits when the source changes later`() async throws {
    try copy.change(copied) { $0.age = 5 }
    try source.change(person) { $0.age = 2 }
    #expect(try await apply(.mergeByPropertyStoreTrump) == "5 -")
    try source.change(person) { $0.nickname = "Addy" }
    #expect(try await apply(.mergeByPropertyStoreTrump) == "5 Addy")
    try source.change(person) { $0.age = 3 }
    #expect(try await apply(.mergeByPropertyStoreTrump) == "5 Addy")
    #expect(try await apply(.mergeByPropertyObjectTrump) == "5 Addy")
    try source.change(person) { $0.age = 4 }
    #expect(try await apply(.mergeByPropertyObjectTrump) == "4 Addy")
  }

  @Test(.mustEnd, .evidence("CF-10"))
  func `keeps relationships that the source has not changed`() async throws {
    let context = copy.context()
    let club = Club(context: context)
    club.name = "local"
    let person = try #require(try context.existingObject(Person.self, with: copied))
    club.members = [person]
    try context.save()
    try source.change(self.person) { $0.age = 2 }
    #expect(try await apply(.mergeByPropertyObjectTrump) == "2 -")
    #expect(try copy.context().fetch(FetchRequest<Person>()).first?.clubs.count == 1)
  }

  @Test(.mustEnd, .evidence("CF-10"))
  func `a cascade keeps an object that the copy has changed`() async throws {
    try source.change(person) { person in
      guard let context = person.managedObjectContext else { return }
      Car(context: context).owner = person
    }
    _ = try await apply(.overwrite)
    let edited = copy.context()
    try #require(try edited.fetch(FetchRequest<Car>()).first).name = "edited"
    try edited.save()
    try delete(person, in: source)
    #expect(try await apply(.mergeByPropertyStoreTrump) == "")
    #expect(try copy.context().fetch(FetchRequest<Car>()).map(\.name) == ["edited"])
  }
}
