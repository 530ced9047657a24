import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum First {
  final class Pen: ManagedObject {
    @Attribute var text: String = ""
    @ToOne var cup: Cup?
  }
  final class Cup: ManagedObject {
    @Attribute var text: String = ""
    @ToMany(inverse: \Pen.cup) var pens: Set<Pen>
  }
  static let schema = Schema(Pen.self, Cup.self)
}

/// A version in which the two entities have exchanged their names.
private enum Second {
  final class Cup: ManagedObject {
    @Attribute var text: String = ""
    @ToOne var cup: Pen?
    override class var entity: Entity { Entity("Cup", renamedFrom: "Pen") }
  }
  final class Pen: ManagedObject {
    @Attribute var text: String = ""
    @ToMany(inverse: \Cup.cup) var pens: Set<Cup>
    override class var entity: Entity { Entity("Pen", renamedFrom: "Cup") }
  }
  static let schema = Schema(version: 2, Cup.self, Pen.self)
}

@Suite("A feed across a migration")
struct FeedRenamingTests {
  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  /// Opens the source and the copy, and applies the source's events to the copy after `body`.
  private func open(
    _ schema: Schema, after token: PersistentHistoryToken?,
    content: (ManagedObjectContext) throws -> [String],
    _ body: (ManagedObjectContext) throws -> Void
  ) async throws -> (token: PersistentHistoryToken?, contents: [[String]]) {
    let containers = try ["source", "copy"].map { name in
      try PersistentContainer(url: URL(filePath: scratch.path(of: name)), schema: schema)
    }
    let context = containers[0].newContext()
    try body(context)
    try context.save()
    withExtendedLifetime(context) {}
    let feed = try containers[0].changeFeed(from: token.map { .after($0) } ?? .existingObjects)
    let events = try await feed.all(of: containers[0])
    let report = try containers[1].apply(events: events.map { try $0.json() })
    let contents = try containers.map { container in
      let context = container.newContext()
      return try withExtendedLifetime(context) { try content(context).sorted() }
    }
    for container in containers {
      #expect(try container.store.verify().findings == [])
      try container.store.close()
    }
    return (report.token, contents)
  }

  @Test(.mustEnd, .evidence("CF-08"), .evidence("E-03"), .evidence("E-08"))
  func `changes the same objects after entities have been renamed`() async throws {
    let (token, before) = try await open(
      First.schema, after: nil,
      content: { try $0.all(First.Pen.self).map { "\($0.text) in \($0.cup?.text ?? "-")" } }
    ) { context in
      for number in 1...3 {
        let (pen, cup) = (First.Pen(context: context), First.Cup(context: context))
        (pen.text, cup.text, pen.cup) = ("pen \(number)", "cup \(number)", cup)
      }
    }
    let all = ["pen 1 in cup 1", "pen 2 in cup 2", "pen 3 in cup 3"]
    #expect(before == [all, all])
    let (_, after) = try await open(
      Second.schema, after: token,
      content: { try $0.all(Second.Cup.self).map { "\($0.text) in \($0.cup?.text ?? "-")" } }
    ) { context in
      let pens = try context.all(Second.Cup.self).sorted { $0.text < $1.text }
      context.delete(pens[0])
      pens[1].text = "pen 2 changed"
      pens[2].cup = pens[1].cup
      pens[1].cup?.text = "cup 2 changed"
    }
    let changed = ["pen 2 changed in cup 2 changed", "pen 3 in cup 2 changed"]
    #expect(after == [changed, changed])
  }
}
