import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A class with each kind of derived attribute.
private final class Rack: ManagedObject {
  @Attribute var label: String? = nil
  @ToMany(inverse: \Part.rack) var parts: Set<Part>

  @Attribute var int8: Int8 = 0
  @Attribute var int16: Int16 = 0
  @Attribute var int32: Int32 = 0
  @Attribute var uint8: UInt8 = 0
  @Attribute var uint16: UInt16 = 0
  @Attribute var uint32: UInt32 = 0
  @Attribute var uint64: UInt64 = 0
  @Attribute var length: Float = 0
  @Attribute var weight: Double = 0
  @Attribute var price: Decimal = 0
  @Attribute var amount: UInt16 = 0
  @Attribute var least: Float? = nil
  @Attribute var lightest: Double? = nil
  @Attribute var cheapest: Decimal? = nil
  @Attribute var oldest: Date? = nil
  @Attribute var fewest: UInt16? = nil
  @Attribute var last: String? = nil
  @Attribute var lastCode: UUID? = nil
  @Attribute var rarest: Double? = nil
  @Attribute var meanAmount: Double? = nil
  @Attribute var meanRarity: Double? = nil
  @Attribute var canonical: String? = nil
  @Attribute var upper: String? = nil
  @Attribute var lower: String? = nil

  override class var entity: Entity {
    Entity("Rack") {
      Derived(\Rack.int8, .count(\Rack.parts))
      Derived(\Rack.int16, .count(\Rack.parts))
      Derived(\Rack.int32, .count(\Rack.parts))
      Derived(\Rack.uint8, .count(\Rack.parts))
      Derived(\Rack.uint16, .count(\Rack.parts))
      Derived(\Rack.uint32, .count(\Rack.parts))
      Derived(\Rack.uint64, .count(\Rack.parts))
      Derived(\Rack.length, .sum(\Rack.parts, \Part.length))
      Derived(\Rack.weight, .sum(\Rack.parts, \Part.weight))
      Derived(\Rack.price, .sum(\Rack.parts, \Part.price))
      Derived(\Rack.amount, .sum(\Rack.parts, \Part.amount))
      Derived(\Rack.least, .min(\Rack.parts, \Part.length))
      Derived(\Rack.lightest, .min(\Rack.parts, \Part.weight))
      Derived(\Rack.cheapest, .min(\Rack.parts, \Part.price))
      Derived(\Rack.oldest, .min(\Rack.parts, \Part.made))
      Derived(\Rack.fewest, .min(\Rack.parts, \Part.amount))
      Derived(\Rack.last, .max(\Rack.parts, \Part.name))
      Derived(\Rack.lastCode, .max(\Rack.parts, \Part.code))
      Derived(\Rack.rarest, .max(\Rack.parts, \Part.rarity))
      Derived(\Rack.meanAmount, .average(\Rack.parts, \Part.amount))
      Derived(\Rack.meanRarity, .average(\Rack.parts, \Part.rarity))
      Derived(\Rack.canonical, .canonical(\Rack.label))
      Derived(\Rack.upper, .uppercase(\Rack.label))
      Derived(\Rack.lower, .lowercase(\Rack.label))
    }
  }

  var values: [String] {
    let texts: [String?] = [
      "\(int8) \(int16) \(int32) \(uint8) \(uint16) \(uint32) \(uint64)",
      "\(length) \(weight) \(price) \(amount)", least.map { "\($0)" }, lightest.map { "\($0)" },
      cheapest.map { "\($0)" }, oldest.map { "\($0)" }, fewest.map { "\($0)" }, last,
      lastCode.map { "\($0)" }, rarest.map { "\($0)" }, meanAmount.map { "\($0)" },
      meanRarity.map { "\($0)" }, canonical, upper, lower,
    ]
    return texts.map { $0 ?? "-" }
  }
}

private final class Part: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var code: UUID = UUID()
  @Attribute var length: Float = 0
  @Attribute var weight: Double = 0
  @Attribute var price: Decimal = 0
  @Attribute var amount: UInt16 = 0
  @Attribute var made: Date = Date(timeIntervalSinceReferenceDate: 0)
  @Attribute var rarity: Double? = nil
  @ToOne var rack: Rack?
  @Attribute var rackLabel: String? = nil
  @Attribute var saved: Date = .distantPast

  override class var entity: Entity {
    Entity("Part") {
      Derived(\Part.rackLabel, .copy(of: \Part.rack, \Rack.label))
      Derived(\Part.saved, .now)
    }
  }
}

@Suite("Derived attributes that a tool computes")
struct StoredDerivationTests {
  private let fixture: GraphFixture

  init() throws { fixture = try GraphFixture(Schema(Rack.self)) }

  private func racks() throws -> [Rack] {
    try fixture.context().fetch(FetchRequest<Rack>())
  }

  /// Saves two racks, the first of which contains three parts.
  private func fill() throws {
    let context = fixture.context()
    let (first, second) = (Rack(context: context), Rack(context: context))
    (first.label, second.label) = ("É one", "two")
    for number in 1...3 {
      let part = Part(context: context)
      part.name = "part \(number)"
      (part.length, part.weight) = (Float(number) + 0.1, Double(number) * 1.7)
      (part.price, part.amount) = (Decimal(number) / 4, UInt16(number * 1000))
      part.made = Date(timeIntervalSinceReferenceDate: Double(number) * 1e6)
      part.rarity = number == 2 ? nil : Double(number) / 8
      part.rack = first
      try context.save()
    }
  }

  @Test(.evidence("D-06")) func `a program computes sums, extremes and averages`() throws {
    try fill()
    let first = try #require(try racks().first)
    #expect(first.rarest == 0.375 && first.meanRarity == 0.25 && first.meanAmount == 2000)
    #expect(first.price == 1.5 && first.amount == 6000 && first.cheapest == 0.25)
    #expect(first.canonical == "e one" && first.upper == "É ONE" && first.lower == "é one")
  }

  @Test(.evidence("M-08"), .evidence("D-03"))
  func `equal those that a program computes`() throws {
    try fill()
    let store = fixture.container.store
    let start = Date()
    for (id, name, text) in [
      ("Part/1", "rack", "Rack/2"), ("Part/3", "rack", "Rack/2"), ("Part/3", "weight", "0.25"),
      ("Rack/2", "label", "ÅÉ Two"),
    ] {
      let objects = try StoredObjects(store, at: store.snapshot())
      let object = try #require(objects.id(id))
      _ = try objects.set([(name: name, text: text)], of: object, author: nil, commits: true)
    }
    let found = try racks()
    let (values, parts) = (found.map(\.values), found[1].parts)
    #expect(parts.count == 2 && parts.allSatisfy { $0.rackLabel == "ÅÉ Two" && $0.saved >= start })
    // The program removes all parts from their racks and adds them again.
    let context = fixture.context()
    let all = try context.fetch(FetchRequest<Part>())
    let owners = all.map(\.rack)
    for part in all { part.rack = nil }
    try context.save()
    for (part, rack) in zip(all, owners) { part.rack = rack }
    try context.save()
    #expect(try racks().map(\.values) == values)
    #expect(values[0] != values[1])
  }

  @Test func `with an unknown formula make the tool fail`() throws {
    try fill()
    let store = fixture.container.store
    try store.write { transaction in
      let model = try transaction.keyspace("heartwood.model")
      let bytes = try #require(try model.get("model"))
      let json = String(decoding: bytes, as: UTF8.self).replacing(" average ", with: " median ")
      try model.put("model", Array(json.utf8))
    }
    let error = #expect(throws: StorageError.self) {
      try StoredObjects(store, at: store.snapshot())
    }
    #expect(error?.kind == .incompatibleFormat && error?.message.contains("median") == true)
  }
}
