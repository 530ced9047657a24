import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Root: ManagedObject {
  @Attribute(.unique) var code: Int? = nil
  @Attribute var title: String = ""
  @Attribute var leafCount: Int = 0
  @ToMany(inverse: \Leaf.root) var leaves: Set<Leaf>

  override class var entity: Entity {
    Entity("Root") { Derived(\Root.leafCount, .count(\Root.leaves)) }
  }
}

private final class Leaf: ManagedObject {
  @Attribute var size: Double = 0
  @Attribute var label: String? = nil
  @ToOne var root: Root?

  override class var entity: Entity {
    Entity("Leaf") {
      Unique(\Leaf.label)
      Derived(\Leaf.label, .copy(of: \Leaf.root, \Root.title))
    }
  }
}

private enum Concrete {
  final class Figure: ManagedObject {
    @Attribute var name: String = ""
  }
}

private enum Abstract {
  class Figure: ManagedObject {
    @Attribute var name: String = ""
    override class var entity: Entity { Entity("Figure", isAbstract: true) }
  }
  final class Circle: Figure {
    override class var entity: Entity { Entity("Circle") }
  }
}

extension PersistentContainer {
  /// Returns the events that follow a position, as JSON documents.
  fileprivate func documents(from start: ChangeFeed.Start) async throws -> [Data] {
    try await changeFeed(from: start).all(of: self).map { try $0.json() }
  }
}

@Suite("Events that are applied to a store")
struct FeedApplicationTests {
  // MARK: Derived attributes

  private func leaves(_ fixture: GraphFixture) throws -> [String] {
    try fixture.context().fetch(FetchRequest<Leaf>()).map { leaf in
      "\(leaf.size) \(leaf.label ?? "-") \(leaf.root?.code ?? -1) \(leaf.root?.leafCount ?? -1)"
    }.sorted()
  }

  @Test(.mustEnd, .evidence("CF-08"), .evidence("D-03"))
  func `have their derived attributes computed there`() async throws {
    let schema = Schema(Root.self)
    let (source, copy) = (try GraphFixture(schema), try GraphFixture(schema))
    let context = source.context()
    for (number, size) in [Double.infinity, -.infinity, .nan, 1.5].enumerated() {
      let (root, leaf) = (Root(context: context), Leaf(context: context))
      (root.code, root.title) = (number == 0 ? nil : number, "t\(number)")
      (leaf.size, leaf.root) = (size, root)
    }
    try context.save()
    let events = try await source.container.changeFeed(from: .existingObjects)
      .all(of: source.container)
    #expect(events.count { $0.entityName == "Root" && $0.key == nil } == 1)
    let documents = try events.map { event in
      let text = String(decoding: try event.json(), as: UTF8.self)
      return Data(text.replacing("\"size\":", with: "\"label\":\"x\",\"size\":").utf8)
    }
    try copy.container.apply(events: documents, mergePolicy: .mergeByPropertyObjectTrump)
    #expect(try leaves(copy) == leaves(source))
  }

  @Test(.mustEnd, .evidence("CF-09"), .evidence("D-04"))
  func `name all events if the object in conflict has none`() async throws {
    let schema = Schema(Root.self)
    let (source, copy) = (try GraphFixture(schema), try GraphFixture(schema))
    let context = source.context()
    let roots = ["x", "y"].map { title in
      let root = Root(context: context)
      (root.code, root.title) = (title == "x" ? 1 : 2, title)
      return root
    }
    try context.save()
    try copy.container.apply(
      events: try await source.container.documents(from: .existingObjects))
    let start = try #require(try source.container.currentHistoryToken)
    let edited = copy.context()
    for root in try edited.fetch(FetchRequest<Root>()) { Leaf(context: edited).root = root }
    try edited.save()
    roots[1].title = "x"
    try context.save()
    let documents = try await source.container.documents(from: .after(start))
    let error = #expect(throws: ObjectGraphError.self) {
      try copy.container.apply(events: documents)
    }
    #expect(error?.kind == .constraintConflict)
    #expect(error?.message.hasPrefix("Events 2-0 to 2-0 cannot be applied: ") == true)
  }

  // MARK: Objects

  @Test(.mustEnd, .evidence("CF-08"), .evidence("QG-58"))
  func `keep an object that the source has deleted and restored`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    let ada = try source.person("Ada", age: 1, cars: 2)
    try copy.container.apply(
      events: try await source.container.documents(from: .existingObjects))
    let copied = try #require(try copy.context().fetchObjectIDs(FetchRequest<Person>()).first)
    let start = try #require(try source.container.currentHistoryToken)
    try source.container.keepGeneration(.current, as: "start")
    try source.change(ada) { $0.managedObjectContext?.delete($0) }
    let kept = try #require(try source.container.keptGeneration("start"))
    try source.container.revert(to: kept)
    try copy.container.apply(events: try await source.container.documents(from: .after(start)))
    let found = try #require(try copy.stored(copied))
    #expect(found.name == "Ada" && found.age == 1 && found.cars == 2)
    #expect(try copy.context().count(for: FetchRequest<Car>()) == 2)
  }

  @Test(.mustEnd, .evidence("CF-08"))
  func `move a member from one ordered relationship to another`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    let context = source.context()
    let (first, second) = (Club(context: context), Club(context: context))
    let hall = Hall(context: context)
    (first.name, second.name, first.halls) = ("first", "second", [hall])
    try context.save()
    let existing = try await source.container.changeFeed(from: .existingObjects)
      .all(of: source.container)
    let lists = existing.compactMap { $0.after?.members["halls"] }
    #expect(lists.map(\.count).sorted() == [0, 1])
    try copy.container.apply(events: existing.map { try $0.json() })
    let start = try #require(try source.container.currentHistoryToken)
    // The first event about the hall precedes the events about the clubs.
    hall.number = 5
    try context.save()
    second.halls = [hall]
    try context.save()
    try copy.container.apply(events: try await source.container.documents(from: .after(start)))
    let clubs = try copy.context().fetch(FetchRequest<Club>(sort: [SortDescriptor(\.name)]))
    #expect(clubs.map { $0.halls.map(\.number) } == [[], [5]])
  }

  @Test(.mustEnd, .evidence("CF-08"))
  func `delete only objects that come from their own source`() async throws {
    let copy = try GraphFixture()
    let sources = [try GraphFixture(), try GraphFixture()]
    var ids: [ManagedObjectID] = []
    for (source, names) in zip(sources, [["Ada", "Al"], ["Bob", "Ben"]]) {
      ids.append(try source.person(names[0]))
      try source.person(names[1])
      try copy.container.apply(
        events: try await source.container.documents(from: .existingObjects))
    }
    var left = ["Ada", "Al", "Ben", "Bob"]
    for (number, source) in sources.enumerated() {
      try source.change(ids[number]) { $0.managedObjectContext?.delete($0) }
      try copy.container.apply(
        events: try await source.container.documents(from: .existingObjects))
      left.removeAll { $0 == ["Ada", "Bob"][number] }
      let names = try copy.context().fetchValues(FetchRequest<Person>(), \.name)
      #expect(names.sorted() == left)
    }
  }

  @Test(
    .mustEnd, .evidence("CF-10"),
    arguments: zip(
      MergePolicy.Each.allCases, ["mergeConflict", "3", "40", "40", "3", "40"]))
  func `merge with the values of an object that the source did not create`(
    policy: MergePolicy.Each, result: String
  ) async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    try copy.person("Ada", age: 3)
    try source.person("Ada", age: 40)
    let documents = try await source.container.documents(from: .existingObjects)
    var found = ""
    do {
      try copy.container.apply(events: documents, mergePolicy: policy.policy)
      found = try copy.context().fetch(FetchRequest<Person>()).map { "\($0.age)" }.joined()
    } catch let error as ObjectGraphError {
      found = "\(error.kind)"
    }
    #expect(found == result)
  }

  // MARK: Refused events

  @Test(.mustEnd, .evidence("CF-09"))
  func `are reported if they end in the middle of a generation`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    let (one, other) = (try source.person("a"), try source.person("b"))
    try copy.container.apply(
      events: try await source.container.documents(from: .existingObjects))
    let start = try #require(try source.container.currentHistoryToken)
    for (id, name) in [(one, "-"), (other, "a"), (one, "b")] {
      try source.change(id) { $0.name = name }
    }
    let documents = try await source.container.documents(from: .after(start))
    let error = #expect(throws: ObjectGraphError.self) {
      try copy.container.apply(events: documents.prefix(1))
    }
    #expect(error?.kind == .constraintConflict)
    #expect(error?.message.hasPrefix("Event 3-0 about Person/1 cannot be applied: ") == true)
    #expect(error?.message.contains("ends in the middle of a generation") == true)
    try copy.container.apply(events: documents)
    let names = try copy.context().fetchValues(FetchRequest<Person>(), \.name)
    #expect(names == ["b", "a"])
  }

  @Test(.mustEnd, .evidence("CF-09"))
  func `are refused if their class is unknown or abstract in the store`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    try source.person("Ada", cars: 1)
    let documents = try await source.container.documents(from: .oldestTransaction).map { event in
      let text = String(decoding: event, as: UTF8.self)
      return Data(
        text.replacing("\"owner\":{\"id\":\"Person/", with: "\"owner\":{\"id\":\"Ghost/").utf8)
    }
    expect(.unknownEntity, "Events 1-0 to 1-1", "no entity named Ghost") {
      try copy.container.apply(events: documents)
    }
    let concrete = try GraphFixture(Schema(Concrete.Figure.self))
    let context = concrete.context()
    Concrete.Figure(context: context).name = "square"
    try context.save()
    let figures = try await concrete.container.documents(from: .oldestTransaction)
    let abstract = try GraphFixture(Schema(Abstract.Circle.self))
    expect(.unknownEntity, "Events 1-0 to 1-0", "Figure is abstract") {
      try abstract.container.apply(events: figures)
    }
  }

  @Test(.mustEnd, .evidence("CF-08"))
  func `have no history token if their source is not a store`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    try source.person("Ada")
    let documents = try await source.container.documents(from: .oldestTransaction).map { event in
      let text = String(decoding: event, as: UTF8.self)
      return Data(text.replacing(/"source":"[^"]*"/, with: "\"source\":\"urn:example\"").utf8)
    }
    let report = try copy.container.apply(events: documents)
    #expect(report.appliedCount == 1 && report.token == nil)
    let again = try copy.container.apply(events: documents)
    #expect(again.appliedCount == 0 && again.repeatedCount == 1)
  }

  // MARK: Resumed feeds

  @Test(.mustEnd, .evidence("CF-08"), .evidence("V-05"))
  func `find an object by a very long unique value`() async throws {
    let (source, copy) = (try GraphFixture(), try GraphFixture())
    let names = ["a", "b"].map { String(repeating: "x", count: 3000) + $0 }
    let known = try copy.person(names[1], age: 3)
    for name in names { try source.person(name, age: 40) }
    try copy.container.apply(
      events: try await source.container.documents(from: .existingObjects))
    #expect(try copy.stored(known)?.age == 40)
    #expect(try copy.context().count(for: FetchRequest<Person>()) == 2)
  }

  @Test(.mustEnd, .evidence("H-05"))
  func `cannot be read from a history without transaction headers`() async throws {
    let source = try PersistentContainer.inMemory(schema: people)
    let context = source.newContext()
    Person(context: context).name = "Ada"
    try context.save()
    try source.store.write { transaction in
      _ = try transaction.keyspace("heartwood.history").delete(Key(1 as Int64, 0 as Int64))
    }
    var reader = try source.changeFeed(from: .oldestTransaction).reader()
    let error = #expect(throws: StorageError.self) { try reader.next() }
    #expect(error?.kind == .corrupt)
  }

}
