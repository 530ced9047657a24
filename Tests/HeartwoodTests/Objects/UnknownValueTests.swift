import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// An earlier version of a program, which does not know all the values in ``Later``.
private enum Earlier {
  enum Level: Int, Codable, Comparable, AttributeValue {
    case low = 1
    case high = 2
    static func < (first: Level, second: Level) -> Bool { first.rawValue < second.rawValue }
  }

  enum Kind: String, AttributeValue { case bug, wish }

  struct Place: Codable, Equatable, AttributeValue { var street: String }

  final class Ticket: ManagedObject {
    @Attribute var title: String = ""
    @Attribute var level: Level = .low
    @Attribute var spare: Level? = .high
    @Attribute(preservesValueOnDeletion: true) var kind: Kind = .bug
    @Attribute var kinds: [Level] = [.high]
    @Attribute var place: Place = Place(street: "none")
    @Attribute var link: URL? = nil
    @Attribute var rank: Int = 0
    override class var entity: Entity {
      Entity("Ticket") {
        Index(\Ticket.level)
        Index(\Ticket.kind, \Ticket.rank)
      }
    }
  }
}

private enum Later {
  enum Level: Int, Codable, AttributeValue { case low = 1, high, urgent }
  enum Kind: String, AttributeValue { case bug, wish, question }
  struct Place: Codable, Equatable, AttributeValue { var city: String }

  final class Ticket: ManagedObject {
    @Attribute var title: String = ""
    @Attribute var level: Level = .low
    @Attribute var spare: Level? = .high
    @Attribute(preservesValueOnDeletion: true) var kind: Kind = .bug
    @Attribute var kinds: [Level] = [.high]
    @Attribute var place: Place = Place(city: "none")
    @Attribute var link: String? = nil
    @Attribute var rank: Int = 0
    override class var entity: Entity {
      Entity("Ticket") {
        Index(\Ticket.level)
        Index(\Ticket.kind, \Ticket.rank)
      }
    }
  }
}

@Suite("Values that a program cannot decode")
struct UnknownValueTests {
  private typealias Ticket = Earlier.Ticket

  /// Returns a store with two tickets that ``Later`` has written.
  ///
  /// ``Earlier`` cannot decode six values of the first ticket and one value, the place, of the
  /// second.
  private func store() throws -> EvolvingStore {
    let store = EvolvingStore()
    try store.open(Schema(Later.Ticket.self)) { context in
      for number in 0..<2 {
        let ticket = Later.Ticket(context: context)
        ticket.title = number == 0 ? "new" : "old"
        ticket.level = number == 0 ? .urgent : .high
        ticket.spare = number == 0 ? .urgent : .low
        ticket.kind = number == 0 ? .question : .wish
        ticket.kinds = number == 0 ? [.urgent, .low] : [.low]
        if number == 0 { (ticket.place, ticket.link) = (Later.Place(city: "Bern"), "http://[") }
        ticket.rank = number
      }
    }
    return store
  }

  private let schema = Schema(Ticket.self)

  private func expectKept(
    _ store: EvolvingStore, _ level: Later.Level = .urgent, title: String = "new",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try store.open(Schema(Later.Ticket.self)) { context in
      let found = try context.fetch(FetchRequest<Later.Ticket>(sort: [SortDescriptor(\.rank)]))
      #expect(found.map(\.level) == [level, .high], sourceLocation: sourceLocation)
      #expect(found.map(\.kind) == [.question, .wish], sourceLocation: sourceLocation)
      #expect(found[0].spare == .urgent, sourceLocation: sourceLocation)
      #expect(found[0].kinds == [.urgent, .low], sourceLocation: sourceLocation)
      #expect(found[0].place == Later.Place(city: "Bern"), sourceLocation: sourceLocation)
      #expect(found[0].link == "http://[", sourceLocation: sourceLocation)
      #expect(found[0].title == title, sourceLocation: sourceLocation)
    }
  }

  @Test(.evidence("V-04")) func `an undecodable value reads as nil or the declared value`() throws {
    let store = try store()
    try store.open(schema) { context in
      let found = try context.fetch(FetchRequest<Ticket>(sort: [SortDescriptor(\.rank)]))
      #expect(found.map(\.title) == ["new", "old"])
      #expect(found[0].level == .low && found[0].spare == nil && found[0].kind == .bug)
      #expect(found[0].kinds == [.high] && found[0].place == Earlier.Place(street: "none"))
      #expect(found[0].link == nil && found[0].unreadableValues["link"] == .string("http://["))
      #expect(found[1].level == .high && found[1].spare == .low && found[1].kind == .wish)
      #expect(
        found[0].unreadableValues["level"] == .integer(3)
          && found[0].unreadableValues["kind"] == .string("question"))
      #expect(found[0].unreadableValues.count == 6)
      #expect(found[1].unreadableValues.keys.sorted() == ["place"])
      #expect(!context.hasChanges)
    }
    try expectKept(store)
  }

  @Test(.evidence("V-04"))
  func `an undecodable value stays in the row when other attributes are saved`() throws {
    let store = try store()
    try store.open(schema) { context in
      let found = try context.fetch(FetchRequest<Ticket>(sort: [SortDescriptor(\.rank)]))
      found[0].title = "renamed"
      try context.save()
      found[0].title = "again"
      try context.save()
      // A save through a child context also preserves the stored value.
      let child = ManagedObjectContext(parent: context)
      let ticket: Ticket = child.object(with: found[0].objectID)
      #expect(ticket.level == .low)
      ticket.title = "from the child"
      try child.save()
      try context.save()
      // Undoing an assignment restores the undecodable value.
      context.tracksUndo = true
      found[0].level = .high
      context.endUndoGroup()
      context.undo()
      #expect(found[0].level == .low && !found[0].hasChanges)
      found[0].level = .high
      context.rollback()
      #expect(found[0].level == .low && found[0].unreadableValues["level"] == .integer(3))
      found[0].level = .high
      try context.refresh(found[0], mergeChanges: false)
      #expect(found[0].unreadableValues["level"] == .integer(3))
      try context.execute(BatchUpdateRequest<Ticket> { row in row[\.rank] += 0 })
      try context.execute(
        BatchUpdateRequest<Ticket> { row in
          if row[\.level] == .low { row[\.title] = "by a batch" }
        })
    }
    try expectKept(store, title: "by a batch")
  }

  @Test(.evidence("V-04")) func `an undecodable value stays in the row in a conflict`() throws {
    for (policy, isMine) in [
      (MergePolicy.mergeByPropertyObjectTrump, true), (.mergeByPropertyStoreTrump, true),
      (.overwrite, true), (.rollback, false),
    ] {
      let store = try store()
      try store.withContainer(schema) { container in
        let (first, second) = (container.newContext(), container.newContext())
        let mine = try #require(try first.fetch(FetchRequest<Ticket>()).first { $0.title == "new" })
        let theirs: Ticket = second.object(with: mine.objectID)
        theirs.rank = -1
        try second.save()
        mine.title = "mine"
        first.mergePolicy = policy
        try first.save()
      }
      try expectKept(store, title: isMine ? "mine" : "new")
    }
  }

  @Test(.evidence("V-04")) func `an undecodable value is replaced only when the attribute is set`()
    throws
  {
    let store = try store()
    try store.open(schema) { context in
      let found = try context.fetch(FetchRequest<Ticket>(sort: [SortDescriptor(\.rank)]))
      // Assigning the default value, even if it is already shown, counts as a change and replaces
      // the stored value.
      found[0].level = .low
      #expect(found[0].unreadableValues["level"] == nil && found[0].hasChanges)
    }
    try expectKept(store, .low)
  }

  @Test(.evidence("V-04")) func `predicates compare undecodable values as stored`() throws {
    let store = try store()
    try store.open(schema) { context in
      func titles(_ format: String, _ arguments: any Sendable...) throws -> [String] {
        var request = FetchRequest<Ticket>(sort: [SortDescriptor(\.rank)])
        request.predicate = try QueryPredicate(format: format, arguments: arguments)
        return try context.fetch(request).map(\.title)
      }
      for _ in 0..<2 {
        #expect(try titles("level == 3") == ["new"])
        #expect(try titles("level > 1") == ["new", "old"])
        #expect(try titles("level == 1") == [])
        #expect(try titles("kind == 'question'") == ["new"])
        #expect(try titles("spare == nil") == [])
        // Change the objects, so that the queries are repeated with unsaved changes.
        for ticket in try context.fetch(FetchRequest<Ticket>()) { ticket.place.street += "" }
      }
      context.rollback()
      let values = try context.fetchValues(
        FetchRequest<Ticket>(sort: [SortDescriptor(\.rank)]), \.level, \.spare, \.place)
      #expect(values.map(\.0) == [.low, .high] && values.map(\.1) == [nil, .low])
      let groups = try context.aggregate(FetchRequest<Ticket>(), by: \.spare, .count)
      #expect(groups.count == 2)
      let most: Earlier.Level? = try context.aggregate(FetchRequest<Ticket>(), .max(\.level))
      #expect(most == .high)
    }
    try expectKept(store)
  }

  @Test(.evidence("V-04"), .evidence("IE-04"))
  func `an export contains undecodable values as stored`() throws {
    let store = try store()
    try store.open(schema) { context in
      var text = Data()
      let request = FetchRequest<Ticket>(sort: [SortDescriptor(\.rank)], limit: 1)
      try context.export(request, as: .jsonLines) { text += $0 }
      #expect(
        String(decoding: text, as: UTF8.self)
          == #"{"kind":"question","kinds":[3,1],"level":3,"link":"http://[","#
          + #""place":{"city":"Bern"},"rank":0,"spare":3,"title":"new"}"# + "\n")
    }
  }

  @Test(.evidence("V-04")) func `an undecodable value does not prevent deletion`() throws {
    let store = try store()
    try store.withContainer(schema) { container in
      let context = container.newContext()
      let found = try context.fetch(FetchRequest<Ticket>(sort: [SortDescriptor(\.rank)]))
      context.delete(found[0])
      try context.save()
      let rest = try container.newContext().fetch(FetchRequest<Ticket>())
      #expect(rest.map(\.objectID) == [found[1].objectID])
      let last = try #require(
        try container.fetchHistory(after: nil as PersistentHistoryToken?).last?.changes.last)
      #expect(last.kind == .delete(tombstone: ["kind": "question"]))
    }
  }

  @Test(.evidence("V-04")) func `reading a single undecodable value throws`() throws {
    let store = try store()
    try store.withContainer(schema) { container in
      let context = container.newContext()
      let ticket = try #require(
        try context.fetch(FetchRequest<Ticket>()).first { $0.title == "new" })
      let token = try container.newContext(pinnedTo: .current)
      _ = try token.count(for: FetchRequest<Ticket>())
      let now = try #require(token.queryGenerationToken)
      let version = try #require(
        try container.versions(of: ticket.objectID, from: now, to: now).last)
      #expect(try version.value("title", as: String.self) == "new")
      let error = try #require(throws: StorageError.self) {
        try version.value("level", as: Earlier.Level.self)
      }
      #expect(error.kind != .corrupt && "\(error)".contains("3"))
      let other = try #require(throws: StorageError.self) {
        try version.value("place", as: Earlier.Place.self)
      }
      #expect(other.kind != .corrupt)
    }
  }
}
