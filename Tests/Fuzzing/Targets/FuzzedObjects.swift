import Foundation
import Heartwood
import HeartwoodEngine

/// The class of the objects in imports and feeds, with attributes of all types.
final class Part: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute(.unique) var serial: Int? = nil
  @Attribute var title: String? = nil
  @Attribute var count: Int16 = 0
  @Attribute var large: UInt64 = 0
  @Attribute var weight: Double? = nil
  @Attribute var ratio: Float = 0
  @Attribute var isActive: Bool = false
  @Attribute var time: Date = Date(timeIntervalSinceReferenceDate: 0)
  @Attribute var token: UUID? = nil
  @Attribute var data: Data = Data()
  @Attribute var price: Decimal = 0
  @Attribute var words: [String] = []
  @ToOne var supplier: Supplier?
  @OrderedToMany(inverse: \Label.parts) var labels: [Label]
}

final class Supplier: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @ToMany(inverse: \Part.supplier) var parts: Set<Part>
}

final class Label: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @ToMany var parts: Set<Part>
}

enum FuzzedObjects {
  static func empty() throws -> PersistentContainer {
    try PersistentContainer.inMemory(schema: Schema(Part.self, Supplier.self, Label.self))
  }

  /// Returns a container in memory with the same few objects in every run.
  static func filled() throws -> PersistentContainer {
    let container = try empty()
    let context = container.newContext()
    let supplier = Supplier(context: context)
    supplier.name = "Bolt & Söhne"
    let label = Label(context: context)
    label.name = "steel"
    for number in 1...3 {
      let part = Part(context: context)
      part.code = "p\(number)"
      part.serial = number
      part.title = number == 2 ? nil : "A \"part\", no. \(number)"
      part.weight = Double(number) / 4
      part.time = Date(timeIntervalSinceReferenceDate: Double(number) * 1e8 + 0.5)
      part.token = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
      part.data = Data([0, 1, UInt8(number)])
      part.price = Decimal(number) / 10
      part.words = ["a", "b"]
      part.supplier = supplier
      part.labels = number == 1 ? [] : [label]
    }
    try context.save()
    return container
  }

  /// The names of the properties, as JSON keys.
  static let words =
    [
      "code", "serial", "title", "count", "large", "weight", "ratio", "isActive", "time", "token",
      "data", "price", "words", "supplier", "labels", "name", "parts",
    ].map { "\"\($0)\":" } + [
      "null", "true", "\"p1\"", "[\"a\"]", "{\"code\":\"p9\"}", "1.5e3", "\"nan\"",
      "\"2026-11-27T20:00:00Z\"", "\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\"", "\\u0000", ",", "[",
      "]", "{", "}",
    ]
}
