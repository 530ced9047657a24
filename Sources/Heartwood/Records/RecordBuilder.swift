/// Builds a record, field by field.
struct RecordBuilder {
  private let layout: RecordLayout
  private var bytes: [UInt8]
  private var variable: [UInt8] = []
  private var nextField = 0

  init(_ layout: RecordLayout, version: UInt64) {
    self.layout = layout
    bytes = layout.empty
    if layout.variableCount > 0 { bytes.reserveCapacity(layout.fixedByteCount + 64) }
    bytes.put(version, at: 0)
  }

  /// Appends the value of the next field.
  ///
  /// - Precondition: There is a next field, and the type of the value matches the field's storage
  ///   type.
  mutating func append(_ value: StoredValue) {
    let field = layout.fields[nextField]
    if value.isNull {
      bytes[RecordLayout.nullsOffset + nextField / 8] |= 1 << UInt8(nextField % 8)
    } else if field.variableIndex == nil {
      put(value, field)
    } else {
      appendVariable(value)
    }
    nextField += 1
    guard field.variableIndex != nil else { return }
    bytes.put(UInt32(variable.count), at: field.offset)
  }

  private mutating func put(_ value: StoredValue, _ field: RecordLayout.Field) {
    let bits: UInt64
    switch value {
    case .bool(let value): bits = value ? 1 : 0
    case .integer(let value): bits = UInt64(bitPattern: value)
    case .largeInteger(let value): bits = value
    case .double(bits: let value):
      bits =
        field.storageType == .float ? UInt64(Float(Double(bitPattern: value)).bitPattern) : value
    case .date(bits: let value): bits = value
    case .uuid(let high, let low):
      bytes.put(high, at: field.offset)
      return bytes.put(low, at: field.offset + 8)
    case .null, .string, .bytes:
      preconditionFailure("The type of a value does not match its field.")
    }
    switch field.storageType.byteCount {
    case 1: bytes.put(UInt8(truncatingIfNeeded: bits), at: field.offset)
    case 2: bytes.put(UInt16(truncatingIfNeeded: bits), at: field.offset)
    case 4: bytes.put(UInt32(truncatingIfNeeded: bits), at: field.offset)
    default: bytes.put(bits, at: field.offset)
    }
  }

  private mutating func appendVariable(_ value: StoredValue) {
    switch value {
    case .string(let text): variable.append(contentsOf: text.utf8)
    case .bytes(let content): variable.append(contentsOf: content)
    default: preconditionFailure("The type of a value does not match its field.")
    }
  }

  /// Returns the complete record.
  ///
  /// - Precondition: A value, which may be null, has been appended for every field.
  consuming func finish() -> [UInt8] {
    precondition(nextField == layout.fields.count, "A field of the record has no value.")
    bytes.append(contentsOf: variable)
    return bytes
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
    memory.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
  }
}
