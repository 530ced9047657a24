import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private protocol Counting { var count: Int { get } }

private struct SmallCounter: Counting { var count = 3 }

private struct LargeCounter: Counting {
  var words = (1, 2, 3, 4, 5, 6, 7)
  var count: Int { words.6 }
}

private final class Listener: Counting { var count = 9 }

private enum Shape {
  case none
  case circle(radius: Double)
  case label(String, Int8)
}

private struct Pair<First, Second> {
  var first: First
  var second: Second
}

private class Widget: ManagedObject, CustomReflectable {
  var helper: any Counting = SmallCounter()
  @Attribute var code: Int = 0
  var spare: (any Counting)?
  var flag: UInt8 = 1
  @Attribute var small: Int8 = 0
  weak var delegate: Listener?
  @Attribute var name: String = ""
  var listener = Listener()
  lazy var title = "title of \(code)"
  unowned(unsafe) var owner: AnyObject?
  @Attribute var rank: Double? = nil
  var shape = Shape.label("a", 1)

  /// Hides the properties from `Mirror`, because the library must not use it.
  var customMirror: Mirror { Mirror(self, children: ["nothing": 0]) }
}

private class Gadget: Widget {
  var pair = Pair<UInt8, (any Error)?>(first: 1, second: nil)
  @Attribute var day: Date = .distantPast
  @ToMany(inverse: \Part.gadget) var parts: Set<Part>
  var handler: (Int) -> Int = { $0 + 1 }
}

private final class Contraption: Gadget {
  @Attribute var tags: [String] = []
  var last: any Counting = LargeCounter()
}

private final class Part: ManagedObject {
  var metatype: any Any.Type = Int.self
  @ToOne var gadget: Gadget?
  var text = ""
}

/// An enumeration whose values take no memory.
private enum Sole: Int, AttributeValue { case only }

private final class Weightless: ManagedObject {
  @Attribute var first: Sole = .only
  @Attribute var name: String = ""
  @Attribute var second: Sole = .only
  @Attribute var third: Sole = .only
  @Attribute(.indexed) var count: Int = 0
}

private final class Nester: ManagedObject {
  @Attribute var depth: Int?? = nil
}

private class Maker: ManagedObject {
  var other = Part()
  @Attribute var code: Int = 0
}

private final class Assembler: Maker {
  @Attribute var size: Int = 0
}

@Suite("Stored properties without a wrapper")
struct StoredPropertyTests {
  @Test(.evidence("V-01"))
  func `properties without a wrapper do not affect the offsets of attributes`() throws {
    let fixture = try GraphFixture(Schema(Contraption.self))
    let context = fixture.context()
    let listener = Listener()
    let object = Contraption(context: context)
    object.helper = LargeCounter()
    object.spare = LargeCounter()
    object.delegate = listener
    object.flag = 255
    object.code = 5
    object.small = -7
    object.name = "a name that takes more than a few bytes"
    object.rank = 2.5
    object.shape = .circle(radius: 1)
    object.pair = Pair(first: 9, second: CancellationError())
    object.day = Date(timeIntervalSinceReferenceDate: 12.25)
    object.tags = ["x", "y"]
    let part = Part(context: context)
    part.gadget = object
    #expect(object.title == "title of 5")
    try context.save()

    let found: Contraption = try #require(
      try fixture.context().existingObject(with: object.objectID))
    #expect(found.code == 5 && found.small == -7 && found.name == object.name)
    #expect(found.rank == 2.5 && found.day == object.day && found.tags == ["x", "y"])
    #expect(found.parts.map(\.objectID) == [part.objectID])
    // Properties that are not stored in the database have their initial values.
    #expect(found.helper.count == 3 && found.spare == nil && found.flag == 1)
    #expect(found.delegate == nil && found.listener.count == 9 && found.last.count == 7)
    #expect(found.title == "title of 5" && found.handler(1) == 2 && found.pair.first == 1)
    if case .label("a", 1) = found.shape {} else { Issue.record("\(found.shape)") }

    // Reloading an object does not change the properties that are not stored in the database.
    object.listener.count = 4
    try fixture.change(Widget.self, object.objectID) { $0.name = "other" }
    try context.refresh(object, mergeChanges: false)
    #expect(object.name == "other" && object.helper.count == 7 && object.spare?.count == 7)
    #expect(object.flag == 255 && object.delegate === listener && object.listener.count == 4)
    #expect(object.last.count == 7 && object.pair.second is CancellationError)
    #expect(object.title == "title of 5" && object.handler(2) == 3)
  }

  @Test(.evidence("V-02"))
  func `attributes that take no memory do not hide others`() throws {
    let fixture = try GraphFixture(Schema(Weightless.self))
    let context = fixture.context()
    let object = Weightless(context: context)
    try context.save()
    object.name = "a"
    object.first = .only
    try context.save()
    // Another context changes the row, so this context's changes are merged into it.
    try fixture.change(Weightless.self, object.objectID) { $0.name = "b" }
    context.mergePolicy = .mergeByPropertyObjectTrump
    object.count = 7
    object.third = .only
    try context.save()
    let found: Weightless = try #require(
      try fixture.context().existingObject(with: object.objectID))
    #expect(found.name == "b" && found.count == 7)
    let request = FetchRequest<Weightless>(where: #Predicate { $0.count == 7 && $0.name == "b" })
    #expect(try context.count(for: request) == 1)
  }

  @Test(.evidence("V-01"))
  func `properties without a wrapper do not affect predicates, indexes and batches`() throws {
    let fixture = try GraphFixture(Schema(Contraption.self))
    let context = fixture.context()
    var rest = 0..<10
    try context.execute(
      BatchInsertRequest<Contraption> { row in
        guard let next = rest.popFirst() else { return true }
        row[\.code] = next
        row[\.small] = Int8(next)
        row[\.tags] = ["\(next)"]
        return false
      })
    let found = try context.fetch(
      FetchRequest<Contraption>(where: #Predicate { $0.code > 6 && $0.small < 9 }))
    #expect(found.map(\.tags) == [["7"], ["8"]])
  }

  @Test(.evidence("V-08"), .evidence("M-02"))
  func `attributes of types that cannot be stored are rejected`() throws {
    let refused: [(ManagedObject.Type, String)] = [
      (Nester.self, "Nester.depth"), (Maker.self, "Maker"), (Assembler.self, "Maker"),
    ]
    for (type, name) in refused {
      let error = try #require(throws: ObjectGraphError.self) {
        try PersistentContainer.inMemory(schema: Schema(types: [type]))
      }
      #expect(error.kind == .invalidModel && "\(error)".contains(name))
      // The error names only the class that is invalid, not its subclasses.
      #expect(!"\(error)".contains("Assembler"))
    }
  }
}

extension GraphFixture {
  func change<M: ManagedObject>(
    _ type: M.Type, _ id: ManagedObjectID, _ body: (M) -> Void
  ) throws {
    let context = context()
    let object: M = try #require(try context.existingObject(with: id))
    body(object)
    try context.save()
  }
}
