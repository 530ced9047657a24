import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// An object without a unique attribute.
private final class Drawer: ManagedObject {
  @Attribute var label: String = ""
  @ToMany(inverse: \Tool.drawer) var tools: Set<Tool>
}

private final class Tool: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @Attribute var capitals: String = ""
  @ToOne var drawer: Drawer?

  override class var entity: Entity {
    Entity("Tool") { Derived(\Tool.capitals, .uppercase(\Tool.name)) }
  }
}

/// An object whose relationships can contain objects of a subclass.
private class Plant: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @ToOne var parent: Plant?
  @ToMany(inverse: \Plant.parent) var children: Set<Plant>
}

private final class Tree: Plant {}

@Suite("Imports without classes")
struct StoredImportTests {
  private let fixture: GraphFixture

  init() throws { fixture = try GraphFixture(Schema(Tool.self, Tree.self)) }

  private func run(
    _ source: StoredObjects.ImportSource, _ text: String, of entity: String = "Tool",
    matching key: String? = nil, skipsInvalid: Bool = false, progress: ((Int) -> Void)? = nil
  ) throws -> ImportReport {
    let store = fixture.container.store
    var rest = Array(text.utf8)
    return try StoredObjects(store, at: store.snapshot()).importElements(
      source, of: entity, matching: key, author: nil, skipsInvalid: skipsInvalid,
      progress: progress, rewind: { rest = Array(text.utf8) }
    ) {
      defer { rest = [] }
      return rest
    }
  }

  /// Returns a value of each tool, in the order of the names.
  private func tools<Value>(_ value: (Tool) -> Value) throws -> [Value] {
    try withExtendedLifetime(fixture.context()) { context in
      try context.fetch(FetchRequest<Tool>(sort: [SortDescriptor(\.name)])).map(value)
    }
  }

  @Test(.evidence("M-08"))
  func `refer to objects without a unique attribute by existing IDs`() throws {
    let context = fixture.context()
    Drawer(context: context).label = "left"
    try context.save()
    let text = "name,drawer\nSaw,Drawer/1\nAwl,Drawer/9\nHoe,\n"
    #expect(throws: ObjectGraphError.self) { try run(.csv, text) }
    let report = try run(.csv, text, skipsInvalid: true)
    #expect(report.insertedCount == 2 && report.refusals.map(\.position) == [1])
    #expect("\(report.refusals.map(\.error))".contains("no object Drawer/9"))
    #expect(try tools { $0.drawer?.label } == [nil, "left"])
  }

  @Test(.evidence("M-08")) func `compute derived attributes`() throws {
    let text = #"[{"name": "Saw", "capitals": "x"}]"#
    #expect(try run(.json, text).insertedCount == 1)
    #expect(try tools(\.capitals) == ["SAW"])
    #expect(try run(.json, text).unchangedCount == 1)
  }

  /// The import does not create the parent itself, because it may be a plant or a tree.
  @Test(.evidence("M-08")) func `set references to an object that a later element adds`() throws {
    let children = (0..<600).map { #"{"name": "\#($0)", "parent": "root"}"# }
    let text = (children + [#"{"name": "root"}"#]).joined(separator: "\n")
    let report = try run(.json, text, of: "Plant")
    #expect(report.insertedCount == 601 && report.elementCount == 601)
    try fixture.stored { context in
      let root = try context.existingObject(where: \Plant.name, equals: "root")
      #expect(root?.children.count == 600 && root?.parent == nil)
    }
  }

  @Test func `name an entity and an attribute that identifies its objects`() throws {
    expect(.unknownEntity, "Nothing") { _ = try run(.json, "[]", of: "Nothing") }
    expect(.unknownProperty, "no attribute with its own unique constraint") {
      _ = try run(.json, "[]", of: "Drawer")
    }
  }

  @Test func `write many elements in parts and report the progress`() throws {
    var reported: [Int] = []
    let text = (0..<1001).map { #"{"name": "\#($0)"}"# }.joined(separator: "\n")
    #expect(try run(.json, text) { reported.append($0) }.insertedCount == 1001)
    #expect(reported == [1000])
    #expect(try tools(\.name).count == 1001)
    #expect(try run(.csv, "").insertedCount == 0)
  }
}
