import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Basket: ManagedObject {
  @Attribute var labels: Set<String> = ["a"]
  @Attribute var notes: [String]? = ["a"]
  @Attribute var count: Int? = 1
  @Attribute var price: Decimal = 1
}

/// A type that is stored as its raw value, but that is not `Codable`.
private struct Tags: RawRepresentable, AttributeValue { var rawValue: [String] }

private final class Photo: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute var tags: Tags = Tags(rawValue: [])
}

@Suite("Attributes")
struct ValueTests {
  @Test(.evidence("M-01")) func `attributes of every type are read back unchanged`() throws {
    let fixture = try GraphFixture(Schema(More.self))
    let context = fixture.context()
    let object = More(context: context)
    let other = Everything(context: context)
    object.other = other
    try context.save()
    let again = fixture.context()
    let found: More = try #require(try again.existingObject(with: object.objectID))
    #expect(found !== object)
    #expect(found.flag && found.int8 == -8 && found.int16 == -16 && found.int32 == -32)
    #expect(found.int64 == -64 && found.int == .min)
    #expect(found.uint8 == .max && found.uint16 == .max && found.uint32 == .max)
    #expect(found.uint64 == .max && found.uint == 7)
    #expect(found.double.sign == .minus && found.float == 1.1)
    #expect(found.text == object.text && found.date == object.date && found.data == object.data)
    #expect(found.uuid == object.uuid && found.url == object.url)
    #expect(found.decimal == object.decimal)
    #expect(found.optional == 5 && found.absent == nil)
    #expect(found.list == [3, 1, 2] && found.names == ["a", "b"])
    #expect(found.severity == .high && found.colour == .green)
    #expect(found.place == Place(latitude: 1.5, longitude: -2))
    #expect(found.id == 1 && found.other?.objectID == other.objectID)
    #expect(found.note == "kept in memory")
  }

  @Test(.evidence("M-01")) func `attributes can be set to every kind of value and to nil`() throws {
    let fixture = try GraphFixture(Schema(Everything.self))
    let context = fixture.context()
    let object = Everything(context: context)
    try context.save()
    object.flag = false
    object.int = 12
    object.double = .nan
    object.text = ""
    object.optional = nil
    object.absent = "there"
    object.names = []
    object.colour = nil
    object.severity = .low
    object.uint64 = 1
    try context.save()
    let found: Everything = try #require(
      try fixture.context().existingObject(with: object.objectID))
    #expect(!found.flag && found.int == 12 && found.double.isNaN && found.text == "")
    #expect(found.optional == nil && found.absent == "there" && found.names == [])
    #expect(found.colour == nil && found.severity == .low && found.uint64 == 1)
  }

  @Test(.evidence("M-01")) func `inherited attributes are found by fetching either class`() throws {
    let fixture = try GraphFixture(Schema(More.self))
    let context = fixture.context()
    More(context: context).int = 1
    Everything(context: context).int = 2
    try context.save()
    let other = fixture.context()
    #expect(try other.fetch(FetchRequest<Everything>()).map(\.int).sorted() == [1, 2])
    #expect(try other.fetch(FetchRequest<More>()).map(\.int) == [1])
    var own = FetchRequest<Everything>(where: #Predicate { $0.int > 0 })
    own.includesSubentities = false
    #expect(try other.fetch(own).map(\.int) == [2])
    #expect(try other.count(for: FetchRequest<Everything>()) == 2)
  }

  @Test(.evidence("M-01")) func `sets and optional values can be changed in place`() throws {
    let fixture = try GraphFixture(Schema(Basket.self))
    let context = fixture.context()
    let basket = Basket(context: context)
    try context.save()
    basket.labels.insert("b")
    basket.notes?.append("b")
    basket.count? += 1
    basket.price += 1
    try context.save()
    let read = try #require(
      try fixture.context().existingObject(Basket.self, with: basket.objectID))
    #expect(read.labels == ["a", "b"] && read.notes == ["a", "b"] && read.count == 2)
    #expect(read.price == 2)
  }

  @Test(.evidence("M-01"), .evidence("IE-04"))
  func `values of a type that is not Codable can be exported but not imported`() throws {
    let fixture = try GraphFixture(Schema(Photo.self))
    let context = fixture.context()
    let photo = Photo(context: context)
    photo.tags = Tags(rawValue: ["a", "b"])
    try context.save()
    let read = try fixture.context().existingObject(Photo.self, with: photo.objectID)
    #expect(read?.tags.rawValue == ["a", "b"])
    var text = Data()
    try context.export(FetchRequest<Photo>(), as: .jsonLines) { text += $0 }
    #expect(String(decoding: text, as: UTF8.self) == #"{"code":"","tags":["a","b"]}"# + "\n")
    let error = #expect(throws: ObjectGraphError.self) {
      try context.upsert(Photo.self, matching: \.code, from: text)
    }
    #expect(error?.kind == .invalidElement)
    #expect(error?.message.contains("Tags is not Decodable") == true, "\(error as Any)")
  }

  @Test func `a URI that identifies no object is not decoded as an ID`() throws {
    let json = Data(#"["https://example.org"]"#.utf8)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([ManagedObjectID].self, from: json)
    }
  }
}
