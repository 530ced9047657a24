import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private struct Size: CompositeValue, Codable, Equatable {
  var width = 1
  var height = 2
}

private struct Spot: Codable, AttributeValue { var x = 0 }

private final class Carton: ManagedObject {
  @Attribute var width: Int = 10
  @Attribute var depth: Int = 30
  @Attribute var label: String? = nil
  @Attribute var spot: Spot? = nil
  @Composite var size = Size()
  @ToOne var next: Carton?
}

/// A type whose superclass decodes a part of the row.
private class Wide: Decodable {
  let width: Int
  private enum CodingKeys: CodingKey { case width }

  required init(from decoder: any Decoder) throws {
    width = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .width)
  }
}

private final class WideAndHigh: Wide {
  let height: Int
  private enum CodingKeys: CodingKey { case height }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    height = try container.decode(Int.self, forKey: .height)
    try super.init(from: container.superDecoder())
  }
}

/// A row that reads the values of a composite and of a related object as its own.
private struct FlatRow: Decodable {
  let height: Int
  let nextDepth: Int
  private enum CodingKeys: CodingKey { case size, height, next, depth }

  init(from decoder: any Decoder) throws {
    let row = try decoder.container(keyedBy: CodingKeys.self)
    let size = try row.nestedContainer(keyedBy: CodingKeys.self, forKey: .size)
    height = try size.decode(Int.self, forKey: .height)
    let next = try row.nestedContainer(keyedBy: CodingKeys.self, forKey: .next)
    nextDepth = try next.decode(Int.self, forKey: .depth)
  }
}

/// An attribute's value, decoded by a type that is not the type of any attribute.
private enum Raw {
  enum Int8Value: Int8, Decodable { case value = -8 }
  enum Int16Value: Int16, Decodable { case value = -16 }
  enum Int32Value: Int32, Decodable { case value = -32 }
  enum Int64Value: Int64, Decodable { case value = -64 }
  enum IntValue: Int, Decodable { case value = 5 }
  enum UInt8Value: UInt8, Decodable { case value = 255 }
  enum UInt16Value: UInt16, Decodable { case value = 65_535 }
  enum UInt32Value: UInt32, Decodable { case value = 4_294_967_295 }
  enum UInt64Value: UInt64, Decodable { case value = 18_446_744_073_709_551_615 }
  enum UIntValue: UInt, Decodable { case value = 7 }
  enum DoubleValue: Double, Decodable { case value = 0 }
  enum FloatValue: Float, Decodable { case value = 1.1 }
  struct Flag: RawRepresentable, Decodable { let rawValue: Bool }
  enum Missing: String, Decodable { case value }

  struct Row: Decodable {
    let int8: Int8Value, int16: Int16Value, int32: Int32Value, int64: Int64Value
    let optional: IntValue, uint8: UInt8Value, uint16: UInt16Value, uint32: UInt32Value
    let uint64: UInt64Value, uint: UIntValue, double: DoubleValue, float: FloatValue, flag: Flag
    let absent: Missing?
  }
}

/// The values of an object with an attribute of every type.
private struct NumberRow: Decodable, Equatable {
  let flag: Bool, int8: Int8, int16: Int16, int32: Int32, int64: Int64, int: Int
  let uint8: UInt8, uint16: UInt16, uint32: UInt32, uint64: UInt64, uint: UInt
  let double: Double, float: Float, text: String
}

@Suite("Decoding of rows")
struct RowDecoderTests {
  private let fixture: GraphFixture

  init() throws {
    fixture = try GraphFixture(Schema(Carton.self, Everything.self))
    try fixture.saved { context in
      _ = Everything(context: context)
      let first = Carton(context: context)
      first.next = Carton(context: context)
      first.label = "first"
    }
  }

  private func rows<Row: Decodable>(_ type: Row.Type) throws -> [Row] {
    try fixture.context().fetch(
      FetchRequest<Carton>(where: #Predicate { $0.next != nil }), as: type)
  }

  @Test(.evidence("FO-10")) func `decodes numbers of every type`() throws {
    let context = fixture.context()
    let rows = try context.fetch(FetchRequest<Everything>(), as: NumberRow.self)
    let object = try #require(try context.fetch(FetchRequest<Everything>()).first)
    #expect(
      rows == [
        NumberRow(
          flag: object.flag, int8: object.int8, int16: object.int16, int32: object.int32,
          int64: object.int64, int: object.int, uint8: object.uint8, uint16: object.uint16,
          uint32: object.uint32, uint64: object.uint64, uint: object.uint, double: object.double,
          float: object.float, text: object.text)
      ])
    let raw = try context.fetch(FetchRequest<Everything>(), as: Raw.Row.self)
    #expect(raw.count == 1 && raw.allSatisfy { $0.flag.rawValue && $0.absent == nil })
    struct Real: Decodable { let int8: Float }
    #expect(try context.fetch(FetchRequest<Everything>(), as: Real.self).map(\.int8) == [-8])
  }

  @Test(.evidence("FO-10")) func `decodes superclasses from the same object or composite`() throws {
    struct Row: Decodable { let size: WideAndHigh }
    let row = try #require(try rows(Row.self).first)
    #expect(row.size.width == 1 && row.size.height == 2)
    #expect(try rows(Wide.self).map(\.width) == [10])
  }

  @Test(.evidence("FO-10")) func `decodes nested containers and dictionaries`() throws {
    #expect(try rows(FlatRow.self).map { [$0.height, $0.nextDepth] } == [[2, 30]])
    struct Sizes: Decodable { let size: [String: Int] }
    #expect(try rows(Sizes.self).map(\.size) == [["width": 1, "height": 2]])
    enum Text: String, Decodable { case first }
    struct Labels: Decodable {
      let label: Text?
      private enum CodingKeys: CodingKey { case label }

      init(from decoder: any Decoder) throws {
        let row = try decoder.container(keyedBy: CodingKeys.self)
        label = try row.decode(Text?.self, forKey: .label)
      }
    }
    let labels = try fixture.context().fetch(FetchRequest<Carton>(), as: Labels.self)
    #expect(labels.map(\.label) == [.first, nil] || labels.map(\.label) == [nil, .first])
  }

  private struct Elements: Decodable {
    private enum CodingKeys: CodingKey { case label }

    init(from decoder: any Decoder) throws {
      let row = try decoder.container(keyedBy: CodingKeys.self)
      _ = try row.nestedUnkeyedContainer(forKey: .label)
    }
  }

  private struct Keys: Decodable {
    private enum CodingKeys: CodingKey { case label }

    init(from decoder: any Decoder) throws {
      let row = try decoder.container(keyedBy: CodingKeys.self)
      _ = try row.nestedContainer(keyedBy: CodingKeys.self, forKey: .label)
    }
  }

  private struct Inner: Decodable { let x: Int }
  private enum Name: String, Decodable { case first }

  @Test(.evidence("FO-10")) func `names what a type cannot be decoded from`() throws {
    struct ID: Decodable { let objectID: Inner }
    struct Label: Decodable { let label: Inner }
    struct List: Decodable { let label: [Inner] }
    struct Missing: Decodable { let spot: Inner }
    struct Next: Decodable { let next: Name }
    func expectError<Row: Decodable>(_ type: Row.Type, _ words: String) {
      let error = #expect(throws: DecodingError.self) { try rows(type) }
      #expect("\(error as Any)".contains(words), "\(String(describing: error))")
    }
    expectError([String].self, "cannot be decoded as an array")
    expectError(String.self, "cannot be decoded as a single value")
    expectError(ID.self, "Decode it as a ManagedObjectID")
    expectError(Label.self, "The attribute has no keys")
    expectError(List.self, "The attribute is not an array")
    expectError(Missing.self, "The value is nil")
    expectError(Next.self, "cannot be decoded as a single value")
    expectError(Elements.self, "cannot be decoded element by element")
    expectError(Keys.self, "The value has no keys")
    struct Required: Decodable { let next: Inner }
    let all = FetchRequest<Carton>(where: #Predicate { $0.next == nil })
    let error = #expect(throws: DecodingError.self) {
      try fixture.context().fetch(all, as: Required.self)
    }
    #expect("\(error as Any)".contains("The value is nil"))
    #expect(throws: DecodingError.self) { try fixture.context().fetch(all, as: FlatRow.self) }
  }
}
