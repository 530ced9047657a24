import Foundation
import Heartwood
import HeartwoodEngine

/// Records of objects, and the model that describes them.
extension FuzzTarget {
  /// Records in any layout.
  ///
  /// An input consists of the types of the fields and the record, whose layout number is correct.
  static let record = FuzzTarget("record", seeds: recordInputs) { bytes in
    var input = FuzzInput(bytes)
    let count = Int(input.byte() % 20)
    let types = (0..<count).map { _ in type(input.byte()) }
    let layout = layout(types)
    var content = input.rest.copied()
    if content.count > 9 { (content[8], content[9]) = (0, 0) }
    let decoded = try content.withUnsafeBytes { bytes in
      let view = try RecordView(bytes, [layout])
      let values = try types.indices.map { try view.value($0) }
      for (field, value) in values.enumerated() {
        guard case .string(let text) = value else { continue }
        guard try view.isText(field, text, Array(text.utf8)) else {
          throw WrongText()
        }
      }
      return (version: view.version, values: values)
    }
    var encoder = RecordEncoder()
    encoder.encode(layout, version: decoded.version) { decoded.values[$0] }
    return try encoder.record.withUnsafeBytes { bytes in
      let view = try RecordView(bytes, [layout])
      let values = try types.indices.map { try view.value($0) }
      return values == decoded.values && view.version == decoded.version
        ? nil : "The record differs after encoding it again."
    }
  }

  /// A string field that does not equal its own value.
  private struct WrongText: Error {}

  private static func type(_ byte: UInt8) -> StorageType {
    StorageType.allCases[Int(byte) % StorageType.allCases.count]
  }

  private static func layout(_ types: [StorageType]) -> RecordLayout {
    RecordLayout(number: 0, types.enumerated().map { (UInt16($0), $1) })
  }

  @Sendable private static func recordInputs() -> [[UInt8]] {
    let values: [(StorageType, StoredValue)] = [
      (.string, .string("Ada")), (.int64, .integer(-7)), (.bool, .bool(true)), (.date, .null),
      (.float, .double(1.5)), (.bytes, .bytes([1, 2])), (.uuid, .uuid(high: 4, low: 5)),
      (.uint64, .largeInteger(.max)), (.decimal, .string("0.1")), (.reference, .integer(1 << 48)),
      (.json, .bytes(Array("[1]".utf8))), (.int8, .integer(-1)), (.uint16, .integer(9)),
      (.string, .string("é")), (.double, .double(.nan)), (.string, .null),
    ]
    return [0..<1, 0..<4, 4..<9, 5..<16].map { range in
      let fields = values[range]
      var encoder = RecordEncoder()
      encoder.encode(layout(fields.map(\.0)), version: 77) { fields[range.lowerBound + $0].1 }
      let types = fields.map { UInt8(StorageType.allCases.firstIndex(of: $0.0) ?? 0) }
      return [UInt8(fields.count)] + types + encoder.record
    }
  }

  /// The model in a store, its layouts and the descriptions of derived attributes.
  static let model = FuzzTarget("model", words: modelWords, seeds: { [try storedRow("model")] }) {
    bytes in
    let model = try StoredModel.decoded(bytes.copied())
    for entity in model.entities {
      _ = entity.recordLayouts
      for description in entity.derived ?? [] { _ = StoredDerivation(description) }
    }
    return try StoredModel.decoded(try model.encoded()) == model
      ? nil : "The model differs after encoding it again."
  }

  /// The declarations of the program that last opened a store.
  static let declarations = FuzzTarget(
    "declarations", words: modelWords, seeds: { [try storedRow("declarations")] }
  ) { bytes in
    let declarations = try StoredDeclarations.decoded(bytes.copied())
    return try StoredDeclarations.decoded(try declarations.encoded()) == declarations
      ? nil : "The declarations differ after encoding them again."
  }

  /// Keys of the JSON in a store's model.
  private static let modelWords =
    [
      "version", "lastEntity", "entities", "name", "number", "lastProperty", "properties",
      "layouts", "indexes", "derived", "kind", "ends", "attribute", "toOne", "toMany", "isOrdered",
      "form", "isOptional", "declaration", "inverse", "targets", "place", "columns", "constants",
      "property", "value", "_0", "null", "bool", "integer", "largeInteger", "date", "uuid",
      "string", "bytes", "entity", "superentity", "isAbstract", "deleteRule", "initialValue",
      "isPreservedOnDeletion", "declarations", "valueOrder",
    ].map { "\"\($0)\":" } + ["{", "}", "[", "]", "true", "false", "null", "18446744073709551615"]

  /// Returns a row from the model keyspace of the store that ``FuzzedObjects`` creates.
  private static func storedRow(_ key: String) throws -> [UInt8] {
    try FuzzedObjects.filled().store.snapshot().keyspace("heartwood.model")?.get(Key(key)) ?? []
  }
}
