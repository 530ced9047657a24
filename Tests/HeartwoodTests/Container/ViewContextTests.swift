import Dispatch
import Heartwood
import HeartwoodTestSupport
import Testing

/// An object that reports whether it is deallocated on the main queue.
///
/// The queue is checked rather than the thread, because the main queue need not run on the main
/// thread.
final class Watched: ManagedObject {
  final class End: Sendable {
    private static let key = DispatchSpecificKey<Bool>()
    private let continuation: AsyncStream<Bool>.Continuation

    init(_ continuation: AsyncStream<Bool>.Continuation) {
      self.continuation = continuation
      DispatchQueue.main.setSpecific(key: Self.key, value: true)
    }

    deinit { continuation.yield(DispatchQueue.getSpecific(key: Self.key) == true) }
  }

  @Attribute var number: Int = 0
  @Transient var end: End? = nil
}

@Suite("The view context") @MainActor
struct ViewContextTests {
  private let fixture: GraphFixture

  init() throws { fixture = try GraphFixture() }

  /// Waits until a condition holds, without blocking the main actor.
  private func wait(until isMet: () -> Bool) async throws {
    while !isMet() { try await Task.sleep(for: .milliseconds(2)) }
  }

  @Test(.evidence("QG-35")) func `the view context merges saves of others automatically`()
    async throws
  {
    let id = try fixture.person("Ada", age: 1)
    let view = fixture.container.viewContext
    view.automaticallyMergesChangesFromParent = true
    let ada = try #require(try view.existingObject(Person.self, with: id))
    #expect(ada.age == 1)
    try fixture.change(id) { $0.age = 2 }
    try await wait { ada.age == 2 }
    // A merge preserves unsaved changes.
    ada.name = "Eve"
    try fixture.change(id) { $0.age = 3 }
    try await wait { ada.age == 3 }
    #expect(ada.name == "Eve")
    #expect(view.hasChanges)
  }

  @Test(.evidence("QG-35"))
  func `the view context notifies observers and advances its pin when it merges`() async throws {
    let id = try fixture.person("Ada", age: 1)
    let view = fixture.container.viewContext
    try view.setQueryGenerationFrom(.current)
    view.automaticallyMergesChangesFromParent = true
    let ada = try #require(try view.existingObject(Person.self, with: id))
    var changes = view.changes.makeAsyncIterator()
    try fixture.person("Bob")
    try fixture.change(id) { $0.age = 2 }
    let change = try #require(await changes.next())
    #expect(change.refreshed == [id])
    #expect(ada.age == 2)
    #expect(try view.count(for: FetchRequest<Person>()) == 2)
  }

  @Test(.evidence("QG-35")) func `the view context does not merge unless automatic merging is on`()
    async throws
  {
    let id = try fixture.person("Ada", age: 1)
    let view = fixture.container.viewContext
    let ada = try #require(try view.existingObject(Person.self, with: id))
    view.automaticallyMergesChangesFromParent = true
    try fixture.change(id) { $0.age = 2 }
    try await wait { ada.age == 2 }
    view.automaticallyMergesChangesFromParent = false
    try fixture.change(id) { $0.age = 3 }
    var others = fixture.container.remoteChanges.makeAsyncIterator()
    try fixture.person("Bob")
    _ = await others.next()
    try await Task.sleep(for: .milliseconds(20))
    #expect(ada.age == 2)
  }

  @Test func `the view context does not retain the store of a deallocated container`() async throws
  {
    weak var store: Store?
    do {
      let container = try PersistentContainer.inMemory(schema: people)
      container.viewContext.automaticallyMergesChangesFromParent = true
      store = container.store
      try await Task.sleep(for: .milliseconds(5))
    }
    try await wait { store == nil }
  }

  @Test(.evidence("K-04"))
  func `the view context is deallocated on the main actor`() async throws {
    let (ends, continuation) = AsyncStream.makeStream(of: Bool.self)
    let (gate, opened) = AsyncStream.makeStream(of: Void.self)
    var container: PersistentContainer? = try .inMemory(schema: Schema(Watched.self))
    if let context = container?.viewContext {
      Watched(context: context).end = Watched.End(continuation)
    }
    let task = Task.detached { [container] in
      for await _ in gate { break }
      withExtendedLifetime(container) {}
    }
    container = nil
    opened.yield()
    await task.value
    var iterator = ends.makeAsyncIterator()
    #expect(await iterator.next() == true)
  }
}
