import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum Now {
  class Animal: ManagedObject {
    @Attribute var name: String = ""
  }
  final class Dog: Animal {}
  final class Leash: ManagedObject {
    @ToOne var dog: Dog?
    @ToOne(inverse: \Post.leash) var post: Post?
  }
  final class Post: ManagedObject {
    @ToOne var leash: Leash?
  }
  /// A class with a relationship to a class of the first store.
  final class Ticket: ManagedObject {
    @ToOne var driver: Person?
  }
  final class Poodle: Animal {}
}

private enum Before {
  final class Memo: ManagedObject {
    @Attribute var title: String = ""
    @Attribute var number: Int32 = 0
    @Attribute var colour: Int = 4
  }
}

private enum After {
  final class Memo: ManagedObject {
    @Attribute("text", renamedFrom: "title") var text: String = ""
    @Attribute var number: Int = 0
    @Attribute var isNew: Bool = true

    override class var entity: Entity { Entity("Memo") { Index(\Memo.number) } }
  }
}

@Suite("Adding a store")
struct StoreAddingTests {
  @Test(.evidence("ST-03")) func `adding a store with an assigned class throws`() throws {
    let fixture = try StoresFixture()
    let (container, url) = (fixture.container, fixture.url("new"))
    expect(.invalidModel, "Person", "people") {
      try container.addStore(url: url, entities: [Person.self, Car.self, Club.self])
    }
    // The schema of the first store includes `Keeper` indirectly.
    expect(.invalidModel, "Keeper") { try container.addStore(url: url, entities: [Keeper.self]) }
    expect(.invalidModel, "Memo", fixture.memos.path) {
      try container.addStore(url: url, entities: [Memo.self, Remark.self])
    }
    expect(.invalidModel, "Ticket.driver", "Person", "people") {
      try container.addStore(url: url, entities: [Now.Ticket.self])
    }
    expect(.invalidModel, "Memo", "same name") {
      try container.addStore(url: url, entities: [After.Memo.self])
    }
    #expect(container.stores.count == 3)
    try container.addStore(url: url, entities: [Everything.self, More.self])
    let context = fixture.context()
    _ = More(context: context)
    try context.save()
    #expect(try context.count(for: FetchRequest<Everything>()) == 1)
  }

  @Test(.evidence("ST-03")) func `adding a store requires all related classes`() throws {
    let fixture = try StoresFixture()
    let (container, url) = (fixture.container, fixture.url("new"))
    expect(.invalidModel) { try container.addStore(url: url, entities: []) }
    expect(.invalidModel, "Dog", "Animal") {
      try container.addStore(url: url, entities: [Now.Dog.self])
    }
    expect(.invalidModel, "Leash.dog", "Dog") {
      try container.addStore(url: url, entities: [Now.Leash.self, Now.Post.self])
    }
    expect(.invalidModel, "Post.leash") {
      try container.addStore(url: url, entities: [Now.Post.self])
    }
    let all = [Now.Leash.self, Now.Post.self, Now.Dog.self, Now.Animal.self]
    try container.addStore(url: url, entities: all as [ManagedObject.Type])
    expect(.invalidModel, "Poodle", "Animal", url.path) {
      try container.addStore(url: fixture.url("other"), entities: [Now.Poodle.self])
    }
    let context = fixture.context()
    let leash = Now.Leash(context: context)
    leash.dog = Now.Dog(context: context)
    leash.post = Now.Post(context: context)
    try context.save()
    #expect(try fixture.context().fetch(FetchRequest<Now.Animal>()).count == 1)
  }

  @Test(.evidence("ST-03"), arguments: StoresFixture.Kind.allCases)
  func `adding a store twice throws`(kind: StoresFixture.Kind) throws {
    let fixture = try StoresFixture(kind)
    let container = fixture.container
    for name in ["people", "memos", "memos/", "other/../memos"] {
      let error = #expect(throws: StorageError.self) {
        try container.addStore(url: fixture.url(name), entities: [Everything.self])
      }
      #expect(error?.kind == .invalidArgument, "\(name)")
    }
    #expect(container.stores.count == 3)
  }

  @Test(.evidence("ST-03"))
  func `adding a copy of a store, or the same store by another path, throws`() throws {
    let fixture = try StoresFixture(.inFiles)
    let container = fixture.container
    try fixture.memo("milk")
    let link = fixture.url("link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: fixture.memos)
    let store = container.stores[1]
    try store.copy(store.snapshot(), to: fixture.url("copy").path)
    for url in [link, fixture.url("copy")] {
      let error = #expect(throws: StorageError.self) {
        try container.addStore(url: url, entities: [Everything.self])
      }
      #expect(error?.kind == .invalidArgument)
      #expect(error?.description.contains("memos") == true)
    }
    // The rejected calls did not change either store.
    try fixture.memo("bread")
    let copy = try PersistentContainer(
      url: fixture.url("copy"), schema: Schema(Memo.self, Remark.self))
    let strings = try copy.read(at: .current) { try $0.fetch(FetchRequest<Memo>()).map(\.text) }
    #expect(strings == ["milk"])
    let objects = try StoredObjects(copy.store, at: copy.store.snapshot())
    #expect(objects.entity(named: "Everything") == nil)
    #expect(try copy.store.verify().findings.isEmpty)
  }

  @Test(.evidence("ST-04")) func `adding a store migrates it to its classes`() throws {
    let fixture = try StoresFixture(.inFiles, adds: false)
    do {
      let old = try PersistentContainer(
        url: fixture.memos, schema: Schema(Before.Memo.self, Stamp.self))
      let context = old.newContext()
      for number in 0..<20 {
        let memo = Before.Memo(context: context)
        memo.title = "memo \(number)"
        memo.number = Int32(number)
      }
      try context.save()
      try old.store.close()
    }
    // As in any migration, removing an attribute requires a higher version.
    expect(.incompatibleSchema, "colour") {
      try fixture.container.addStore(url: fixture.memos, entities: [After.Memo.self, Stamp.self])
    }
    #expect(fixture.container.stores.count == 1)
    var options = ContainerOptions()
    options.stages = [.lightweight(to: Schema(version: 2, Person.self, Club.self, Keeper.self))]
    let container = try PersistentContainer(
      url: fixture.url("newer"), schema: Schema(version: 2, Person.self, Club.self, Keeper.self),
      options: options)
    try container.addStore(url: fixture.memos, entities: [After.Memo.self])
    let context = container.newContext()
    let request = FetchRequest<After.Memo>(where: #Predicate { $0.number > 17 })
    let found = try context.fetch(request)
    #expect(found.map(\.text) == ["memo 18", "memo 19"])
    #expect(found.allSatisfy { $0.isNew })
    for store in container.stores { #expect(try store.verify().findings.isEmpty) }
    withExtendedLifetime(context) {}
  }

  @Test(.evidence("ST-01"), .evidence("ST-04")) func `the objects of an added store persist`()
    throws
  {
    let fixture = try StoresFixture(.inFiles)
    let id = try fixture.memo("milk", rank: 2, remarks: 2)
    let again = try PersistentContainer(url: fixture.url("people"), schema: people)
    let context = again.newContext()
    #expect(try context.existingObject(Memo.self, with: id) == nil)
    expect(.unknownEntity) { _ = try context.count(for: FetchRequest<Memo>()) }
    try again.addStore(url: fixture.memos, entities: [Memo.self, Remark.self])
    // The context was created before the store was added.
    #expect(try context.existingObject(Memo.self, with: id)?.remarks.count == 2)
    try fixture.change(id) { $0.rank = 3 }
    #expect(try context.fetch(FetchRequest<Memo>()).map(\.rank) == [3])
    withExtendedLifetime(context) {}
  }

  @Test(.evidence("ST-06")) func `in-memory containers share an added store by its URL`() throws {
    let name = "memory:\(UUID())"
    let url = try #require(URL(string: name))
    func container() throws -> PersistentContainer {
      let container = try PersistentContainer.inMemory(schema: people)
      try container.addStore(url: url, entities: [Stamp.self])
      return container
    }
    func count(_ container: PersistentContainer) throws -> Int {
      try container.read(at: .current) { try $0.count(for: FetchRequest<Stamp>()) }
    }
    do {
      let (first, second) = (try container(), try container())
      let context = first.newContext()
      _ = Stamp(context: context)
      try context.save()
      #expect(try count(second) == 1)
      try first.removeStore(url: url)
      expect(.removedStore) { _ = try count(first) }
      #expect(try count(second) == 1)
      try first.addStore(url: url, entities: [Stamp.self])
      #expect(try count(first) == 1)
      #expect(try second.stores.allSatisfy { try $0.verify().findings.isEmpty })
      withExtendedLifetime(context) {}
    }
    #expect(try count(container()) == 0)
  }
}
