import Heartwood
import HeartwoodTestSupport
import Testing

private enum Unordered {
  class Box: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(inverse: \Thing.boxes) var things: Set<Thing>
    @ToMany(inverse: \Label.box) var labels: Set<Label>
  }
  final class Crate: Box { override class var entity: Entity { Entity("Crate") } }
  final class Tin: Box { override class var entity: Entity { Entity("Tin") } }
  final class Thing: ManagedObject {
    @Attribute var name: String = ""
    @ToMany var boxes: Set<Box>
  }
  final class Label: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var box: Box?
  }
  static let schema = Schema(version: 1, Box.self, Crate.self, Tin.self)
}

private enum Ordered {
  class Box: ManagedObject {
    @Attribute var name: String = ""
    @OrderedToMany(inverse: \Thing.boxes) var things: [Thing]
    @ToMany(inverse: \Label.box) var labels: Set<Label>
  }
  final class Crate: Box { override class var entity: Entity { Entity("Crate") } }
  final class Tin: Box { override class var entity: Entity { Entity("Tin") } }
  final class Thing: ManagedObject {
    @Attribute var name: String = ""
    @ToMany var boxes: Set<Box>
  }
  final class Label: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var box: Box?
  }
  static let schema = Schema(version: 2, Box.self, Crate.self, Tin.self)
}

private enum Reduced {
  class Box: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(inverse: \Thing.boxes) var things: Set<Thing>
    @ToMany(inverse: \Label.box) var labels: Set<Label>
  }
  final class Tin: Box { override class var entity: Entity { Entity("Tin") } }
  final class Thing: ManagedObject {
    @Attribute var name: String = ""
    @OrderedToMany var boxes: [Box]
  }
  final class Label: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var box: Box?
  }
  static let schema = Schema(version: 2, removing: ["Crate"], Box.self, Tin.self)
}

private enum Single {
  class Box: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(inverse: \Thing.box) var things: Set<Thing>
    @ToMany(inverse: \Label.box) var labels: Set<Label>
  }
  final class Crate: Box { override class var entity: Entity { Entity("Crate") } }
  final class Tin: Box { override class var entity: Entity { Entity("Tin") } }
  final class Thing: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var box: Box?
  }
  final class Label: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var box: Box?
  }
  static let schema = Schema(version: 2, Box.self, Crate.self, Tin.self)
}

@Suite("The evolution of inherited relationships")
struct InheritedRelationshipEvolutionTests {
  /// Saves a box of each class, with a label.
  ///
  /// - Parameter isShared: Whether all boxes contain the same three things, instead of one each.
  private func filled(isShared: Bool = true) throws -> EvolvingStore {
    let store = EvolvingStore()
    try store.open(Unordered.schema) { context in
      let things = (0..<3).map { number in
        let thing = Unordered.Thing(context: context)
        thing.name = "\(number)"
        return thing
      }
      try context.obtainPermanentIDs(for: things)
      let boxes = [
        Unordered.Box(context: context), Unordered.Crate(context: context),
        Unordered.Tin(context: context),
      ]
      for (number, name) in ["box", "crate", "tin"].enumerated() {
        let box = boxes[number]
        box.name = name
        box.things = isShared ? Set(things) : [things[number]]
        let label = Unordered.Label(context: context)
        (label.name, label.box) = (name, box)
      }
    }
    return store
  }

  @Test(.evidence("E-06"), .evidence("E-08"))
  func `a relationship becomes ordered in each class that inherits it`() throws {
    try filled().open(Ordered.schema) { context in
      let boxes = try context.all(Ordered.Box.self)
      #expect(boxes.map(\.name).sorted() == ["box", "crate", "tin"])
      #expect(boxes.allSatisfy { $0.things.map(\.name) == ["0", "1", "2"] })
      let things = try context.all(Ordered.Thing.self)
      #expect(
        things.map { $0.boxes.map(\.name).sorted() }
          == Array(repeating: ["box", "crate", "tin"], count: 3))
    }
  }

  @Test(.evidence("E-09")) func `removing a class keeps the members of the other classes`() throws {
    try filled().open(Reduced.schema) { context in
      let labels = try context.all(Reduced.Label.self).sorted { $0.name < $1.name }
      #expect(labels.map { $0.box?.name } == ["box", nil, "tin"])
      let boxes = try context.all(Reduced.Box.self)
      #expect(boxes.map(\.labels.count) == [1, 1])
      #expect(boxes.map(\.name).sorted() == ["box", "tin"])
      #expect(boxes.allSatisfy { $0.things.map(\.name).sorted() == ["0", "1", "2"] })
      let things = try context.all(Reduced.Thing.self)
      #expect(
        things.map { $0.boxes.map(\.name).sorted() } == Array(repeating: ["box", "tin"], count: 3))
    }
  }

  @Test(.evidence("E-07"))
  func `a new to-one relationship is filled from its inverse's members`() throws {
    try filled(isShared: false).open(Single.schema) { context in
      let things = try context.all(Single.Thing.self).sorted { $0.name < $1.name }
      #expect(things.map { $0.box?.name } == ["box", "crate", "tin"])
      #expect(try context.all(Single.Box.self).map(\.things.count) == [1, 1, 1])
    }
  }
}
