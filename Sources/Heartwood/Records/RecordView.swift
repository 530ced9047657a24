import Foundation

/// A view of a record's bytes that reads individual fields without decoding the rest.
///
/// A view is valid only while the bytes and the layouts that it refers to exist. The bytes come
/// from a file and may be corrupt. Therefore, the initialiser throws `corrupt` if the record is
/// shorter than its layout requires. The methods that read a variable-length field throw `corrupt`
/// if the field is invalid. A read never accesses memory outside the bytes.
package struct RecordView {
  private let bytes: UnsafeRawBufferPointer
  unowned(unsafe) let layout: RecordLayout
  /// The number of the layout with which the record was written.
  let layoutNumber: Int

  /// Creates a view of a record.
  ///
  /// - Parameter layouts: The layouts of the entity, indexed by layout number.
  /// - Throws: `corrupt` if the layout is unknown or the record is too short for it.
  package init(_ bytes: UnsafeRawBufferPointer, _ layouts: [RecordLayout]) throws(StorageError) {
    guard bytes.count >= RecordLayout.nullsOffset else { throw Self.short }
    let number = Int(Self.load(bytes, RecordLayout.versionByteCount, UInt16.self))
    guard layouts.indices.contains(number) else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: a record has an unknown layout number (\(number)). Restore a "
          + "backup.")
    }
    guard bytes.count >= layouts[number].fixedByteCount else { throw Self.short }
    self.bytes = bytes
    layout = layouts[number]
    layoutNumber = number
  }

  private static var short: StorageError {
    StorageError(
      .corrupt,
      "The store is corrupt: a record is shorter than its layout requires. Restore a backup.")
  }

  /// Loads an integer from an offset that is known to be in bounds.
  private static func load<Value: FixedWidthInteger & BitwiseCopyable>(
    _ bytes: UnsafeRawBufferPointer, _ offset: Int, _ type: Value.Type
  ) -> Value {
    Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
  }

  /// A copy of the record's bytes.
  var copy: [UInt8] { Array(bytes) }

  /// The base of the transaction that wrote the record, which is the number of its first frame.
  package var version: UInt64 { Self.load(bytes, 0, UInt64.self) }

  /// Returns the eight bytes at `offset` as an integer.
  ///
  /// - Precondition: `offset` is the offset of an eight-byte field in the record's layout.
  func word(at offset: Int) -> UInt64 { Self.load(bytes, offset, UInt64.self) }

  /// Returns whether a field has no value.
  func isNull(_ field: Int) -> Bool {
    let byte = Self.load(bytes, RecordLayout.nullsOffset + field / 8, UInt8.self)
    return byte >> UInt8(field % 8) & 1 == 1
  }

  /// Returns a fixed-length field as an integer, padded with zero bytes if necessary.
  ///
  /// - Precondition: The field has at most eight bytes.
  func bits(_ field: Int) -> UInt64 { bits(layout.fields[field]) }

  private func bits(_ fieldLayout: RecordLayout.Field) -> UInt64 {
    switch fieldLayout.storageType.byteCount {
    case 1: return UInt64(Self.load(bytes, fieldLayout.offset, UInt8.self))
    case 2: return UInt64(Self.load(bytes, fieldLayout.offset, UInt16.self))
    case 4: return UInt64(Self.load(bytes, fieldLayout.offset, UInt32.self))
    default: return Self.load(bytes, fieldLayout.offset, UInt64.self)
    }
  }

  /// Returns the bytes of a variable-length field.
  func content(_ field: Int) throws(StorageError) -> UnsafeRawBufferPointer {
    let fieldLayout = layout.fields[field]
    let lower =
      fieldLayout.variableIndex == 0
      ? 0 : Int(Self.load(bytes, fieldLayout.offset - RecordLayout.endByteCount, UInt32.self))
    let upper = Int(Self.load(bytes, fieldLayout.offset, UInt32.self))
    guard lower <= upper, upper <= bytes.count - layout.fixedByteCount else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: a field extends past the end of its record. Restore a backup.")
    }
    let start = layout.fixedByteCount
    return UnsafeRawBufferPointer(rebasing: bytes[start + lower..<start + upper])
  }

  /// Returns the value of a string field.
  func text(_ field: Int) throws(StorageError) -> String {
    let content = try content(field)
    // Compare the bytes after decoding to detect invalid UTF-8, because decoding replaces invalid
    // bytes. `String(validating:as:)` would look up generic metadata at run time and take several
    // times as long.
    var text = String(decoding: content, as: UTF8.self)
    guard content.isASCII || text.hasBytes(content) else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: a string field of a record is not valid UTF-8. Restore a backup.")
    }
    return text
  }

  /// Returns whether the value of a string field equals `text`, according to the rules of Swift's
  /// string comparison.
  ///
  /// - Parameter bytes: The UTF-8 bytes of `text`.
  /// - Precondition: The field has a value.
  package func isText(_ field: Int, _ text: String, _ bytes: [UInt8]) throws(StorageError) -> Bool {
    let content = try content(field)
    if content.elementsEqual(bytes) { return true }
    // ASCII strings with different bytes are different. Other strings may be canonically equivalent
    // even if their bytes differ.
    if content.isASCII, bytes.allSatisfy({ $0 < 0x80 }) { return false }
    return try self.text(field) == text
  }

  /// Returns the value of a field.
  package func value(_ field: Int) throws(StorageError) -> StoredValue {
    try value(field, layout.fields[field])
  }

  /// Returns the value of a field that the caller has already looked up in the layout.
  func value(
    _ field: Int, _ fieldLayout: RecordLayout.Field
  ) throws(StorageError) -> StoredValue {
    guard !isNull(field) else { return .null }
    switch fieldLayout.storageType {
    case .bool: return .bool(bits(fieldLayout) != 0)
    case .int8: return .integer(Int64(Int8(truncatingIfNeeded: bits(fieldLayout))))
    case .int16: return .integer(Int64(Int16(truncatingIfNeeded: bits(fieldLayout))))
    case .int32: return .integer(Int64(Int32(truncatingIfNeeded: bits(fieldLayout))))
    case .int64, .reference: return .integer(Int64(bitPattern: bits(fieldLayout)))
    case .uint8, .uint16, .uint32, .uint64: return .unsigned(bits(fieldLayout))
    case .float:
      return .double(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits(fieldLayout)))))
    case .double: return .double(bits: bits(fieldLayout))
    case .date: return .date(bits: bits(fieldLayout))
    case .uuid:
      let offset = fieldLayout.offset
      return .uuid(
        high: Self.load(bytes, offset, UInt64.self), low: Self.load(bytes, offset + 8, UInt64.self))
    case .string, .decimal: return .string(try text(field))
    case .bytes, .json:
      return .bytes([UInt8](try content(field)))
    }
  }
}

extension String {
  /// Returns whether the string's UTF-8 representation consists of the given bytes.
  fileprivate mutating func hasBytes(_ bytes: UnsafeRawBufferPointer) -> Bool {
    withUTF8 { own in
      guard own.count == bytes.count, let start = own.baseAddress, let other = bytes.baseAddress
      else { return own.count == bytes.count }
      return memcmp(start, other, own.count) == 0
    }
  }
}

extension UnsafeRawBufferPointer {
  /// A Boolean value that indicates whether all bytes are ASCII.
  var isASCII: Bool {
    var offset = 0
    while offset + 8 <= count {
      let word = loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if word & 0x8080_8080_8080_8080 != 0 { return false }
      offset += 8
    }
    while offset < count {
      if self[offset] >= 0x80 { return false }
      offset += 1
    }
    return true
  }
}
