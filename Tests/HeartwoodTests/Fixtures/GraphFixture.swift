import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A container with an in-memory store for one test.
///
/// The store is verified when the test ends.
final class GraphFixture: ContextKeeper {
  let container: PersistentContainer
  var contexts: [ManagedObjectContext] = []

  init(_ schema: Schema = people) throws { container = try .inMemory(schema: schema) }

  deinit {
    LiveObjects.track(container, contexts)
    do {
      let findings = try container.store.verify().findings
      #expect(findings == [])
    } catch {
      Issue.record(error)
    }
  }

  func stored(_ id: ManagedObjectID) throws -> (name: String, age: Int, cars: Int)? {
    let context = context()
    guard let person: Person = try context.existingObject(with: id) else { return nil }
    return (person.name, person.age, person.cars.count)
  }

  /// Changes a person in a separate context, and saves the change.
  func change(_ id: ManagedObjectID, _ body: (Person) -> Void) throws {
    let context = context()
    guard let person: Person = try context.existingObject(with: id) else { return }
    body(person)
    try context.save()
  }

  /// Returns the token of the newest generation without retaining it.
  func token() throws -> QueryGenerationToken {
    let context = try container.newContext(pinnedTo: .current)
    _ = try context.count(for: FetchRequest<Person>())
    return try #require(context.queryGenerationToken)
  }

  /// Waits until no generation before the newest is retained.
  func waitUntilOnlyNewestIsLive(seconds: Double = 60) throws {
    let end = Date.now + seconds
    while true {
      let newest = try container.store.snapshot().generation
      let live = try container.store.liveGenerations().map(\.generation)
      if live.allSatisfy({ $0 >= newest }) { return }
      guard Date.now < end else { throw HeldGenerations(live: live, newest: newest) }
      Thread.sleep(forTimeInterval: 0.02)
    }
  }
}

/// The error thrown if earlier generations are still retained after the test has waited.
private struct HeldGenerations: Error {
  let live: [Generation]
  let newest: Generation
}
