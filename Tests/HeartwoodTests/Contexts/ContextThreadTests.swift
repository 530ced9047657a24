import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

/// A gate for blocks that run on their own threads.
private final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func open() { semaphore.signal() }

  /// Waits for a call of `open`, which lets one waiter pass.
  ///
  /// The wait has no time limit, because hundreds of other tests may occupy the threads of the pool
  /// and delay the task that opens the gate.
  func pass() { semaphore.wait() }
}

/// A counter shared by threads.
private final class Counter: Sendable {
  private let number = Atomic<Int>(0)

  var value: Int { number.load(ordering: .relaxed) }

  @discardableResult
  func increment() -> Int { number.add(1, ordering: .relaxed).newValue }

  func decrement() { number.subtract(1, ordering: .relaxed) }
}

@Suite("Contexts and threads")
struct ContextThreadTests {
  @Test(.evidence("T-02"))
  func `performAndWait runs immediately and can be nested`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let (first, second) = (fixture.context(), fixture.context())
    let age = try first.performAndWait {
      let ada: Person = first.object(with: id)
      ada.age += 1
      try second.performAndWait {
        #expect(second.object(Person.self, with: id).age == 1)
        try first.performAndWait { try first.save() }
        #expect(try second.count(for: FetchRequest<Person>()) == 1)
      }
      return ada.age
    }
    #expect(age == 2)
    #expect(try fixture.stored(id)?.age == 2)
    #expect(throws: ObjectGraphError.self) {
      try first.performAndWait { throw ObjectGraphError(.validation, "no") }
    }
    // After a block throws, the thread is no longer inside the context.
    #expect(try first.count(for: FetchRequest<Person>()) == 1)
  }

  @Test(.evidence("T-02"))
  @MainActor func `perform runs on the caller's actor`() async throws {
    let fixture = try GraphFixture()
    let view = fixture.container.viewContext
    let name = await view.perform {
      // This call traps unless it runs on the main actor.
      MainActor.assumeIsolated { Person(context: view).name = "Ada" }
      return view.insertedObjects.first?.objectID.entityName
    }
    #expect(name == "Person")
  }

  @Test(.evidence("T-02"))
  @MainActor func `a background context runs its blocks in order`() async throws {
    let background = try GraphFixture().container.newBackgroundContext()
    let order = Mutex<[Int]>([])
    let (inside, asked, gate) = (Counter(), Counter(), Gate())
    let tasks = (0..<200).map { number in
      // Tasks of one actor start in the order in which they were created.
      Task { @MainActor in
        asked.increment()
        try await background.perform { _ in
          #expect(inside.increment() == 1)
          // The first block waits until all other blocks have been enqueued.
          if number == 0 { gate.pass() }
          order.withLock { $0.append(number) }
          inside.decrement()
        }
      }
    }
    while asked.value < tasks.count { await Task.yield() }
    gate.open()
    for task in tasks { try await task.value }
    #expect(order.withLock { $0 } == Array(0..<200))
  }

  @Test(.evidence("T-02"), .evidence("T-04"))
  func `background contexts run concurrently without blocking the tasks' threads`() async throws {
    let fixture = try GraphFixture()
    try fixture.person("Ada")
    let container = fixture.container
    // Use more blocks than the pool has threads.
    let count = ProcessInfo.processInfo.activeProcessorCount + 4
    let arrived = Counter()
    let gate = Gate()
    try await withThrowingTaskGroup { group in
      for _ in 0..<count {
        group.addTask {
          try await container.performBackgroundTask { context in
            let before = try context.count(for: FetchRequest<Person>())
            arrived.increment()
            // Wait until all contexts are inside a block.
            gate.pass()
            #expect(try context.fetch(FetchRequest<Person>()).count == before)
          }
        }
      }
      while arrived.value < count { await Task.yield() }
      let answer = await Task.detached { 42 }.value
      #expect(answer == 42)
      for _ in 0..<count { gate.open() }
      try await group.waitForAll()
    }
  }

  @Test(.evidence("T-04"))
  func `a context reads while another saves`() async throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let (writer, reader) = (
      fixture.container.newBackgroundContext(), fixture.container.newBackgroundContext()
    )
    try await writer.perform { context in context.object(Person.self, with: id).age = 10 }
    try fixture.change(id) { $0.age = 20 }
    let (isWriting, hasRead) = (Gate(), Gate())
    async let saving: Void = writer.perform { context in
      // The save calls the policy inside its transaction.
      context.mergePolicy = .custom { _ in
        isWriting.open()
        hasRead.pass()
      }
      try context.save()
    }
    let age = try await reader.perform { context in
      isWriting.pass()
      let age = try context.fetch(FetchRequest<Person>()).first?.age
      hasRead.open()
      return age
    }
    #expect(age == 20)
    try await saving
    #expect(try fixture.stored(id)?.age == 10)
  }

  @Test(.evidence("T-04"))
  func `saves of several contexts run one after the other`() async throws {
    let fixture = try GraphFixture()
    let inside = Counter()
    let asked = Counter()
    var writers: [BackgroundContext] = []
    for number in 0..<6 {
      let id = try fixture.person("\(number)")
      let writer = fixture.container.newBackgroundContext()
      try await writer.perform { $0.object(Person.self, with: id).age = 10 }
      try fixture.change(id) { $0.age = 20 }
      writers.append(writer)
    }
    try await withThrowingTaskGroup { group in
      for writer in writers {
        group.addTask {
          try await writer.perform { context in
            context.mergePolicy = .custom { _ in
              #expect(inside.increment() == 1)
              asked.increment()
              Thread.sleep(forTimeInterval: 0.002)
              inside.decrement()
            }
            try context.save()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(asked.value == 6)
    let ages = try fixture.context().fetch(FetchRequest<Person>()).map(\.age)
    #expect(ages == Array(repeating: 10, count: 6))
  }

  @Test(.evidence("T-05"))
  func `unsaved changes of a block are visible to the next`() async throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let background = fixture.container.newBackgroundContext()
    try await background.perform { $0.object(Person.self, with: id).age = 2 }
    // Another block sees the unsaved changes, and rolls them back.
    let found = try await Task.detached {
      try await background.perform { context in
        defer { context.rollback() }
        return context.updatedObjects.count
      }
    }.value
    #expect(found == 1)
    let hasChanges = try await background.perform { $0.hasChanges }
    #expect(!hasChanges)
    #expect(try fixture.stored(id)?.age == 1)
  }

  @Test(.evidence("T-06"), .evidence("T-07"))
  @MainActor func `IDs lead to separate objects in each context`() async throws {
    let fixture = try GraphFixture()
    let (id, token) = try await fixture.container.performBackgroundTask { context in
      let person = Person(context: context)
      person.name = "Ada"
      try context.setQueryGenerationFrom(.current)
      try context.save()
      return (person.objectID, context.queryGenerationToken)
    }
    let view = fixture.container.viewContext
    let (here, there) = (view.object(Person.self, with: id), fixture.context())
    try view.setQueryGenerationFrom(token)
    #expect(view.queryGenerationToken == token)
    #expect(here.name == "Ada" && here.objectID == id)
    #expect(there.object(Person.self, with: id) !== here)
    let error = #expect(throws: ObjectGraphError.self) {
      try there.refresh(here, mergeChanges: false)
    }
    #expect(error?.kind == .foreignObject)
  }

  @Test(.evidence("T-07"))
  func `a save error names the object by ID`() async throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let background = fixture.container.newBackgroundContext()
    try await background.perform { $0.object(Person.self, with: id).age = 2 }
    try fixture.change(id) { $0.age = 3 }
    let error = await #expect(throws: ObjectGraphError.self) {
      try await background.perform { try $0.save() }
    }
    #expect(error?.kind == .mergeConflict && error?.objectID == id)
  }

  @Test(.spawning, .evidence("T-06"))
  func `relating objects of different contexts traps`() async {
    await #expect(processExitsWith: .failure) {
      let container = try PersistentContainer.inMemory(schema: people)
      let (first, second) = (container.newContext(), container.newContext())
      Car(context: first).owner = Person(context: second)
    }
  }
}
