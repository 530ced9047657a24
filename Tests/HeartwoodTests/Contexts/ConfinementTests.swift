import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// The entry points through which a second thread can enter a context.
private enum Door: String, CaseIterable, Codable {
  case fetch, count, existingObject, registeredObject, object, registeredObjects
  case insert, delete, save, refresh, refreshAll, reset, rollback, obtainIDs, detectConflicts
  case readFault, write, readMembers, setTarget, setMembers, lastReference
  case undo, endUndoGroup, tracksUndo, child
  case fetchObjectIDs, fetchBatched, pin, token, execute, mergeChanges

  /// Uses a context through this entry point.
  ///
  /// Some entry points need a loaded object, the only reference to a fault, or a transaction that
  /// changed both of these objects.
  func pass(
    _ context: ManagedObjectContext, _ person: Person, _ fault: inout Car?,
    _ transaction: PersistentHistoryTransaction
  ) throws {
    switch self {
    case .fetch: _ = try context.fetch(FetchRequest<Person>())
    case .count: _ = try context.count(for: FetchRequest<Person>())
    case .existingObject: _ = try context.existingObject(Person.self, with: person.objectID)
    case .registeredObject: _ = context.registeredObject(Person.self, for: person.objectID)
    case .object: _ = context.object(Person.self, with: person.objectID)
    case .registeredObjects: _ = context.registeredObjects
    case .insert: context.insert(Car())
    case .delete: context.delete(person)
    case .save: try context.save()
    case .refresh: try context.refresh(person, mergeChanges: false)
    case .refreshAll: context.refreshAllObjects()
    case .reset: context.reset()
    case .rollback: context.rollback()
    case .obtainIDs: try context.obtainPermanentIDs(for: [])
    case .detectConflicts: context.detectConflicts(for: person)
    case .readFault: _ = fault?.name
    case .write: person.age = 5
    case .readMembers: _ = person.clubs
    case .setTarget: fault?.owner = nil
    case .setMembers: person.clubs = []
    case .lastReference: fault = nil
    case .undo: context.undo()
    case .endUndoGroup: context.endUndoGroup()
    case .tracksUndo: context.tracksUndo = true
    case .child: _ = ManagedObjectContext(parent: context)
    case .fetchObjectIDs: _ = try context.fetchObjectIDs(FetchRequest<Person>())
    case .fetchBatched: _ = try context.fetchBatched(FetchRequest<Person>())
    case .pin: try context.setQueryGenerationFrom(.current)
    case .token: _ = context.queryGenerationToken
    case .execute: try context.execute(BatchDeleteRequest<Car>())
    case .mergeChanges: try context.mergeChanges(from: transaction)
    }
  }
}

/// An object whose `willSave` blocks, so that saving the object does not return.
private final class Slow: ManagedObject {
  @Attribute var text: String = ""
  @Transient var isInside: DispatchSemaphore? = nil

  override func willSave() throws {
    isInside?.signal()
    Thread.sleep(forTimeInterval: 60)
  }
}

@Suite("Two threads in a context at once")
struct ConfinementTests {
  private static let message =
    "Two threads used a context at the same time. Use a BackgroundContext, or a separate context "
    + "for each thread."

  /// Sets the environment variable that enables the confinement checks in release builds.
  private static func askForChecks() { setenv("HEARTWOOD_CHECKS", "1", 1) }

  /// Waits for a semaphore, which the asynchronous body of a test must not do itself.
  private static func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

  /// Starts a thread that stays inside a context until the process ends.
  private static func occupy(_ context: ManagedObjectContext) {
    nonisolated(unsafe) let context = context
    let isInside = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      context.performAndWait {
        // The thread must still be inside the context after a nested call returns.
        context.performAndWait {}
        isInside.signal()
        Thread.sleep(forTimeInterval: 60)
      }
    }
    isInside.wait()
  }

  /// Uses a context through the given entry point while another thread is inside the context.
  private static func overlap(at door: Door) throws {
    askForChecks()
    let container = try PersistentContainer.inMemory(schema: people)
    let writer = container.newContext()
    Car(context: writer).owner = Person(context: writer)
    try writer.save()
    let context = container.newContext()
    let person = try #require(try context.fetch(FetchRequest<Person>()).first)
    let id = try #require(try writer.fetchObjectIDs(FetchRequest<Car>()).first)
    var fault: Car? = context.object(with: id)
    let transaction = try #require(try container.fetchHistory(after: nil).first)
    occupy(context)
    try door.pass(context, person, &fault, transaction)
  }

  @Test(
    .spawning, .evidence("T-01"), .evidence("X-09"),
    arguments: TestScale.some(Door.allCases, every: 3))
  private func `every entry point traps if two threads use a context at once`(door: Door)
    async throws
  {
    let result = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [door] in
      try Self.overlap(at: door)
    }
    #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains(Self.message))
  }

  @Test(.spawning, .evidence("T-01"))
  func `a callback counts as use by its thread`() async throws {
    let result = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      Self.askForChecks()
      let container = try PersistentContainer.inMemory(schema: Schema(Slow.self))
      nonisolated(unsafe) let context = container.newContext()
      let isInside = DispatchSemaphore(value: 0)
      Slow(context: context).isInside = isInside
      Thread.detachNewThread { try? context.save() }
      Self.wait(for: isInside)
      _ = try context.count(for: FetchRequest<Slow>())
    }
    #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains(Self.message))
  }

  @Test(.spawning, .evidence("T-01"), .evidence("N-01"))
  func `a parent and its child count as one context`() async throws {
    let result = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      Self.askForChecks()
      let container = try PersistentContainer.inMemory(schema: people)
      let parent = container.newContext()
      let child = ManagedObjectContext(parent: parent)
      Self.occupy(child)
      _ = try parent.count(for: FetchRequest<Person>())
    }
    #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains(Self.message))
  }

  /// Reading a loaded property must have no overhead, so it is not checked.
  @Test(.spawning) func `reading a loaded property is not checked`() async {
    await #expect(processExitsWith: .success) {
      Self.askForChecks()
      let container = try PersistentContainer.inMemory(schema: people)
      let context = container.newContext()
      let person = Person(context: context)
      Self.occupy(context)
      #expect(person.age == 0)
    }
  }

  @Test(.evidence("T-01"))
  func `two threads may use a context in turn`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    nonisolated(unsafe) let context = fixture.container.newContext()
    nonisolated(unsafe) var ages: [Int?] = []
    for number in 2...5 {
      let isOver = DispatchSemaphore(value: 0)
      // Releasing the object also uses the context, so the thread must release the object before
      // signalling.
      @Sendable func use() {
        let ada = try? context.existingObject(Person.self, with: id)
        ages.append(ada?.age)
        ada?.age = number
        try? context.save()
      }
      Thread.detachNewThread {
        use()
        isOver.signal()
      }
      isOver.wait()
    }
    #expect(ages == [1, 2, 3, 4])
    #expect(try fixture.stored(id)?.age == 5)
  }
}
