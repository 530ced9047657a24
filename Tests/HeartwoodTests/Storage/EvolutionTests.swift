import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// The first version of a class of books.
private enum V1 {
  final class Book: ManagedObject {
    @Attribute var title: String? = nil
    @Attribute var pages: Int16 = 0
    @Attribute var weight: Float = 0
    @Attribute var rank: Int? = nil
    @Attribute var shelf: String = ""
    @Attribute var note: String = ""
    override class var entity: Entity {
      Entity("Book") {
        Index(\Book.title)
        Index(\Book.pages)
        Unique(\Book.rank)
      }
    }
  }
  static let schema = Schema(Book.self)

  /// Stores books with ascending page counts.
  ///
  /// A third of the books have no title, and only one book has a rank.
  static func fill(_ store: EvolvingStore, count: Int = 12) throws {
    try store.open(schema) { context in
      for number in 0..<count {
        let book = Book(context: context)
        book.title = number % 3 == 0 ? nil : "T\(number)"
        book.pages = Int16(number * 100)
        book.weight = Float(number) / 4
        book.rank = number == 5 ? 1 : nil
        book.shelf = "S\(number % 2)"
        book.note = "n\(number)"
      }
    }
  }
}

private enum V2 {
  /// A version with a required title, wider number types and two new attributes, but without
  /// `note`.
  final class Book: ManagedObject {
    @Attribute var title: String = "untitled"
    @Attribute var pages: Int = 0
    @Attribute var weight: Double = 0
    @Attribute var rank: Int? = nil
    @Attribute var shelf: String = ""
    @Attribute var stars: Int = 3
    @Attribute var search: String = ""
    override class var entity: Entity {
      Entity("Book") {
        Index(\Book.title)
        Index(\Book.pages)
        Index(\Book.stars)
        Unique(\Book.rank)
        Derived(\Book.search, .uppercase(\Book.title))
      }
    }
  }
  static let schema = Schema(version: 2, Book.self)
}

private enum V3 {
  /// A version with different declared values than version 2, and with an optional title.
  final class Book: ManagedObject {
    @Attribute var title: String? = nil
    @Attribute var pages: Int = 0
    @Attribute var weight: Double = 0
    @Attribute var rank: Int? = nil
    @Attribute var shelf: String = ""
    @Attribute var stars: Int = 5
    @Attribute var note: String = "new"
    @Attribute var search: String? = nil
    override class var entity: Entity {
      Entity("Book") {
        Index(\Book.title)
        Index(\Book.pages)
        Index(\Book.stars)
        Derived(\Book.search, .uppercase(\Book.title))
      }
    }
  }
  static let schema = Schema(version: 3, Book.self)
}

@Suite("Migrating attributes")
struct EvolutionTests {
  @Test(.evidence("E-01"), .evidence("E-02"), .evidence("E-04"))
  func `existing rows show the declared value of a new attribute`() throws {
    let store = EvolvingStore()
    try V1.fill(store)
    try store.open(V2.schema) { context in
      let books = try context.all(V2.Book.self).sorted { $0.pages < $1.pages }
      #expect(books.map(\.pages) == (0..<12).map { $0 * 100 })
      let weights: [Double] = (0..<12).map { Double($0) / 4 }
      #expect(books.map(\.weight) == weights)
      let titles: [String] = (0..<12).map { $0 % 3 == 0 ? "untitled" : "T\($0)" }
      #expect(books.map(\.title) == titles)
      #expect(books.allSatisfy { $0.stars == 3 && $0.shelf.hasPrefix("S") })
      #expect(books.map(\.search) == books.map { $0.title.uppercased() })
    }
    try store.open(V2.schema) { context in
      // The conditions use both indexed and unindexed attributes.
      let untitled = [0, 300, 600, 900]
      try context.expect("title == 'untitled'", \V2.Book.pages, untitled)
      try context.expect("title BEGINSWITH 'unt'", \V2.Book.pages, untitled)
      try context.expect(
        "title != 'untitled' AND stars == 3", \V2.Book.pages,
        [100, 200, 400, 500, 700, 800, 1000, 1100])
      try context.expect("search == 'UNTITLED'", \V2.Book.pages, untitled)
      try context.expect("pages > 1000", \V2.Book.pages, [1100])
      try context.expect("weight >= 2.5", \V2.Book.pages, [1000, 1100])
      let sorted = try context.fetch(
        FetchRequest<V2.Book>(sort: [SortDescriptor(\.title), SortDescriptor(\.pages)]))
      #expect(sorted.suffix(4).map(\.pages) == untitled)
      var empty = FetchRequest<V2.Book>()
      empty.predicate = try QueryPredicate(format: "title == nil OR stars == nil")
      #expect(try context.count(for: empty) == 0)
    }
  }

  @Test(.evidence("E-01"), .evidence("E-02"))
  func `existing rows keep their values when declared values change`() throws {
    let store = EvolvingStore()
    try V1.fill(store)
    try store.open(V2.schema) { context in
      let new = V2.Book(context: context)
      new.pages = 5000
      new.title = "written by 2"
    }
    try store.open(V3.schema) { context in
      try context.expect("stars == 3", \V3.Book.pages, (0..<12).map { $0 * 100 } + [5000])
      try context.expect("stars == 5", \V3.Book.pages, [])
      try context.expect("title == 'untitled'", \V3.Book.pages, [0, 300, 600, 900])
      // Removing an attribute and adding it again loses its earlier values.
      let notes = try context.all(V3.Book.self).map(\.note)
      #expect(Set(notes) == ["new"])
      let new = V3.Book(context: context)
      new.pages = 6000
    }
    try store.open(V3.schema) { context in
      try context.expect("title == nil", \V3.Book.pages, [6000])
      try context.expect("search == nil", \V3.Book.pages, [6000])
      try context.expect("stars == 5", \V3.Book.pages, [6000])
    }
    // The title is required again, so the row written without a title shows the declared value.
    try store.open(Schema(version: 4, V2.Book.self)) { context in
      try context.expect("title == 'untitled'", \V2.Book.pages, [0, 300, 600, 900, 6000])
    }
  }

  @Test(.evidence("E-01"))
  func `a migration leaves rows unchanged until they are saved`() throws {
    let store = EvolvingStore()
    try V1.fill(store)
    func versions(_ schema: Schema) throws -> [[UInt8]] {
      try store.withContainer(schema) { container in
        let rows = try #require(try container.store.snapshot().keyspace("objects.1"))
        var found: [[UInt8]] = []
        try rows.forEach { _, value in
          found.append(value.withUnsafeBytes { Array($0) })
          return true
        }
        return found
      }
    }
    let before = try versions(V1.schema)
    // This version has no derived attributes, so the migration need not write rows.
    let after = try versions(Schema(version: 2, Plain.Book.self))
    #expect(before == after)
    try store.open(Schema(version: 2, Plain.Book.self)) { context in
      try context.all(Plain.Book.self)[3].rank = 9
    }
    let changed = try versions(Schema(version: 2, Plain.Book.self))
    #expect(zip(changed, after).filter { $0 != $1 }.count == 1)
  }

  @Test(.evidence("E-02"))
  func `rows keep the values they show when an attribute becomes optional again`() throws {
    let store = EvolvingStore()
    func add(_ schema: Schema, optional: Bool) throws {
      try store.open(schema) { context in
        if optional {
          _ = Alone.Optional(context: context)
        } else {
          Alone.Required(context: context).text = "set"
        }
      }
    }
    try add(Schema(version: 1, Alone.Optional.self), optional: true)
    try add(Schema(version: 2, Alone.Required.self), optional: false)
    try add(Schema(version: 3, Alone.Optional.self), optional: true)
    try store.open(Schema(version: 3, Alone.Optional.self)) { context in
      let strings = try context.all(Alone.Optional.self).map(\.text)
      #expect(strings == ["declared", "set", nil])
    }
    try store.open(Schema(version: 4, Alone.Other.self)) { context in
      let strings = try context.all(Alone.Other.self).map(\.text)
      #expect(strings == ["declared", "set", "other"])
    }
  }

  @Test(.evidence("E-04"))
  func `numbers keep their values in wider types`() throws {
    let store = EvolvingStore()
    try store.open(Schema(Narrow.Sample.self)) { context in
      for sign in [-1, 1] {
        let sample = Narrow.Sample(context: context)
        sample.small = Int8(sign * 100)
        sample.middle = Int32(sign) * .max
        sample.positive = sign < 0 ? .max : 1
        sample.ratio = Float(sign) / 8
        sample.maybe = sign < 0 ? nil : 7
      }
    }
    let wide = Schema(version: 2, Wide.Sample.self)
    try store.open(wide) { context in
      let samples = try context.all(Wide.Sample.self)
      #expect(samples.map(\.small) == [-100, 100])
      #expect(samples.map(\.middle) == [-2_147_483_647, 2_147_483_647])
      #expect(samples.map(\.positive) == [4_294_967_295, 1])
      #expect(samples.map(\.ratio) == [-0.125, 0.125] && samples.map(\.maybe) == [-1, 7])
      try context.expect("small < 0", \Wide.Sample.small, [-100])
      try context.expect("positive == 4294967295", \Wide.Sample.small, [-100])
      samples[0].small = 1000
    }
    try store.open(wide) { context in
      try context.expect("small > 0", \Wide.Sample.small, [100, 1000])
      try context.expect("maybe == -1", \Wide.Sample.small, [1000])
    }
  }

  @Test(.evidence("E-05"))
  func `a unique constraint on existing rows without values is rejected`() throws {
    let store = EvolvingStore()
    try V1.fill(store)
    let refusal = try store.refusal(Schema(version: 2, Strict.Book.self))
    #expect(refusal.kind == .incompatibleSchema && refusal.message.contains("on rank"))
    #expect(refusal.objectID != nil)
    try store.open(V1.schema) { context in
      for (number, book) in try context.all(V1.Book.self).enumerated() where book.rank == nil {
        book.rank = 100 + number
      }
      V1.Book(context: context).note = "without"
    }
    try store.open(Schema(version: 2, Strict.Book.self)) { context in
      try context.expect("rank == 0", \Strict.Book.rank, [0])
      try context.expect("rank == 1", \Strict.Book.rank, [1])
      _ = Strict.Book(context: context)
      #expect(throws: ObjectGraphError.self) { try context.save() }
      context.rollback()
    }
  }
}

private enum Narrow {
  final class Sample: ManagedObject {
    @Attribute var small: Int8 = 0
    @Attribute var middle: Int32 = 0
    @Attribute var positive: UInt32 = 0
    @Attribute var ratio: Float = 0
    @Attribute var maybe: Int16? = nil
    override class var entity: Entity { Entity("Sample") { Index(\Sample.small) } }
  }
}

private enum Wide {
  final class Sample: ManagedObject {
    @Attribute var small: Int = 0
    @Attribute var middle: Int64 = 0
    @Attribute var positive: Int = 0
    @Attribute var ratio: Double = 0
    @Attribute var maybe: Int = -1
    override class var entity: Entity { Entity("Sample") { Index(\Sample.small) } }
  }
}

/// Versions of a class with one string attribute, which is optional in one version and required in
/// all other versions.
private enum Alone {
  final class Optional: ManagedObject {
    @Attribute var text: String? = nil
    override class var entity: Entity { Entity("Alone") }
  }
  final class Required: ManagedObject {
    @Attribute var text: String = "declared"
    override class var entity: Entity { Entity("Alone") }
  }
  final class Other: ManagedObject {
    @Attribute var text: String = "other"
    override class var entity: Entity { Entity("Alone") }
  }
}

private enum Plain {
  final class Book: ManagedObject {
    @Attribute var rank: Int? = nil
    @Attribute var title: String = "none"
    @Attribute var added: Data = Data([1])
    override class var entity: Entity { Entity("Book") { Index(\Book.added) } }
  }
}

private enum Strict {
  final class Book: ManagedObject {
    @Attribute var rank: Int = 0
    override class var entity: Entity { Entity("Book") { Unique(\Book.rank) } }
  }
}

// MARK: Names

private enum Names {
  final class A: ManagedObject {
    @Attribute var a: Int = 0
    @Attribute var b: Int = 0
  }
  /// A version in which the previous attribute `a` is called `x`, and `a` is a new attribute.
  final class B: ManagedObject {
    @Attribute var a: Int = 70
    @Attribute(renamedFrom: "a") var x: Int = 0
    @Attribute var b: Int = 0
    override class var entity: Entity { Entity("B", renamedFrom: "A") { Index(\B.x) } }
  }
  final class C: ManagedObject {
    @Attribute var a: Int = 80
    @Attribute(renamedFrom: "x", "a") var y: Int = 0
    @Attribute("b") var z: Int = 0
    override class var entity: Entity { Entity("C", renamedFrom: "B", "A") { Index(\C.y) } }
  }
  /// A new class that has the former name of another class.
  final class Other: ManagedObject {
    @Attribute var a: Int = 90
    override class var entity: Entity { Entity("A") }
  }
}

@Suite("Migrating names")
struct RenamingTests {
  private func filled() throws -> EvolvingStore {
    let store = EvolvingStore()
    try store.open(Schema(Names.A.self)) { context in
      for number in 1...3 {
        let a = Names.A(context: context)
        a.a = number
        a.b = -number
      }
    }
    return store
  }

  private func expect(_ store: EvolvingStore, a: Int) throws {
    try store.open(Schema(version: 3, Names.C.self, Names.Other.self)) { context in
      let found = try context.all(Names.C.self)
      #expect(found.map(\.y) == [1, 2, 3] && found.map(\.z) == [-1, -2, -3])
      #expect(found.allSatisfy { $0.a == a })
      try context.expect("y == 2", \Names.C.z, [-2])
      #expect(try context.count(for: FetchRequest<Names.Other>()) == 0)
    }
  }

  @Test(.evidence("M-04"), .evidence("E-03"))
  func `names can change in each version`() throws {
    let store = try filled()
    try store.open(Schema(version: 2, Names.B.self)) { context in
      let found = try context.all(Names.B.self)
      #expect(found.map(\.x) == [1, 2, 3] && found.allSatisfy { $0.a == 70 })
    }
    try expect(store, a: 70)
    try expect(store, a: 70)
  }

  @Test(.evidence("M-04"), .evidence("E-03"))
  func `names can change over several versions at once`() throws {
    let store = try filled()
    try expect(store, a: 80)
    try expect(store, a: 80)
    #expect(try store.keyspaces("objects.") == ["objects.1"])
  }
}
