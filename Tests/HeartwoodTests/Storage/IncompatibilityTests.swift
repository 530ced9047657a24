import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum Now {
  final class Item: ManagedObject {
    @Attribute var count: Int32 = 1
    @Attribute var text: String = ""
    @ToOne var box: Box?
    @ToMany(inverse: \Box.listed) var lists: Set<Box>
    @ToOne var other: Box?
    override class var entity: Entity { Entity("Item") { Index(\Item.count) } }
  }
  final class Box: ManagedObject {
    @Attribute var name: String = ""
    @ToMany var listed: Set<Item>
    @ToOne var first: Item?
  }
  static let schema = Schema(version: 2, Item.self)
}

/// A version in which each property has an incompatible change.
private enum Wrong {
  final class Item: ManagedObject {
    @Attribute var count: Int16 = 1
    @Attribute var text: Int = 0
    @Attribute var box: String? = nil
    @ToOne(inverse: \Box.listed) var lists: Box?
    @ToOne(inverse: \Box.first) var other: Box?
  }
  final class Box: ManagedObject {
    @Attribute var name: Data = Data()
    @ToMany var listed: Set<Item>
    @ToOne var first: Item?
  }
}

private enum Elsewhere {
  final class Item: ManagedObject {
    @Attribute var count: Int32 = 1
    @Attribute var text: String = ""
    @ToOne var box: Thing?
    @ToMany(inverse: \Box.listed) var lists: Set<Box>
    @ToOne var other: Box?
  }
  final class Thing: ManagedObject {}
  final class Box: ManagedObject {
    @Attribute var name: String = ""
    @ToMany var listed: Set<Item>
    @ToOne var first: Item?
  }
}

private enum Next {
  final class Item: ManagedObject {
    @Attribute var count: Int = 1
    @Attribute var text: String = ""
    @Attribute var added: Int = 9
    @ToOne var box: Box?
    @ToMany(inverse: \Box.listed) var lists: Set<Box>
    @ToOne var other: Box?
    override class var entity: Entity { Entity("Item") { Index(\Item.count) } }
  }
  final class Box: ManagedObject {
    @Attribute var name: String = ""
    @ToMany var listed: Set<Item>
    @ToOne var first: Item?
  }
}

/// The same entities with another index.
private enum Reindexed {
  final class Item: ManagedObject {
    @Attribute var count: Int32 = 1
    @Attribute var text: String = ""
    @ToOne var box: Box?
    @ToMany(inverse: \Box.listed) var lists: Set<Box>
    @ToOne var other: Box?
    override class var entity: Entity { Entity("Item") { Index(\Item.text) } }
  }
  final class Box: ManagedObject {
    @Attribute var name: String = ""
    @ToMany var listed: Set<Item>
    @ToOne var first: Item?
  }
}

@Suite("Incompatible models")
struct IncompatibilityTests {
  private func filled() throws -> EvolvingStore {
    let store = EvolvingStore()
    try store.open(Now.schema) { context in
      let item = Now.Item(context: context)
      item.text = "x"
      item.box = Now.Box(context: context)
    }
    return store
  }

  @Test(.evidence("E-10"))
  func `an incompatible model throws with all differences and a remedy`() throws {
    let store = try filled()
    let refusal = try store.refusal(Schema(version: 3, Wrong.Item.self))
    #expect(refusal.kind == .incompatibleSchema)
    let differences = refusal.failures.map(\.message)
    for sentence in [
      "Item.count is an attribute of type int16 in the program and an attribute of type int32 in",
      "Item.text is an attribute of type int64 in the program and an attribute of type string in",
      "Item.box is an optional attribute of type string in the program and a to-one relationship",
      "Item.lists is a to-one relationship in the program and a to-many relationship in the store",
      "Box.name is an attribute of type bytes in the program and an attribute of type string in",
      "Item.other and Box.first are not inverses of each other in the store",
    ] {
      let found = differences.filter { $0.hasPrefix(sentence) }
      #expect(!found.isEmpty, "\(sentence) in \(differences)")
      #expect(found.allSatisfy { $0.contains("custom MigrationStage") })
    }
    let elsewhere = try store.refusal(Schema(version: 3, Elsewhere.Item.self))
    #expect(
      elsewhere.message.contains(
        "In the store, Item.box can refer to Box, which does not inherit from Thing"))
    // The rejected migrations have changed nothing.
    try store.open(Now.schema) { try $0.expect("box != nil", \Now.Item.text, ["x"]) }
  }

  @Test(.evidence("E-11"))
  func `an older model is rejected unless it equals the current model`() throws {
    let store = try filled()
    try store.open(Schema(version: 1, Now.Item.self)) {
      try $0.expect("text == 'x'", \Now.Item.text, ["x"])
    }
    try store.open(Schema(version: 3, Now.Item.self)) { _ in }
    try store.open(Now.schema) { _ in }
    try store.open(Schema(version: 4, Next.Item.self)) { _ in }
    let refusal = try store.refusal(Now.schema)
    #expect(refusal.kind == .incompatibleSchema)
    #expect(refusal.message.contains("version 4") && refusal.message.contains("version 2"))
    #expect("\(refusal)".contains("Item.added exists only in the store"))
    let difference =
      "Item.count is an attribute of type int32 in the program and an attribute of type int64 in"
    #expect("\(refusal)".contains(difference))
  }

  @Test(.evidence("E-12"))
  func `a model change makes containers with the previous model throw`() throws {
    let name = "changed \(UUID())"
    let first = try PersistentContainer.inMemory(name: name, schema: Now.schema)
    let context = first.newContext()
    let item = Now.Item(context: context)
    item.text = "x"
    try context.save()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.count(for: FetchRequest<Now.Item>()) == 1)
    let token = context.queryGenerationToken
    let second = try PersistentContainer.inMemory(
      name: name, schema: Schema(version: 3, Next.Item.self))
    // A pinned context can read its own generation, but no newer generation.
    #expect(try context.count(for: FetchRequest<Now.Item>()) == 1)
    item.text = "y"
    func expectRefusal(_ body: () throws -> Void) {
      let error = #expect(throws: ObjectGraphError.self) { try body() }
      #expect(error?.kind == .incompatibleSchema)
    }
    expectRefusal { try context.save() }
    expectRefusal { try context.execute(BatchDeleteRequest<Now.Item>()) }
    let unpinned = first.newContext()
    expectRefusal { _ = try unpinned.fetch(FetchRequest<Now.Item>()) }
    let newer = second.newContext()
    #expect(try newer.fetch(FetchRequest<Next.Item>()).map(\.text) == ["x"])
    try newer.setQueryGenerationFrom(nil)
    expectRefusal { try newer.setQueryGenerationFrom(token) }
    #expect(try second.store.verify().findings == [])
    withExtendedLifetime((context, unpinned, newer)) {}
  }
  @Test(.evidence("E-11")) func `an older model with other indexes is rejected`() throws {
    let refusal = try filled().refusal(Schema(version: 1, Reindexed.Item.self))
    #expect(refusal.kind == .incompatibleSchema)
    #expect(refusal.message.contains("The models have different indexes or derived attributes."))
  }

  @Test(.evidence("E-12")) func `a migrated store's earlier generations cannot be read`() throws {
    let store = try Store.inMemory()
    try store.write { try $0.keyspace("other").put("a", [1]) }
    try store.keep(store.snapshot().generation, as: "empty")
    let first = try PersistentContainer(store: store, schema: Now.schema)
    try first.keepGeneration(.current, as: "old")
    let second = try PersistentContainer(
      store: store, schema: Schema(version: 3, Next.Item.self))
    for name in ["empty", "old"] {
      let token = try #require(try second.keptGeneration(name))
      expect(.incompatibleSchema, "written before the store's model was changed") {
        _ = try second.read(at: token) { try $0.count(for: FetchRequest<Next.Item>()) }
      }
    }
  }

}
