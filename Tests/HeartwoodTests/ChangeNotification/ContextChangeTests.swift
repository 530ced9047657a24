import Heartwood
import HeartwoodTestSupport
import Testing

private final class Casing: ManagedObject {
  @ToOne(deleteRule: .cascade) var core: Core?
}

private final class Core: ManagedObject {
  @Attribute var size: Int = 0
}

@Suite("Change notifications of a context")
struct ContextChangeTests {
  @Test(.evidence("CH-01")) func `an observer receives each change and each save`() async throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    let ada = try #require(try context.existingObject(Person.self, with: id))
    let all = changes(context)
    var iterator = all.makeAsyncIterator()
    let bob = Person(context: context)
    let temporary = bob.objectID
    bob.name = "Bob"
    ada.age = 2
    ada.age = 3
    let first = try #require(await iterator.next(isolation: nil))
    #expect(first.kind == .objectsDidChange && first.generation == nil)
    #expect(first.inserted == [temporary] && first.updated == [id] && first.deleted.isEmpty)
    try context.save()
    context.delete(bob)
    try context.save()
    let next = [
      await iterator.next(isolation: nil), await iterator.next(isolation: nil),
      await iterator.next(isolation: nil),
    ]
    #expect(next.map { $0?.kind } == [.willSave, .didSave, .objectsDidChange])
    #expect(next[0]?.inserted == [temporary] && next[0]?.updated == [id])
    let lasting = try #require(next[1]?.inserted.first)
    #expect(!lasting.isTemporary && next[1]?.updated == [id] && next[1]?.generation != nil)
    #expect(next[2]?.deleted == [lasting])
    let last = [await iterator.next(isolation: nil), await iterator.next(isolation: nil)]
    #expect(last.map { $0?.kind } == [.willSave, .didSave])
    #expect(last.allSatisfy { $0?.deleted == [lasting] })
  }

  /// Returns the changes of a context as a sendable sequence, so that a task can collect them.
  private func changes(
    _ context: ManagedObjectContext
  ) -> some AsyncSequence<ContextChange, Never> & Sendable { context.changes }

  @Test(.evidence("CH-01"))
  func `an observer receives changes merged from other contexts, and the end of the context`()
    async throws
  {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let task: Task<[ContextChange], Never>
    do {
      let context = fixture.container.newContext()
      let ada = try #require(try context.existingObject(Person.self, with: id))
      let token = try fixture.token()
      try fixture.change(id) { $0.age = 2 }
      let all = changes(context)
      task = Task {
        var seen: [ContextChange] = []
        for await change in all { seen.append(change) }
        return seen
      }
      try context.mergeChanges(try fixture.container.changes(from: token, to: .current))
      #expect(ada.age == 2)
      ada.age = 3
      context.rollback()
      withExtendedLifetime(context) {}
    }
    let seen = await task.value
    #expect(seen.allSatisfy { $0.kind == .objectsDidChange })
    #expect(seen.contains { $0.refreshed == [id] } && seen.contains { $0.updated == [id] })
  }

  /// Returns the next change of the given kind, skipping other changes.
  private func next(
    _ kind: ContextChange.Kind, _ iterator: inout some AsyncIteratorProtocol<ContextChange, Never>
  ) async -> ContextChange? {
    while let change = await iterator.next(isolation: nil) {
      if change.kind == kind { return change }
    }
    return nil
  }

  @Test(.evidence("CH-01")) func `an observer receives changes of all stores`() async throws {
    let fixture = try StoresFixture()
    let context = fixture.context()
    _ = try context.fetch(FetchRequest<Memo>())
    var iterator = changes(context).makeAsyncIterator()
    let memo = Memo(context: context)
    let change = await next(.objectsDidChange, &iterator)
    #expect(change?.inserted == [memo.objectID])
  }

  @Test(.evidence("CH-01")) func `an observer of a child context receives its saves`() async throws
  {
    let fixture = try GraphFixture()
    let child = fixture.child(of: fixture.context())
    var iterator = changes(child).makeAsyncIterator()
    let bob = Person(context: child)
    bob.name = "Bob"
    try child.save()
    let start = await next(.willSave, &iterator)
    #expect(start?.inserted == [bob.objectID])
    let end = await next(.didSave, &iterator)
    #expect(end?.inserted == [bob.objectID] && end?.generation == nil)
  }

  @Test(.evidence("CH-01")) func `an observer receives saves of attributes alone`() async throws {
    let fixture = try GraphFixture(Schema(Stamp.self))
    let context = fixture.context()
    var iterator = changes(context).makeAsyncIterator()
    let stamp = Stamp(context: context)
    try context.save()
    #expect(await next(.didSave, &iterator)?.inserted == [stamp.objectID])
    stamp.code = 7
    try context.save()
    #expect(await next(.didSave, &iterator)?.updated == [stamp.objectID])
  }

  @Test(.evidence("CH-01"), .evidence("C-02"))
  func `an observer of saves receives no object whose edits lost a conflict`() async throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0, age: 1) }
    let context = fixture.context()
    context.mergePolicy = .rollback
    let people = try ids.map { try #require(try context.existingObject(Person.self, with: $0)) }
    #expect(people.map(\.age) == [1, 1])
    try fixture.change(ids[0]) { $0.age = 2 }
    var iterator = changes(context).makeAsyncIterator()
    for person in people { person.age = 3 }
    try context.save()
    #expect(await next(.didSave, &iterator)?.updated == [ids[1]])
    #expect(people.map(\.age) == [2, 3])
  }

  @Test(.evidence("CH-01"))
  func `an observer receives objects deleted in the store by a delete rule`() async throws {
    let fixture = try GraphFixture(Schema(Casing.self))
    let (context, other) = (fixture.context(), fixture.context())
    context.mergePolicy = .overwrite
    let casing = Casing(context: context)
    try context.save()
    let theirs = try #require(try other.existingObject(Casing.self, with: casing.objectID))
    let core = Core(context: other)
    theirs.core = core
    try other.save()
    var iterator = changes(context).makeAsyncIterator()
    let id = casing.objectID
    context.delete(casing)
    try context.save()
    #expect(await next(.didSave, &iterator)?.deleted == [id, core.objectID])
    #expect(try fixture.context().count(for: FetchRequest<Core>()) == 0)
  }
}
