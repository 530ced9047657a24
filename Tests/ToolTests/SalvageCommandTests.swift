import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Salvages stores with the tool, and uses the new stores with the program's classes.
@Suite("The command salvage")
struct SalvageCommandTests {
  private func target(_ fixture: StoreFixture) -> String { fixture.path + "-new" }

  private func salvage(_ fixture: StoreFixture, _ arguments: String...) throws -> ToolRun {
    try ToolRun(["salvage", fixture.path, target(fixture)] + arguments)
  }

  /// Expects that the new store is sound, and that its objects are consistent and can be saved.
  ///
  /// Returns the books.
  private func expectConsistent(_ path: String) throws -> [Int: SalvageObjects.Book] {
    let container = try SalvageObjects.open(at: path)
    #expect(try container.store.verify().findings == [])
    let context = container.newContext()
    let books = try SalvageObjects.books(in: context)
    for author in try context.fetch(FetchRequest<SalvageAuthor>()) {
      #expect(author.bookCount == author.books.count)
      for book in author.books { #expect(book.author === author) }
      for book in author.shelved { #expect(book.shelf === author) }
      if let teacher = author.teacher { #expect(teacher.student === author) }
    }
    for tag in try context.fetch(FetchRequest<SalvageTag>()) {
      for book in tag.books { #expect(book.tags.contains(tag)) }
    }
    for book in try context.fetch(FetchRequest<SalvageBook>()) {
      if let author = book.author { #expect(author.books.contains(book)) }
      if let shelf = book.shelf { #expect(shelf.shelved.contains(book)) }
      // The book must be found by its unique value and by its indexed title.
      let code = book.code
      let title = book.title
      #expect(try context.existingObject(where: \SalvageBook.code, equals: code) === book)
      let found = try context.fetch(
        FetchRequest<SalvageBook>(where: #Predicate { $0.title == title }))
      #expect(found.contains { $0 === book })
    }
    _ = try container.fetchHistory(after: nil)
    let new = SalvageNovel(context: context)
    new.code = 1_000_000
    new.title = "new"
    new.author = try context.fetch(FetchRequest<SalvageAuthor>()).first
    for author in try context.fetch(FetchRequest<SalvageAuthor>()) { author.name += "!" }
    try context.save()
    #expect(try container.store.verify().findings == [])
    try container.store.close()
    return books
  }

  @Test func `copies an intact store with its objects`() throws {
    let objects = try SalvageObjects()
    let before = try books(of: objects)
    let run = try salvage(objects.fixture)
    run.expectFine()
    #expect(run.output.hasSuffix("\ncomplete: nothing is missing\n"))
    #expect(try expectConsistent(target(objects.fixture)) == before)
    // The new store now exists.
    try salvage(objects.fixture).expectComplaint("already exists", exitCode: 1)
  }

  /// Removes the log of a checkpointed store, which may contain copies of its pages.
  private func removeLog(of fixture: StoreFixture) throws {
    for name in try fixture.names() where name.hasPrefix("wal-") {
      try fixture.fileSystem.remove(fixture.path(of: name))
    }
  }

  private func books(of objects: SalvageObjects) throws -> [Int: SalvageObjects.Book] {
    let container = try SalvageObjects.open(at: objects.fixture.path)
    let books = try SalvageObjects.books(in: container.newContext())
    try container.store.close()
    return books
  }

  @Test(arguments: TestScale.seeds(quick: 1, all: 4, long: 60), [3, 15])
  func `keeps objects consistent when pages are lost`(seed: UInt64, percent: Int) throws {
    let objects = try SalvageObjects(seed: seed)
    let before = try books(of: objects)
    var generator = SeededGenerator(seed: seed)
    var bytes = try objects.fixture.bytes(of: "pages")
    let first = Int(Geometry.firstPageOffset) / 4096
    // The first pages contain the model. Without the model, there are no objects.
    let spared = 12
    for page in first + spared..<bytes.count / 4096 where generator.below(100) < percent {
      bytes.replaceSubrange(page * 4096..<page * 4096 + 4096, with: generator.bytes(4096))
    }
    try objects.fixture.write(bytes, to: "pages")
    try removeLog(of: objects.fixture)
    let run = try salvage(objects.fixture, "--json")
    let report = try run.json()
    #expect(run.exitCode == (report["isComplete"] as? Bool == true ? 0 : 1))
    let after = try expectConsistent(target(objects.fixture))
    let keyspaces = try #require(report["keyspaces"] as? [[String: Any]])
    let entities = Dictionary(
      uniqueKeysWithValues: keyspaces.compactMap { keyspace in
        (keyspace["entity"] as? String).map { ($0, keyspace) }
      })
    let counts = ["Book", "Novel"].compactMap { entities[$0]?["entryCount"] as? Int }
    #expect(counts.reduce(0, +) == after.count)
    for (code, book) in after {
      let known = try #require(before[code])
      #expect(book.title == known.title && book.text == known.text)
      #expect(book.author == nil || book.author == known.author)
      #expect(book.shelf == nil || book.shelf == known.shelf)
      #expect(book.tags.isSubset(of: known.tags))
    }
    #expect(after.count > before.count / 3)
  }

  @Test func `names missing objects by their IDs`() throws {
    let objects = try SalvageObjects()
    let before = try books(of: objects)
    let leaves = try leaves(of: "Book", objects.fixture)
    #expect(leaves.count > 2)
    let (leaf, rows) = leaves[leaves.count / 2]
    var bytes = try objects.fixture.bytes(of: "pages")
    bytes[Int(Geometry.firstPageOffset) + Int(leaf) * 4096 + 2000] ^= 1
    try objects.fixture.write(bytes, to: "pages")
    try removeLog(of: objects.fixture)
    let run = try salvage(objects.fixture)
    #expect(run.exitCode == 1)
    let range = "  Book/\(rows.lowerBound) … Book/\(rows.upperBound)"
    #expect(run.lines.contains(range))
    let after = try expectConsistent(target(objects.fixture))
    #expect(before.count - after.count == rows.upperBound - rows.lowerBound + 1)
  }

  /// A range of consecutive rows.
  private struct Rows {
    let lowerBound: Int
    let upperBound: Int
  }

  /// Returns the leaves with the rows of an entity, in the order of the rows.
  private func leaves(
    of entity: String, _ fixture: StoreFixture
  ) throws -> [(page: PageNumber, rows: Rows)] {
    try fixture.run { store in
      try store.checkpoint()
      let snapshot = try store.snapshot()
      let objects = try StoredObjects(store, at: snapshot)
      let facts = try #require(objects.entity(named: entity))
      let row = try #require(try Catalog.row(facts.keyspace, in: snapshot.state.view))
      var leaves: [(page: PageNumber, rows: Rows)] = []
      for page in 0..<snapshot.state.view.pageCount {
        guard let reference = try? snapshot.state.view.page(page) else { continue }
        defer { snapshot.state.view.release(reference) }
        let node = NodeView(reference.bytes)
        guard node.isLeaf, reference.bytes.load32(PageLayout.tree.offset) == row.root.tree
        else { continue }
        let block = ByteBlock(count: 2048)
        defer { block.keep() }
        let numbers = try [0, node.count - 1].map { slot in
          var decoder = KeyDecoder(node.copyKey(slot, to: block.bytes))
          return try decoder.decodeInteger(as: Int.self)
        }
        leaves.append(
          (page, Rows(lowerBound: numbers[0], upperBound: numbers[1])))
      }
      return leaves.sorted { $0.rows.lowerBound < $1.rows.lowerBound }
    }
  }

  @Test func `clears references to lost objects`() throws {
    let objects = try SalvageObjects()
    let before = try books(of: objects)
    let leaf = try #require(try leaves(of: "Author", objects.fixture).first)
    var bytes = try objects.fixture.bytes(of: "pages")
    bytes[Int(Geometry.firstPageOffset) + Int(leaf.page) * 4096 + 2000] ^= 1
    try objects.fixture.write(bytes, to: "pages")
    try removeLog(of: objects.fixture)
    let report = try salvage(objects.fixture, "--json").json()
    let changes = try #require(report["objects"] as? [String: Any])
    #expect(changes["clearedReferenceCount"] as? Int ?? 0 > 0)
    #expect(changes["removedMemberCount"] as? Int ?? 0 > 0)
    // Check the object numbers in the stored rows, because a program does not see these numbers.
    let store = try Store(at: target(objects.fixture))
    let stored = try StoredObjects(store, at: store.snapshot())
    let lost = Set((leaf.rows.lowerBound...leaf.rows.upperBound).map { "Author/\($0)" })
    for entity in ["Book", "Novel"] {
      try stored.forEachRow(of: ObjectQuery(entity: entity), ["author", "shelf"]) { row in
        for case .object(let id) in row { #expect(!lost.contains(id.shortText)) }
      }
    }
    try store.close()
    #expect(try expectConsistent(target(objects.fixture)).count == before.count)
  }

  @Test func `recognises rows without the catalog`() throws {
    let objects = try SalvageObjects()
    let before = try books(of: objects)
    try objects.fixture.run { try $0.checkpoint() }
    var bytes = try objects.fixture.bytes(of: "pages")
    bytes[Int(Geometry.firstPageOffset) + 4096 + 100] ^= 1
    try objects.fixture.write(bytes, to: "pages")
    try removeLog(of: objects.fixture)
    let run = try salvage(objects.fixture)
    #expect(run.exitCode == 1)
    for name in ["heartwood.model", "heartwood.rows", "heartwood.history"] {
      #expect(run.output.contains("identified by its contents as \"\(name)\""))
    }
    let after = try expectConsistent(target(objects.fixture))
    #expect(after == before)
  }

  @Test func `does not mistake rows without a model for other rows`() throws {
    let objects = try SalvageObjects()
    try objects.fixture.run { store in
      try store.write { try $0.keyspace("heartwood.model").delete("model") }
    }
    let run = try salvage(objects.fixture)
    #expect(run.exitCode == 1)
    #expect(run.output.contains("The object model is lost."))
    #expect(run.output.contains("lost.objects.1"))
    let container = try SalvageObjects.open(at: target(objects.fixture))
    #expect(try container.newContext().fetch(FetchRequest<SalvageBook>()).isEmpty)
    try container.store.close()
  }

  @Test func `needs a store and a new path`() throws {
    let store = try ToolStore()
    try ToolRun("salvage", store.path).expectComplaint("Missing argument NEW", exitCode: 2)
    try ToolRun("salvage", store.path + "x", store.path + "-new")
      .expectComplaint("no directory", exitCode: 1)
    try ToolRun("salvage", store.path, store.path + "/new")
      .expectComplaint("inside the directory of the damaged store", exitCode: 1)
    try store.fixture.run { _ in
      try ToolRun("salvage", store.path, store.path + "-new")
        .expectComplaint("has the damaged store open", exitCode: 1)
    }
  }
}
