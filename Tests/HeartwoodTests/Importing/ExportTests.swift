import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private struct Extra: Codable, Hashable, AttributeValue {
  var list: [Int]
  var name: String
}

private struct Loan: Codable, Hashable, AttributeValue { var start: Date }

/// A class with several unique attributes.
private final class Site: ManagedObject {
  @Attribute(.unique) var code: Int? = nil
  @Attribute(.unique) var opened: Date = .distantPast
}

private final class Shelf: ManagedObject {
  @Attribute(.unique) var label: String = ""
}

private final class Room: ManagedObject {
  @Attribute var label: String = ""
}

private final class Book: ManagedObject {
  @Attribute(.unique) var isbn: Int = 0
  @Attribute var title: String = ""
  @Attribute var subtitle: String? = nil
  @Attribute var price: Decimal? = nil
  @Attribute var weight: Float = 0
  @Attribute var rating: Double? = nil
  @Attribute var bought: Date = .distantPast
  @Attribute var cover: Data? = nil
  @Attribute var key: UUID = UUID()
  @Attribute var large: UInt64 = 0
  @Attribute var isRead: Bool = false
  @Attribute var extra: Extra? = nil
  @Attribute var words: [String] = []
  @Attribute var link: URL? = nil
  @Attribute var counts: [String: Int] = [:]
  @Attribute var days: [Date] = []
  @Attribute var loan: Loan? = nil
  @Attribute var ratios: [Double] = []
  @ToOne var site: Site?
  @ToOne var shelf: Shelf?
  @ToOne var room: Room?
}

private final class Locker: ManagedObject {
  @Attribute(.unique) var code: Int? = nil
}

private final class Visitor: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @ToOne var locker: Locker?
}

@Suite("Exports")
struct ExportTests {
  private let context: ManagedObjectContext

  init() throws {
    let container = try PersistentContainer.inMemory(
      schema: Schema(Book.self))
    context = container.newContext()
  }

  private func fill(_ generator: inout SeededGenerator, count: Int) throws {
    let texts = [
      "", "a,b", "say \"hi\"", "two\nlines", "cr\rlf\r\n", "ä\u{1F600}", "null", "7", " x ",
    ]
    let shelves = (0..<3).map { number in
      let shelf = Shelf(context: context)
      shelf.label = "shelf, \(number)"
      return shelf
    }
    let places = [0.25, 0.5].map { seconds in
      let place = Site(context: context)
      place.opened = Date(timeIntervalSince1970: seconds)
      return place
    }
    func date() -> Date {
      let seconds = Double(generator.below(2_000_000_000)) - 500_000_000
      let fractions = [0, 0.5, 0.001, Double(generator.below(1_000_000)) / 1_000_000, 1e-7]
      return Date(timeIntervalSinceReferenceDate: seconds + fractions[generator.below(5)])
    }
    func maybe<Value>(_ value: Value) -> Value? { generator.isTrue(in256: 128) ? value : nil }
    for number in 0..<count {
      let book = Book(context: context)
      book.isbn = number
      book.title = texts[generator.below(texts.count)]
      book.subtitle = maybe(texts[generator.below(texts.count)])
      book.price = maybe(Decimal(generator.below(100_000)) / 100)
      book.weight = Float(generator.below(1000)) / 7
      book.rating = maybe([0.1, -0.0, 1e300, .infinity, 1e-300][generator.below(5)])
      book.bought = [date(), date(), .distantPast, .distantFuture][generator.below(4)]
      book.days = [date(), date()]
      book.loan = maybe(Loan(start: date()))
      book.ratios = [-0.0, 0.1, .nan]
      book.site = maybe(places[generator.below(2)])
      book.cover = maybe(Data([1, 2, 255]))
      book.large = .max - UInt64(number)
      book.isRead = generator.isTrue(in256: 128)
      book.extra = maybe(Extra(list: [1, 2], name: texts[generator.below(texts.count)]))
      book.words = [texts[generator.below(texts.count)]]
      book.link = maybe(URL(filePath: "/a/\(number)"))
      book.counts = ["z": number, "a": 1]
      book.counts["b"] = maybe(2)
      book.shelf = maybe(shelves[generator.below(3)])
    }
    try context.save()
  }

  @Test(.evidence("IE-04")) func `a file is replaced once the export is complete`() throws {
    let directory = try ScratchDirectory()
    let file = URL(filePath: directory.path(of: "books.csv"))
    let request = FetchRequest<Book>(sort: [SortDescriptor(\.isbn)])
    #expect(try context.export(request, as: .csv, to: file) == context.count(for: request))
    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(text == (try export(request, .csv)))
    #expect(throws: ObjectGraphError.self) {
      try context.export(
        FetchRequest<Book>(where: try QueryPredicate(format: "missing == 1")), as: .csv, to: file)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == text)
    let lost = URL(filePath: directory.path(of: "missing/books.csv"))
    #expect(throws: CocoaError.self) { try context.export(request, as: .csv, to: lost) }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path(of: "")) == ["books.csv"])
  }

  private func export(_ request: FetchRequest<Book>, _ format: ExportFormat) throws -> String {
    var text = Data()
    try context.export(request, as: format) { text += $0 }
    return String(decoding: text, as: UTF8.self)
  }

  /// The values of all books, in a form that can be compared.
  private func content(_ context: ManagedObjectContext) throws -> [String] {
    try context.fetch(FetchRequest<Book>(sort: [SortDescriptor(\.isbn)])).map { book in
      [
        "\(book.isbn)", book.title, book.subtitle ?? "-", "\(book.price as Any)",
        "\(book.weight)", "\(book.rating as Any)", "\(book.bought)", "\(book.cover as Any)",
        "\(book.bought.timeIntervalSinceReferenceDate)",
        "\(book.days.map(\.timeIntervalSinceReferenceDate))",
        "\(book.loan?.start.timeIntervalSinceReferenceDate as Any)", "\(book.ratios)",
        "\(book.site?.opened.timeIntervalSince1970 as Any)",
        "\(book.key)", "\(book.large)", "\(book.isRead)", "\(book.extra as Any)", "\(book.words)",
        "\(book.link as Any)", book.shelf?.label ?? "-",
        "\(book.counts.sorted { $0.key < $1.key })",
      ].joined(separator: "|")
    }
  }

  @Test(
    .evidence("IE-04"), arguments: [ExportFormat.json, .jsonLines],
    TestScale.seeds(quick: 1, all: 6, long: 20))
  func `to JSON are imported without a loss`(format: ExportFormat, seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let count = TestScale.pick(quick: 60, all: 300)
    try fill(&generator, count: count)
    let text = try export(FetchRequest<Book>(), format)
    #expect(
      try JSONSerialization.jsonObject(
        with: Data((format == .json ? text : "[]").utf8)) is [Any])
    let copy = try PersistentContainer.inMemory(
      schema: Schema(Book.self))
    let other = copy.newContext()
    let report = try other.upsert(Book.self, matching: \.isbn, from: Data(text.utf8))
    #expect(report.insertedCount == count)
    #expect(try content(other) == content(context), "seed \(seed)")
    #expect(
      try other.upsert(Book.self, matching: \.isbn, from: Data(text.utf8)).unchangedCount == count)
  }

  @Test func `to CSV quote all values that need quotation marks`() throws {
    let place = Site(context: context)
    place.opened = Date(timeIntervalSince1970: 1.75)
    let book = Book(context: context)
    book.site = place
    book.room = Room(context: context)
    (book.isbn, book.title, book.subtitle) = (3, "a,\"b\"\n", "")
    (book.bought, book.weight) = (Date(timeIntervalSince1970: 0), 0.1)
    book.extra = Extra(list: [1], name: "x")
    try context.save()
    let key = book.key
    #expect(
      try export(FetchRequest<Book>(), .csv) == """
        isbn,title,subtitle,price,weight,rating,bought,cover,key,large,isRead,extra,words,link,\
        counts,days,loan,ratios,site,shelf\r
        3,"a,""b""
        ","",,0.1,,1970-01-01T00:00:00Z,,\(key),0,false,"{""list"":[1],""name"":""x""}",[],,{},[],\
        ,[],1970-01-01T00:00:01.750Z,\r

        """)
  }

  @Test(.evidence("IE-04"))
  func `throw if a CSV field cannot represent a relationship`() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(Visitor.self))
    let context = container.newContext()
    let visitor = Visitor(context: context)
    visitor.name = "Ada"
    let locker = Locker(context: context)
    visitor.locker = locker
    try context.save()
    func export(
      _ format: ExportFormat = .csv, from context: ManagedObjectContext? = nil
    ) throws -> String {
      var text = Data()
      let context = context ?? container.newContext()
      try context.export(FetchRequest<Visitor>(), as: format) { text += $0 }
      return String(decoding: text, as: UTF8.self)
    }
    let error = #expect(throws: ObjectGraphError.self) { try export() }
    #expect(error?.kind == .validation && error?.entityName == "Locker")
    #expect(try export(.jsonLines) == "{\"name\":\"Ada\"}\n")
    context.delete(locker)
    let without = "name,locker\r\nAda,\r\n"
    #expect(try export(from: context) == without)
    try context.save()
    #expect(try export() == without)
    visitor.locker = nil
    try context.save()
    #expect(try export() == without)
    visitor.locker = Locker(context: context)
    #expect(throws: ObjectGraphError.self) { try export(from: context) }
  }

  @Test func `contain unsaved decimal numbers that are NaN as text`() throws {
    Book(context: context).price = .nan
    #expect(try export(FetchRequest<Book>(), .jsonLines).contains(#""price":"nan""#))
  }

  @Test(.evidence("IE-04")) func `are in the order of the request, with unsaved changes`() throws {
    var generator = SeededGenerator(seed: 1)
    try fill(&generator, count: 20)
    let books = try context.fetch(FetchRequest<Book>(sort: [SortDescriptor(\.isbn)]))
    books[3].title = "changed"
    context.delete(books[4])
    let request = FetchRequest<Book>(
      where: #Predicate { $0.isbn < 6 }, sort: [SortDescriptor(\.isbn, order: .reverse)], limit: 3)
    struct Row: Decodable { let isbn: Int; let title: String }
    let rows = try JSONDecoder().decode(
      [Row].self, from: Data(try export(request, .json).utf8))
    #expect(rows.map(\.isbn) == [5, 3, 2] && rows[1].title == "changed")
    #expect(try export(FetchRequest<Book>(where: #Predicate { $0.isbn > 90 }), .json) == "[\n]\n")
  }

  /// Seconds since 2001 and the corresponding ISO 8601 dates, computed with Python's `datetime`.
  private static let dates: [(seconds: Double, text: String)] = [
    (-63_145_526_400, "0000-01-01T00:00:00Z"),
    (-63_140_428_800, "0000-02-29T00:00:00Z"),
    (-63_113_904_000, "0001-01-01T00:00:00Z"),
    (-20_000_000_001, "1367-03-24T12:26:39Z"),
    (-15_804_979_201, "1500-02-28T23:59:59Z"),
    (-15_804_979_200, "1500-03-01T00:00:00Z"),
    (-13_198_032_000, "1582-10-10T00:00:00Z"),
    (-12_649_262_400, "1600-02-29T12:00:00Z"),
    (-3_182_198_400, "1900-03-01T00:00:00Z"),
    (-26_438_401, "2000-02-29T23:59:59Z"),
    (0, "2001-01-01T00:00:00Z"),
    (12_622_780_799, "2400-12-31T23:59:59Z"),
    (252_423_993_599, "9999-12-31T23:59:59Z"),
  ]

  @Test(.evidence("IE-04"), arguments: dates)
  func `dates are written and read in the ISO 8601 calendar`(
    seconds: Double, text: String
  ) throws {
    let site = Site(context: context)
    site.opened = Date(timeIntervalSinceReferenceDate: seconds)
    try context.save()
    var exported = Data()
    try context.export(FetchRequest<Site>(), as: .jsonLines) { exported += $0 }
    #expect(String(decoding: exported, as: UTF8.self).contains("\"\(text)\""))
    context.delete(site)
    try context.save()
    try context.upsert(Site.self, matching: \.opened, from: exported)
    let read = try #require(try context.fetch(FetchRequest<Site>()).first)
    #expect(read.opened.timeIntervalSinceReferenceDate == seconds)
  }

  @Test(.evidence("IE-04")) func `fractions of a second are kept even if they round up`() throws {
    Site(context: context).opened = Date(timeIntervalSinceReferenceDate: -1e-20)
    var exported = Data()
    try context.export(FetchRequest<Site>(), as: .jsonLines) { exported += $0 }
    #expect(String(decoding: exported, as: UTF8.self).contains("2000-12-31T23:59:59.999"))
  }

  @Test func `dates outside the years 0 to 9999 are written as seconds`() throws {
    let site = Site(context: context)
    site.opened = Date(timeIntervalSinceReferenceDate: 1e300)
    try context.save()
    var exported = Data()
    try context.export(FetchRequest<Site>(), as: .jsonLines) { exported += $0 }
    context.delete(site)
    try context.save()
    try context.upsert(Site.self, matching: \.opened, from: exported)
    let read = try #require(try context.fetch(FetchRequest<Site>()).first)
    #expect(read.opened.timeIntervalSinceReferenceDate == 1e300)
  }

  @Test func `a quotation mark before a combining character is doubled in CSV`() throws {
    let shelf = Shelf(context: context)
    shelf.label = "a\"\u{301},b"
    try context.save()
    var exported = Data()
    try context.export(FetchRequest<Shelf>(), as: .csv) { exported += $0 }
    let text = String(decoding: exported, as: UTF8.self)
    #expect(text.utf8.elementsEqual("label\r\n\"a\"\"\u{301},b\"\r\n".utf8))
  }

  @Test(.evidence("IE-04")) func `a directory is not replaced`() throws {
    let directory = try ScratchDirectory()
    let file = URL(filePath: directory.path(of: "books.csv"))
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
    #expect(throws: CocoaError.self) {
      try context.export(FetchRequest<Book>(), as: .csv, to: file)
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path(of: "")) == ["books.csv"])
  }

  @Test(arguments: [
    "2024-01-01T00:00:00Zx", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00", "2024-02-30T00:00:00Z",
  ])
  func `text that is not exactly a date is rejected`(text: String) {
    #expect(ExactDates.date(from: text) == nil)
  }
}
