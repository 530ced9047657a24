/// Where the fields of a record lie; what was stored under one layout is always read with it.
///
/// ```
/// 0        8         10      10 + nulls                                         end
/// ┌────────┬─────────┬───────┬─────────────────────┬──────────────────┬──────────┐
/// │ version│ layout  │ nulls │ fields of fixed     │ ends of the      │ variable │
/// │ 8      │ number 2│ a bit │ length, in order    │ variable fields 4│ fields   │
/// └────────┴─────────┴───────┴─────────────────────┴──────────────────┴──────────┘
/// ```
///
/// The version is the base of the transaction that wrote the record: its first frame. One that only
/// computes derived attributes, because other rows were written, leaves it as it was. A bit is set
/// for each field without a value; a field of fixed length keeps its place then, filled with zeros.
/// The end of a variable field counts from the first of them. All numbers are little-endian.
final class RecordLayout: Sendable {
  /// A field: what it holds, and where.
  struct Field: Sendable {
    /// The number of the property, the same in every layout of its entity.
    let property: UInt16
    let form: StoredForm
    /// Where a fixed field lies, or where the end of a variable one does.
    let offset: Int
    /// The variable fields before it, if it is one.
    let variableIndex: Int?
  }

  static let versionByteCount = 8
  static let nullsOffset = 10
  static let endByteCount = 4

  let number: UInt16
  let fields: [Field]
  /// Where the variable fields begin: the least length of a record.
  let fixedByteCount: Int
  let variableCount: Int
  /// A record of version 0 whose fixed fields are all zero, and whose variable ones have no bytes.
  let empty: [UInt8]

  init(number: UInt16, _ columns: [(property: UInt16, form: StoredForm)]) {
    self.number = number
    var offset = Self.nullsOffset + (columns.count + 7) / 8
    let fixedLength = columns.reduce(0) { $0 + $1.form.byteCount }
    let endsOffset = offset + fixedLength
    var fields: [Field] = []
    var variableCount = 0
    for column in columns {
      if column.form.byteCount > 0 {
        fields.append(
          Field(property: column.property, form: column.form, offset: offset, variableIndex: nil))
        offset += column.form.byteCount
      } else {
        fields.append(
          Field(
            property: column.property, form: column.form,
            offset: endsOffset + variableCount * Self.endByteCount, variableIndex: variableCount))
        variableCount += 1
      }
    }
    self.fields = fields
    self.variableCount = variableCount
    fixedByteCount = endsOffset + variableCount * Self.endByteCount
    var empty = [UInt8](repeating: 0, count: fixedByteCount)
    empty.put(number, at: Self.versionByteCount)
    self.empty = empty
  }
}
