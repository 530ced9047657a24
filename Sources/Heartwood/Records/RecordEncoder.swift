/// Encodes records, reusing one buffer.
struct RecordEncoder {
  /// The record that was encoded last.
  private(set) var record: [UInt8] = []

  /// Encodes a record, replacing the previous one.
  ///
  /// - Parameters:
  ///   - values: The values of an object, by slot.
  ///   - columns: The slot of each field, in the order of the fields.
  /// - Precondition: The type of each value matches the storage type of its field.
  mutating func encode(
    _ values: [StoredValue], _ columns: [Int], _ layout: RecordLayout, version: UInt64
  ) {
    precondition(columns.count == layout.fields.count, "A field of the record has no value.")
    record.removeAll(keepingCapacity: true)
    record.append(contentsOf: layout.empty)
    encodeFixedLengthFields(values, columns, layout, version)
    guard layout.variableCount > 0 else { return }
    for (index, slot) in columns.enumerated() where layout.fields[index].variableIndex != nil {
      switch values[slot] {
      case .null: break
      case .string(let text): record.append(contentsOf: text.utf8)
      case .bytes(let content): record.append(contentsOf: content)
      default: preconditionFailure("The type of a value does not match its field.")
      }
      let end = UInt32(record.count - layout.fixedByteCount)
      record.put(end, at: layout.fields[index].offset)
    }
  }

  /// Writes the version, the null bits and the fields of fixed length.
  private mutating func encodeFixedLengthFields(
    _ values: [StoredValue], _ columns: [Int], _ layout: RecordLayout, _ version: UInt64
  ) {
    var span = record.mutableSpan
    var memory = span.mutableBytes
    memory.put(version, at: 0)
    var nulls: UInt8 = 0
    for index in columns.indices {
      let field = layout.fields[index]
      switch values[columns[index]] {
      case .null: nulls |= 1 << UInt8(index % 8)
      case .string, .bytes: precondition(field.variableIndex != nil, "A field has a fixed length.")
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
      if nulls != 0, index % 8 == 7 || index == columns.count - 1 {
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

  /// Overwrites a field of fixed length with the low bits of a value.
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
  mutating func append<Value: FixedWidthInteger>(littleEndian value: Value) {
    for index in 0..<Value.bitWidth / 8 {
      append(UInt8(truncatingIfNeeded: value >> Value(8 * index)))
    }
  }

  /// Overwrites the bytes at an offset with an integer in little-endian order.
  mutating func put<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
    var span = mutableSpan
    var memory = span.mutableBytes
    memory.put(value, at: offset)
  }
}
