import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// A tokenizer whose terms are single letters.
private struct Letters: CustomTextTokenizer {
  let name = "repaired-letters"
  let version = 1

  func forEachToken(
    in text: String, _ body: (_ term: String, _ range: Range<String.Index>) -> Void
  ) {
    for index in text.indices { body(String(text[index]), index..<text.index(after: index)) }
  }
}

/// A note whose text index only this program can fill, and that has a derived attribute.
private final class LetterNote: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var capitals: String = ""

  override class var entity: Entity {
    Entity("LetterNote") {
      TextIndex(\LetterNote.text, tokenizer: .custom(Letters()))
      Derived(\LetterNote.capitals, .uppercase(\LetterNote.text))
    }
  }
}

private let letterNotes = Schema(LetterNote.self)

@Suite("Repair of salvaged objects")
struct ObjectRepairTests {
  private typealias Result = (report: SalvageReport, summary: ObjectRepair.Summary?)

  private func target(_ fixture: StoreFixture) -> String { fixture.path + "-new" }

  /// Salvages a store, damages the copy, and repairs the objects in the copy.
  private func repair(
    _ fixture: StoreFixture, _ damage: (Store, inout SalvageReport) throws -> Void
  ) throws -> Result {
    var summary: ObjectRepair.Summary?
    let report = try StoreSalvage(
      of: fixture.path, to: target(fixture), on: fixture.fileSystem
    ).run { store, report in
      try damage(store, &report)
      // Objects of a completely salvaged store are not repaired.
      report.hasLostCommits = true
      summary = try ObjectRepair.run(store, &report)
    }
    return (report, summary)
  }

  private func facts(_ entity: String, _ store: Store) throws -> EntityFacts {
    try #require(try StoredObjects(store, at: store.snapshot()).entity(named: entity))
  }

  private func books(_ fixture: StoreFixture) throws -> [Int: SalvageObjects.Book] {
    let container = try SalvageObjects.open(at: target(fixture))
    #expect(try container.store.verify().findings == [])
    let books = try SalvageObjects.books(in: container.newContext())
    try container.store.close()
    return books
  }

  @Test(arguments: [true, false])
  func `removes the older of two rows with the same unique value`(isFirst: Bool) throws {
    let objects = try SalvageObjects(authorCount: 3, bookCount: 9)
    func row() throws -> (keyspace: String, bytes: [UInt8]) {
      try objects.fixture.run { store in
        let keyspace = try facts("Book", store).keyspace
        return (keyspace, try #require(try store.snapshot().keyspace(keyspace)?.get(1)))
      }
    }
    let old = try row()
    try objects.change { context in
      for book in try context.fetch(FetchRequest<SalvageBook>()) { book.title = "new" }
    }
    let new = try row()
    let (_, summary) = try repair(objects.fixture) { store, _ in
      try store.write { transaction in
        let rows = try transaction.keyspace(new.keyspace)
        try rows.put(1, isFirst ? old.bytes : new.bytes)
        try rows.put(100, isFirst ? new.bytes : old.bytes)
      }
    }
    #expect(summary?.removedRowCount == 1)
    let books = try books(objects.fixture)
    #expect(books.count == 9 && books.values.allSatisfy { $0.title == "new" })
  }

  @Test func `removes rows and list members that cannot be decoded`() throws {
    let objects = try SalvageObjects(authorCount: 3, bookCount: 9)
    let (_, summary) = try repair(objects.fixture) { store, _ in
      let books = try facts("Book", store).keyspace
      let shelved = try facts("Author", store).relationships.first { $0.name == "shelved" }
      let list = try #require(shelved?.keyspace)
      try store.write { transaction in
        let rows = try transaction.keyspace(books)
        try rows.put("text", [1])
        try rows.put(-1, [1])
        try rows.put(100, [])
        try transaction.keyspace(list).put("text", [])
      }
    }
    #expect(summary?.removedRowCount == 3 && summary?.removedMemberCount == 1)
    #expect(try books(objects.fixture).count == 9)
  }

  @Test func `restores the members of lost lists from the inverse relationships`() throws {
    let objects = try SalvageObjects(authorCount: 3, bookCount: 9)
    let lists = [("Tag", "books"), ("Author", "shelved")]
    let (_, summary) = try repair(objects.fixture) { store, _ in
      for (entity, name) in lists {
        let list = try facts(entity, store).relationships.first { $0.name == name }
        let keyspace = try #require(list?.keyspace)
        try store.write { try $0.removeKeyspace(keyspace) }
      }
    }
    let container = try SalvageObjects.open(at: target(objects.fixture))
    let context = container.newContext()
    let books = try context.fetch(FetchRequest<SalvageBook>())
    for book in books {
      #expect(book.shelf?.shelved.contains(book) == true)
      #expect(book.tags.allSatisfy { $0.books.contains(book) })
    }
    #expect(summary?.restoredMemberCount == books.reduce(9) { $0 + $1.tags.count })
    withExtendedLifetime(context) {}
    try container.store.close()
  }

  /// Only the first damaged values are listed, so further values may belong to any transaction.
  @Test(arguments: [(count: 1, last: 2), (count: 2, last: 4)])
  func `removes the history up to a damaged transaction`(count: Int, last: Int64) throws {
    let objects = try SalvageObjects(authorCount: 3, bookCount: 9)
    for title in ["b", "c", "d"] {
      try objects.change { context in
        for book in try context.fetch(FetchRequest<SalvageBook>()) { book.title = title }
      }
    }
    let (report, _) = try repair(objects.fixture) { _, report in
      let index = try #require(
        report.keyspaces.firstIndex { $0.name == HistoryFormat.keyspace })
      report.keyspaces[index].damagedValues = [Key(2 as Int64, 1 as Int64).bytes]
      report.keyspaces[index].damagedValueCount = count
    }
    #expect(report.notes.contains { $0.contains("up to transaction \(last) is incomplete") })
    let store = try Store(at: target(objects.fixture))
    let stored = try StoredObjects(store, at: store.snapshot())
    #expect(try stored.history(after: last).map(\.number) == [3, 4].filter { $0 > last })
    #expect(throws: ObjectGraphError.self) { try stored.history(after: 1) }
    try store.close()
  }

  @Test func `restores what the next program needs to open the store`() throws {
    let objects = try SalvageObjects(authorCount: 3, bookCount: 9)
    let (report, _) = try repair(objects.fixture) { store, _ in
      try store.write { transaction in
        let model = try transaction.keyspace("heartwood.model")
        try model.delete("store")
        try model.delete("declarations")
      }
    }
    #expect(report.notes.contains { $0.contains("the store uses in object URIs is lost") })
    #expect(report.notes.contains { $0.contains("entity declarations are lost") })
    #expect(try books(objects.fixture).count == 9)
  }

  @Test func `reports objects whose model is damaged`() throws {
    let objects = try SalvageObjects(authorCount: 3, bookCount: 9)
    let (report, summary) = try repair(objects.fixture) { store, _ in
      try store.write { try $0.keyspace("heartwood.model").put("model", [1]) }
      #expect(try StoredObjects.textFindings(in: store).count == 1)
    }
    #expect(report.hasInconsistentObjects && summary == nil)
    #expect(report.notes.contains { $0.contains("could not be repaired") })
  }

  /// Creates a store with one note and the keyspace of another program.
  private func letterStore() throws -> StoreFixture {
    let fixture = StoreFixture.inMemory()
    try fixture.run { store in
      try store.write { transaction in
        try transaction.keyspace("first").put("model", [1])
      }
      let container = try PersistentContainer(store: store, schema: letterNotes)
      let context = container.newContext()
      LetterNote(context: context).text = "ab"
      try context.save()
      try store.checkpoint()
      withExtendedLifetime(context) {}
    }
    return fixture
  }

  /// Expects that the repaired store finds the note by its text.
  private func expectSearchable(_ fixture: StoreFixture) throws {
    let store = try Store(
      at: target(fixture), options: fixture.options, fileSystem: fixture.fileSystem)
    let container = try PersistentContainer(store: store, schema: letterNotes)
    let context = container.newContext()
    let found = try context.fetch(FetchRequest<LetterNote>(matching: .word("b")))
    #expect(found.map(\.capitals) == ["AB"])
    #expect(try container.verifyTextIndexes() == [])
    withExtendedLifetime(context) {}
    try store.close()
  }

  @Test func `lets a program rebuild a text index and derived attributes`() throws {
    let fixture = try letterStore()
    let (report, _) = try repair(fixture) { _, _ in }
    #expect(report.notes.contains { $0.contains("a program's tokenizer") })
    #expect(report.notes.contains { $0.hasPrefix("Derived attributes are recomputed") })
    try expectSearchable(fixture)
  }

  @Test func `renames only the keyspaces of objects if the model is lost`() throws {
    let fixture = try letterStore()
    let (report, summary) = try repair(fixture) { store, _ in
      try store.write { try $0.keyspace("heartwood.model").delete("model") }
    }
    #expect(summary == nil && report.notes.contains { $0.hasPrefix("The object model is lost") })
    let others = report.keyspaces.filter { !$0.hasLostName }
    #expect(others.map(\.name) == ["first"])
    let store = try Store(
      at: target(fixture), options: fixture.options, fileSystem: fixture.fileSystem)
    let names = try store.snapshot().keyspaceNames
    #expect(names.filter { !$0.hasPrefix("lost.") } == ["first"])
    #expect(names.contains("lost.heartwood.model"))
    #expect(try store.snapshot().keyspace("first")?.get("model") == [1])
    try store.close()
  }

  @Test func `recognises objects beside other keyspaces without the catalog`() throws {
    let fixture = try letterStore()
    var bytes = try fixture.bytes(of: "pages")
    bytes[Int(Geometry.firstPageOffset) + 4096 + 100] ^= 1
    try fixture.write(bytes, to: "pages")
    for name in try fixture.names() where name.hasPrefix("wal-") {
      try fixture.fileSystem.remove(fixture.path(of: name))
    }
    let (report, _) = try repair(fixture) { _, _ in }
    #expect(report.keyspaces.contains { $0.name == "heartwood.model" })
    #expect(report.keyspaces.contains { $0.name.hasPrefix("lost.") })
    try expectSearchable(fixture)
  }
}
