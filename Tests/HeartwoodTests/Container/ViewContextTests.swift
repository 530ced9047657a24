import Dispatch
import Heartwood
import HeartwoodTestSupport
import Testing

/// An object that tells whether it ends on the main queue, which need not be the main thread.
final class Watched: ManagedObject {
  final class End: Sendable {
    private static let key = DispatchSpecificKey<Bool>()
    private let told: AsyncStream<Bool>.Continuation

    init(_ told: AsyncStream<Bool>.Continuation) {
      self.told = told
      DispatchQueue.main.setSpecific(key: Self.key, value: true)
    }

    deinit { told.yield(DispatchQueue.getSpecific(key: Self.key) == true) }
  }

  @Attribute var number: Int = 0
  @Transient var end: End? = nil
}

@Suite("The view context") @MainActor
struct ViewContextTests {
  private let fixture: GraphFixture

  init() throws { fixture = try GraphFixture() }

  /// Lets the main actor do other work until something holds.
  private func wait(until isMet: () -> Bool) async throws {
    while !isMet() { try await Task.sleep(for: .milliseconds(2)) }
  }

  @Test(.evidence("QG-35")) func `shows what others have saved without being asked`() async throws {
    let id = try fixture.person("Ada", age: 1)
    let view = fixture.container.viewContext
    view.automaticallyMergesChangesFromParent = true
    let ada = try #require(try view.existingObject(Person.self, with: id))
    #expect(ada.age == 1)
    try fixture.change(id) { $0.age = 2 }
    try await wait { ada.age == 2 }
    // What is not saved stays on top.
    ada.name = "Eve"
    try fixture.change(id) { $0.age = 3 }
    try await wait { ada.age == 3 }
    #expect(ada.name == "Eve")
    #expect(view.hasChanges)
  }

  @Test(.evidence("QG-35")) func `tells of it, and goes on where it is pinned`() async throws {
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

  @Test(.evidence("QG-35")) func `stays as it is unless that is wanted`() async throws {
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

  @Test func `does not keep the store of a container that is gone`() async throws {
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
  func `ends on the main actor, wherever its container does`() async throws {
    let (ends, told) = AsyncStream.makeStream(of: Bool.self)
    let (gate, opened) = AsyncStream.makeStream(of: Void.self)
    var container: PersistentContainer? = try .inMemory(schema: Schema(Watched.self))
    if let context = container?.viewContext { Watched(context: context).end = Watched.End(told) }
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
