/// The positions of the fields in a record.
///
/// A record is always read with the layout that was used to write it.
///
/// ```
/// 0        8         10      10 + nulls                                         end
/// ┌────────┬─────────┬───────┬─────────────────────┬──────────────────┬──────────┐
/// │ version│ layout  │ nulls │ fields of fixed     │ ends of the      │ variable │
/// │ 8      │ number 2│ a bit │ length, in order    │ variable fields 4│ fields   │
/// └────────┴─────────┴───────┴─────────────────────┴──────────────────┴──────────┘
/// ```
///
/// The version is the base of the transaction that wrote the record. A transaction's base is the
/// number of its first frame. If a transaction rewrites a record only because
/// attributes that are derived from other rows have changed, the version stays the same. A null bit
/// is set for each field that has no value. A fixed-length field without a value still occupies its
/// bytes, which are zero. The ends of variable-length fields are relative to the start of the first
/// one. All numbers are little-endian.
package final class RecordLayout: Sendable {
  /// The storage type and position of a field.
  struct Field: Sendable {
    /// The property's number, which is the same in every layout of the entity.
    let property: UInt16
    let storageType: StorageType
    /// The offset of a fixed-length field's bytes.
    ///
    /// For a variable-length field, this is the offset of the integer that specifies where the
    /// field ends.
    let offset: Int
    /// The number of variable-length fields that precede this one, or `nil` for a fixed-length
    /// field.
    let variableIndex: Int?
  }

  static let versionByteCount = 8
  static let nullsOffset = 10
  static let endByteCount = 4

  let number: UInt16
  let fields: [Field]
  /// The offset of the first variable-length field, which is also the minimum length of a record.
  let fixedByteCount: Int
  let variableCount: Int
  /// The offset at which the ends of the variable-length fields are stored.
  let endsOffset: Int
  /// A record of version 0 whose fixed-length fields are zero and whose variable-length fields are
  /// empty.
  let empty: [UInt8]

  package init(number: UInt16, _ columns: [(property: UInt16, storageType: StorageType)]) {
    self.number = number
    var offset = Self.nullsOffset + (columns.count + 7) / 8
    let fixedLength = columns.reduce(0) { $0 + $1.storageType.byteCount }
    let endsOffset = offset + fixedLength
    var fields: [Field] = []
    var variableCount = 0
    for column in columns {
      if column.storageType.byteCount > 0 {
        fields.append(
          Field(
            property: column.property, storageType: column.storageType, offset: offset,
            variableIndex: nil))
        offset += column.storageType.byteCount
      } else {
        fields.append(
          Field(
            property: column.property, storageType: column.storageType,
            offset: endsOffset + variableCount * Self.endByteCount, variableIndex: variableCount))
        variableCount += 1
      }
    }
    self.fields = fields
    self.variableCount = variableCount
    self.endsOffset = endsOffset
    fixedByteCount = endsOffset + variableCount * Self.endByteCount
    var empty = [UInt8](repeating: 0, count: fixedByteCount)
    empty.put(number, at: Self.versionByteCount)
    self.empty = empty
  }
}
