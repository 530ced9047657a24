import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private class Item: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute(.unique) var serial: Int? = nil
  @Attribute("id") var label: String = ""
  @ToMany(inverse: \Reading.item) var readings: Set<Reading>
  @ToMany(inverse: \Comment.item) var comments: Set<Comment>
  @ToOne(inverse: \Group.items) var group: Group?

  override class var entity: Entity { Entity("Item", isAbstract: true) }
}

private final class Tool: Item {
  override class var entity: Entity { Entity("Tool") }
}

private final class Reading: ManagedObject {
  @Attribute(.unique) var number: Int? = nil
  @ToOne var item: Item?
}

private final class Comment: ManagedObject {
  @Attribute var text: String = ""
  @ToOne var item: Item?
}

private final class Group: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @ToMany var items: Set<Item>
}

@Suite("Imports of objects and their relationships")
struct RelatedImportTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try PersistentContainer.inMemory(schema: Schema(Tool.self, Group.self))
    context = container.newContext()
  }

  private func upsert(
    _ text: String, _ change: (inout ImportOptions) -> Void = { _ in }
  ) throws -> ImportReport {
    try context.upsert(Tool.self, matching: \.code, from: text, change)
  }

  @Test(.evidence("IE-02")) func `set all members of an unordered relationship`() throws {
    let texts = [#"{"code": "a", "readings": [1, 2]}"#, #"{"code": "a", "readings": [2, 3, 2]}"#]
    for text in texts + texts.suffix(1) {
      let report = try upsert(text)
      #expect(report.elementCount == 1 && report.refusedCount == 0)
    }
    #expect(try upsert(texts[1]).unchangedCount == 1)
    let fresh = container.newContext()
    let found = try #require(try fresh.fetch(FetchRequest<Tool>()).first)
    #expect(found.readings.compactMap(\.number).sorted() == [2, 3])
    withExtendedLifetime(fresh) {}
    #expect(try context.count(for: FetchRequest<Reading>()) == 3)
  }

  @Test(.evidence("IE-02"))
  func `read a key as the property for which it was specified`() throws {
    // The attribute `label` is named `id` in the store.
    _ = try upsert(#"{"id": "x", "label": "y"}"#) { $0.keys = ["code": "id"] }
    _ = try upsert(#"{"code": "z", "id": "w"}"#)
    let found = try context.fetch(FetchRequest<Tool>(sort: [SortDescriptor(\.code)]))
    #expect(found.map(\.code) == ["x", "z"] && found.map(\.label) == ["y", "w"])
  }

  @Test(
    .evidence("IE-03"),
    arguments: [
      (#"{"code": "a", "readings": [null]}"#, "reference to a related object is null"),
      (#"{"code": "a", "comments": [{"text": "x"}]}"#, "no value for any unique attribute"),
      (#"{"code": "a", "comments": ["x"]}"#, "does not have exactly one unique attribute"),
    ])
  func `refuse related objects that cannot be identified`(text: String, reason: String) throws {
    expect(.invalidElement, "[0]", reason) { _ = try upsert(text) }
    #expect(try context.count(for: FetchRequest<Tool>()) == 0)
  }

  @Test(.evidence("IE-03")) func `refuse objects of abstract classes and ambiguous values`() throws
  {
    expect(.invalidElement, "Item is abstract") {
      try context.upsert(Item.self, matching: \.code, from: Data(#"{"code": "a"}"#.utf8))
    }
    // An item has two unique attributes.
    expect(.invalidElement, "[0].items[0]", "does not have exactly one unique attribute") {
      try context.upsert(
        Group.self, matching: \.name, from: Data(#"{"name": "g", "items": ["a"]}"#.utf8))
    }
  }

  @Test(.evidence("IE-03")) func `refuse objects that are nested more than 64 levels deep`() throws
  {
    func text(_ depth: Int) -> String {
      let levels = (0..<depth).map {
        #"{"code": "t\#($0)", "group": {"name": "g\#($0)", "items": ["#
      }
      return levels.joined() + String(repeating: "]}}", count: depth)
    }
    let tools = try upsert(text(1))
    #expect(tools.insertedCount == 1)
    expect(.invalidElement, "nested too deeply") { _ = try upsert(text(30)) }
  }

  @Test(.evidence("IE-01"), arguments: [ImportOptions.InvalidElements.stop, .skip])
  func `end with an error from the store`(invalidElements: ImportOptions.InvalidElements) throws {
    _ = try upsert(#"{"code": "a"}"#)
    let name = try #require(
      try container.store.snapshot().keyspaceNames.first { name in
        try name.hasPrefix("objects.") && container.store.snapshot().keyspace(name)?.count() == 1
      })
    // The row of the object has an unknown layout.
    try container.store.write { transaction in
      try transaction.keyspace(name).put(1 as Int64, [UInt8](repeating: 0xEE, count: 64))
    }
    let error = #expect(throws: StorageError.self) {
      try upsert(#"[{"code": "b"}, {"code": "a", "label": "x"}]"#) {
        $0.invalidElements = invalidElements
      }
    }
    #expect(error?.kind == .corrupt && error?.message.contains("unknown layout number") == true)
  }

  @Test(.evidence("IE-01")) func `are made in the store of the class, but not in a child context`()
    throws
  {
    let fixture = try StoresFixture()
    let context = fixture.context()
    let text = Data(#"{"text": "milk", "rank": 3}"#.utf8)
    #expect(try context.upsert(Memo.self, matching: \.text, from: text).insertedCount == 1)
    #expect(try fixture.stored() == ["milk 3"])
    expect(.childContext, "child context") {
      try fixture.child(of: context).upsert(Memo.self, matching: \.text, from: text)
    }
  }

  @Test(.evidence("IE-02")) func `accept more bytes than fit in memory at once`() async throws {
    let labels = (0..<3).map { String(repeating: "\($0)", count: 200_000) }
    let stream = AsyncStream { stream in
      for (number, label) in labels.enumerated() {
        stream.yield(Data("{\"code\": \"\(number)\", \"label\": \"\(label)\"}\n".utf8))
      }
      stream.finish()
    }
    let report = try await context.upsert(Tool.self, matching: \.code, from: stream)
    #expect(report.insertedCount == 3)
    let found = try context.fetch(FetchRequest<Tool>(sort: [SortDescriptor(\.code)]))
    #expect(found.map(\.label) == labels)
  }
}
