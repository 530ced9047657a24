/// An encoder that reuses one buffer for all records.
package struct RecordEncoder {
  /// The most recently encoded record.
  package private(set) var record: [UInt8] = []
  /// The values of variable-length fields that have not been appended to the record yet.
  private var variableValues: [StoredValue] = []

  package init() {}

  /// Encodes a record, replacing the previous one.
  ///
  /// - Parameter value: A closure that returns the value of each field, in order.
  /// - Precondition: The type of each value matches the storage type of its field.
  @inline(__always)
  package mutating func encode(
    _ layout: RecordLayout, version: UInt64, _ value: (_ field: Int) throws -> StoredValue
  ) rethrows {
    record.removeAll(keepingCapacity: true)
    record.append(contentsOf: layout.empty)
    variableValues.removeAll(keepingCapacity: true)
    try Self.encodeFixedLengthFields(
      layout, version, value, &record, variableValues: &variableValues)
    for (index, value) in variableValues.enumerated() {
      switch value {
      case .null: break
      case .string(let text): record.append(contentsOf: text.utf8)
      case .bytes(let content): record.append(contentsOf: content)
      default: preconditionFailure("A value does not match the type of its field.")
      }
      let end = UInt32(record.count - layout.fixedByteCount)
      record.put(end, at: layout.endsOffset + index * RecordLayout.endByteCount)
    }
  }

  /// Writes the version, the null bits and the fixed-length fields, and collects the values of the
  /// variable-length fields.
  @inline(__always)
  private static func encodeFixedLengthFields(
    _ layout: RecordLayout, _ version: UInt64, _ value: (_ field: Int) throws -> StoredValue,
    _ record: inout [UInt8],
    variableValues: inout [StoredValue]
  ) rethrows {
    var span = record.mutableSpan
    var memory = span.mutableBytes
    memory.put(version, at: 0)
    var nulls: UInt8 = 0
    let fields = layout.fields
    for index in fields.indices {
      let field = fields[index]
      let value = try value(index)
      if field.variableIndex != nil { variableValues.append(value) }
      switch value {
      case .null: nulls |= 1 << UInt8(index % 8)
      case .string, .bytes:
        precondition(
          field.variableIndex != nil,
          "A string or data field must not have a fixed length.")
      case .uuid(let high, let low):
        memory.put(high, at: field.offset)
        memory.put(low, at: field.offset + 8)
      case .bool(let value): memory.put(value ? 1 : 0, field)
      case .integer(let value): memory.put(UInt64(bitPattern: value), field)
      case .largeInteger(let value): memory.put(value, field)
      case .date(bits: let value): memory.put(value, field)
      case .double(bits: let value):
        let isFloat = field.storageType == .float
        memory.put(
          isFloat ? UInt64(Float(Double(bitPattern: value)).bitPattern) : value, field)
      }
      if nulls != 0, index % 8 == 7 || index == fields.count - 1 {
        memory.put(nulls, at: RecordLayout.nullsOffset + index / 8)
        nulls = 0
      }
    }
  }
}

extension MutableRawSpan {
  /// Overwrites the bytes at an offset with an integer in little-endian order.
  fileprivate mutating func put<Value: FixedWidthInteger & BitwiseCopyable>(
    _ value: Value, at offset: Int
  ) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
  }

  /// Overwrites a fixed-length field with the low bits of a value.
  fileprivate mutating func put(_ bits: UInt64, _ field: RecordLayout.Field) {
    switch field.storageType.byteCount {
    case 1: put(UInt8(truncatingIfNeeded: bits), at: field.offset)
    case 2: put(UInt16(truncatingIfNeeded: bits), at: field.offset)
    case 4: put(UInt32(truncatingIfNeeded: bits), at: field.offset)
    default: put(bits, at: field.offset)
    }
  }
}

extension [UInt8] {
  mutating func append<Value: FixedWidthInteger & BitwiseCopyable>(littleEndian value: Value) {
    let offset = count
    append(contentsOf: repeatElement(0, count: Value.bitWidth / 8))
    put(value, at: offset)
  }

  /// Overwrites the bytes at an offset with an integer in little-endian order.
  mutating func put<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
    var span = mutableSpan
    var memory = span.mutableBytes
    memory.put(value, at: offset)
  }
}
