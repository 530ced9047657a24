import Foundation
import Heartwood
import Testing

/// A container in memory for one test; it is verified when the test is over.
final class GraphFixture {
  let container: PersistentContainer
  private var contexts: [ManagedObjectContext] = []

  init(_ schema: Schema = people) throws { container = try .inMemory(schema: schema) }

  deinit {
    do {
      let findings = try container.store.verify().findings
      #expect(findings == [])
    } catch {
      Issue.record(error)
    }
  }

  /// A new context, which lives as long as the test, as its objects need.
  func context() -> ManagedObjectContext {
    let context = container.newContext()
    contexts.append(context)
    return context
  }

  /// A new context below another, which lives as long as the test.
  func child(of parent: ManagedObjectContext) -> ManagedObjectContext {
    let child = ManagedObjectContext(parent: parent)
    contexts.append(child)
    return child
  }

  /// A person in the store, as another context would have left it.
  @discardableResult
  func person(_ name: String, age: Int = 0, cars: Int = 0) throws -> ManagedObjectID {
    let context = context()
    let person = Person(context: context)
    person.name = name
    person.age = age
    for number in 0..<cars {
      let car = Car(context: context)
      car.name = "\(name)'s car \(number)"
      car.owner = person
    }
    try context.save()
    return person.objectID
  }

  /// What the store holds of a person.
  func stored(_ id: ManagedObjectID) throws -> (name: String, age: Int, cars: Int)? {
    let context = context()
    guard let person: Person = try context.existingObject(with: id) else { return nil }
    return (person.name, person.age, person.cars.count)
  }

  /// Changes a person as another context would.
  func change(_ id: ManagedObjectID, _ body: (Person) -> Void) throws {
    let context = context()
    guard let person: Person = try context.existingObject(with: id) else { return }
    body(person)
    try context.save()
  }

  /// What names the newest generation; nothing holds it.
  func token() throws -> QueryGenerationToken {
    let context = try container.newContext(pinnedTo: .current)
    _ = try context.count(for: FetchRequest<Person>())
    return try #require(context.queryGenerationToken)
  }

  /// Waits until no process holds an earlier generation.
  func waitUntilOnlyNewestIsLive(seconds: Double = 10) throws {
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

/// Earlier generations were held for longer than a test waits.
private struct HeldGenerations: Error {
  let live: [Generation]
  let newest: Generation
}
