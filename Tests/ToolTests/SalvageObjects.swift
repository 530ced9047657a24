import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

final class SalvageAuthor: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @ToMany(inverse: \SalvageBook.author, deleteRule: .cascade) var books: Set<SalvageBook>
  @OrderedToMany(inverse: \SalvageBook.shelf) var shelved: [SalvageBook]
  @ToOne(inverse: \SalvageAuthor.student) var teacher: SalvageAuthor?
  @ToOne var student: SalvageAuthor?
  @Attribute var bookCount: Int = 0

  override class var entity: Entity {
    Entity("Author") { Derived(\SalvageAuthor.bookCount, .count(\.books)) }
  }
}

class SalvageBook: ManagedObject {
  @Attribute(.indexed) var title: String = ""
  @Attribute(.unique) var code: Int = 0
  @Attribute var text: String = ""
  @ToOne var author: SalvageAuthor?
  @ToOne var shelf: SalvageAuthor?
  @ToMany(inverse: \SalvageTag.books) var tags: Set<SalvageTag>

  override class var entity: Entity { Entity("Book") }
}

final class SalvageNovel: SalvageBook {
  @Attribute var chapters: Int16 = 0

  override class var entity: Entity { Entity("Novel") }
}

final class SalvageTag: ManagedObject {
  @Attribute(.indexed) var label: String = ""
  @ToMany var books: Set<SalvageBook>

  override class var entity: Entity { Entity("Tag") }
}

/// A store of objects with relationships of every kind, and the values of the objects.
struct SalvageObjects {
  /// The values by which an object is compared.
  struct Book: Hashable {
    let title: String
    let text: String
    let author: String?
    let shelf: String?
    let tags: Set<String>
  }

  static let schema = Schema(
    SalvageAuthor.self, SalvageNovel.self, SalvageTag.self)

  let fixture: StoreFixture

  init(authorCount: Int = 60, bookCount: Int = 900, seed: UInt64 = 0) throws {
    fixture = try StoreFixture.onDisk()
    var generator = SeededGenerator(seed: seed)
    try change { context in
      let authors = (0..<authorCount).map { number in
        let author = SalvageAuthor(context: context)
        author.name = "author \(number)"
        return author
      }
      for (teacher, student) in zip(authors, authors.dropFirst()) { student.teacher = teacher }
      let tags = (0..<30).map { number in
        let tag = SalvageTag(context: context)
        tag.label = "tag \(number)"
        return tag
      }
      for number in 0..<bookCount {
        let book =
          number % 3 == 0 ? SalvageNovel(context: context) : SalvageBook(context: context)
        book.title = "title \(number % 100) \(number)"
        book.code = number
        // Some texts are large values.
        book.text = String(repeating: "\(number) ", count: number % 50 == 0 ? 800 : 10)
        book.author = authors[generator.below(authorCount)]
        book.tags = Set((0..<3).map { _ in tags[generator.below(tags.count)] })
        authors[generator.below(authorCount)].shelved.append(book)
      }
    }
  }

  private init(_ fixture: StoreFixture) { self.fixture = fixture }

  static func open(at path: String) throws -> PersistentContainer {
    try PersistentContainer(url: URL(filePath: path), schema: schema)
  }

  func change(_ body: (ManagedObjectContext) throws -> Void) throws {
    let container = try Self.open(at: fixture.path)
    let context = container.newContext()
    try body(context)
    try context.save()
    try container.store.close()
  }

  static func books(in context: ManagedObjectContext) throws -> [Int: Book] {
    var books: [Int: Book] = [:]
    for book in try context.fetch(FetchRequest<SalvageBook>()) {
      books[book.code] = Book(
        title: book.title, text: book.text, author: book.author?.name,
        shelf: book.shelf?.name, tags: Set(book.tags.map(\.label)))
    }
    return books
  }
}
