import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private struct Reading: Codable, AttributeValue {
  var value: Double
  struct Broken: Error {}
  func encode(to encoder: any Encoder) throws {
    if value < 0 { throw Broken() }
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
  init(value: Double) { self.value = value }
  init(from decoder: any Decoder) throws {
    value = try decoder.singleValueContainer().decode(Double.self)
  }
}

private struct Offer: Codable, AttributeValue {
  var rate: Decimal? = nil
  var pages: [[URL]] = []
}

private final class Blob: ManagedObject {
  @Attribute var name: String = ""
  @Attribute(preservesValueOnDeletion: true) var label: Data? = nil
  @Attribute var data: Data = Data()
  @Attribute var text: String = ""
  @Attribute var amount: Decimal = 0
  @Attribute var spare: Decimal? = nil
  @Attribute var list: [String] = []
  @Attribute var reading: Reading = Reading(value: 0)
  @Attribute var link: URL? = nil
  @Attribute var amounts: [Decimal] = []
  @Attribute var rates: Set<Decimal> = []
  @Attribute var named: [String: Decimal] = [:]
  @Attribute var keyed: [Decimal: String] = [:]
  @Attribute var links: [URL] = []
  @Attribute var offer: Offer? = nil
  @Attribute var folded: String = ""
  override class var entity: Entity {
    Entity("Blob") { Derived(\Blob.folded, .canonical(\.text)) }
  }
}

/// A class whose objects can be updated without the steps that derived attributes require.
private final class Gauge: ManagedObject {
  @Attribute var reading: Reading = Reading(value: 0)
}

@Suite("Values that cannot be stored")
struct UnstorableTests {
  private static let limit = 67_108_864

  private func refusal(
    _ change: (Blob) -> Void, _ names: String...
  ) throws {
    // Try the change on both a new and an existing object.
    let fixture = try GraphFixture(Schema(Blob.self))
    let context = fixture.context()
    let known = Blob(context: context)
    known.name = "known"
    try context.save()
    for isNew in [true, false] {
      let object = isNew ? Blob(context: context) : known
      change(object)
      let error = try #require(throws: ObjectGraphError.self) { try context.save() }
      #expect(error.kind == .validation && error.objectID == object.objectID)
      for name in names { #expect("\(error)".contains(name), "\(error)") }
      context.rollback()
    }
    let stored = try fixture.context().fetch(FetchRequest<Blob>())
    #expect(stored.map(\.name) == ["known"])
  }

  @Test(.evidence("V-02")) func `a save with a value that cannot be stored throws`() throws {
    try refusal({ $0.amount = .nan }, "Blob.amount", "NaN")
    try refusal({ $0.spare = .nan }, "Blob.spare")
    try refusal({ $0.reading = Reading(value: -1) }, "Blob.reading")
    try refusal({ $0.data = Data(count: Self.limit + 1) }, "Blob.data", "64 MiB")
  }

  @Test(.evidence("V-02")) func `a save with a collection that cannot be read back throws`() throws
  {
    try refusal({ $0.amounts = [1, .nan] }, "Blob.amounts", "NaN")
    try refusal({ $0.rates = [.nan] }, "Blob.rates", "NaN")
    try refusal({ $0.named = ["a": .nan] }, "Blob.named", "NaN")
    try refusal({ $0.keyed = [.nan: "a"] }, "Blob.keyed", "NaN")
    try refusal({ $0.offer = Offer(rate: .nan) }, "Blob.offer", "NaN")
    let empty = try #require(URLComponents().url)
    try refusal({ $0.links = [empty] }, "Blob.links", "URL")
    try refusal({ $0.offer = Offer(pages: [[], [empty]]) }, "Blob.offer", "URL")
  }

  @Test(.evidence("V-02")) func `collections of other decimal numbers and URLs are read back`()
    throws
  {
    let fixture = try GraphFixture(Schema(Blob.self))
    let context = fixture.context()
    let object = Blob(context: context)
    let numbers = [0, -1, Decimal(sign: .plus, exponent: -2, significand: 1999)]
    let links = ["/x y", "a", "http://[::1]/"].compactMap { URL(string: $0) }
    (object.amounts, object.rates, object.links) = (numbers, Set(numbers), links)
    (object.keyed, object.offer) = ([-1: "a"], Offer(rate: 2, pages: [links]))
    try context.save()
    let read: Blob = try #require(try fixture.context().existingObject(with: object.objectID))
    #expect(read.amounts == numbers && read.rates == Set(numbers))
    #expect(read.links.map(\.absoluteString) == links.map(\.absoluteString))
    #expect(read.keyed == [-1: "a"] && read.offer?.rate == 2 && read.offer?.pages.count == 1)
  }

  @Test(.evidence("V-02"), .enabled(if: TestScale.current >= .all))
  func `a save with a string or a row that is too large throws`() throws {
    try refusal(
      { $0.text = String(repeating: "a", count: Self.limit) }, "Blob.text", "64 MiB")
    try refusal(
      {
        $0.data = Data(count: Self.limit / 2)
        $0.text = String(repeating: "a", count: Self.limit / 2)
      }, "Blob", "64 MiB")
    try refusal({ $0.label = Data(count: Self.limit * 7 / 8) }, "Blob.label")
  }

  @Test(.evidence("V-02")) func `a save reports all values that cannot be stored together`() throws
  {
    let fixture = try GraphFixture(Schema(Blob.self))
    let context = fixture.context()
    let objects = (0..<4).map { _ in Blob(context: context) }
    objects[0].amount = .nan
    objects[1].reading = Reading(value: -1)
    objects[3].spare = .nan
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(
      Set(error.failures.map(\.objectID)) == Set([0, 1, 3].map { objects[$0].objectID }))
    #expect(try fixture.context().count(for: FetchRequest<Blob>()) == 0)
    objects[0].amount = 1
    objects[1].reading = Reading(value: 1)
    objects[3].spare = 2
    try context.save()
    #expect(try fixture.context().count(for: FetchRequest<Blob>()) == 4)
  }

  @Test(.evidence("V-02")) func `batch requests with values that cannot be stored throw`() throws {
    let fixture = try GraphFixture(Schema(Blob.self))
    let context = fixture.context()
    try context.execute(
      BatchInsertRequest<Blob> { row in
        if row[\.name] == "done" { return true }
        row[\.name] = "known"
        return true
      })
    Blob(context: context).name = "known"
    try context.save()
    func change(_ row: BatchRow<Blob>, _ number: Int) {
      switch number {
      case 0: row[\.amount] = .nan
      case 1: row[\.data] = Data(count: Self.limit + 1)
      case 2: row[\.amounts] = [1, .nan]
      default: row[\.reading] = Reading(value: -1)
      }
    }
    for number in 0..<4 {
      var isFirst = true
      let insertion = BatchInsertRequest<Blob> { row in
        defer { isFirst = false }
        guard isFirst else { return true }
        change(row, number)
        return false
      }
      let update = BatchUpdateRequest<Blob> { row in change(row, number) }
      let first = try #require(throws: ObjectGraphError.self) { try context.execute(insertion) }
      let second = try #require(throws: ObjectGraphError.self) { try context.execute(update) }
      for error in [first, second] {
        #expect(error.kind == .validation && "\(error)".contains("Blob."), "\(error)")
      }
    }
    let found = try fixture.context().fetch(FetchRequest<Blob>())
    #expect(found.map(\.name) == ["known"] && found.first?.amount == 0)
  }

  @Test(.evidence("V-02"), .enabled(if: TestScale.current >= .all))
  func `the largest storable values can be saved`() throws {
    let fixture = try GraphFixture(Schema(Blob.self))
    let context = fixture.context()
    let object = Blob(context: context)
    object.data = Data(count: Self.limit - 4096)
    object.label = Data(count: 1000)
    try context.save()
    let other = fixture.context()
    let found: Blob = try #require(try other.existingObject(with: object.objectID))
    #expect(found.data.count == Self.limit - 4096)
    other.delete(found)
    try other.save()
    #expect(try fixture.context().count(for: FetchRequest<Blob>()) == 0)
    #expect(try fixture.container.fetchHistory(after: nil as PersistentHistoryToken?).count == 2)
  }

  @Test(.evidence("V-02")) func `invalid URLs cannot be read`() throws {
    let fixture = try GraphFixture(Schema(Blob.self))
    let context = fixture.context()
    var urls = ["https://a.b/c?d=e#f", "file:///", "a", "mailto:x@y.z", "/x y", "http://[::1]/"]
      .compactMap { URL(string: $0) }
    urls.append(URL(filePath: "/tmp/ä b%"))
    urls.append(URL(filePath: "b", relativeTo: URL(filePath: "/tmp/a/")))
    if let empty = URLComponents().url { urls.append(empty) }
    for url in urls {
      let object = Blob(context: context)
      object.link = url
      object.name = url.absoluteString
    }
    try context.save()
    let found = try fixture.context().fetch(FetchRequest<Blob>())
    #expect(found.map { $0.link?.absoluteString } == urls.map(\.absoluteString))
  }
  @Test(.evidence("V-02"))
  func `a save of an attribute that can no longer be encoded throws`() throws {
    let fixture = try GraphFixture(Schema(Gauge.self))
    let context = fixture.context()
    let gauge = Gauge(context: context)
    try context.save()
    gauge.reading = Reading(value: -1)
    expect(.validation, "Gauge.reading") { try context.save() }
    gauge.reading = Reading(value: 2)
    try context.save()
    #expect(try fixture.context().fetch(FetchRequest<Gauge>()).map(\.reading.value) == [2])
  }

}
