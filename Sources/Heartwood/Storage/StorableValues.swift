/// What can be stored: values that can be read again, in rows that can.
extension EntityStorage {
  /// The longest row: what is longer could not be read at once.
  private static let maxRowByteCount = Limits.maxCopiedValueByteCount

  /// Whether a record could be one of those that cannot be read again.
  func needsCheck(_ record: [UInt8]) -> Bool { record.count > 1 << 20 || hasDecimals }

  /// Checks that a row of these values can be stored and read again.
  ///
  /// - Throws: `validation`, naming the object, its entity and property, and the limit.
  /// - Complexity: A look at each attribute of variable length.
  func requireStorable(_ values: [StoredValue], _ id: @autoclosure () -> ManagedObjectID) throws {
    if let failure = refusal(of: values) {
      throw ObjectGraphError(.validation, failure, objectID: id())
    }
  }

  /// What keeps a row of these values from being stored; `nil` if nothing does.
  func refusal(of values: [StoredValue]) -> String? {
    var (total, tombstone) = (fixedByteCount, 0)
    for property in variableColumns {
      let value = values[property.slot]
      let count = value.variableByteCount
      if property.isNotANumber(value) {
        return "\(entity.name).\(property.name) is NaN, which cannot be stored as a decimal number."
      }
      total += count
      if property.options.isPreservedOnDeletion { tombstone += value.textByteCount }
      if count > Self.maxRowByteCount { return tooLong(property, count, Self.maxRowByteCount) }
    }
    if total > Self.maxRowByteCount {
      let longest = variableColumns.max {
        values[$0.slot].variableByteCount < values[$1.slot].variableByteCount
      }
      return longest.map { tooLong($0, total, Self.maxRowByteCount, isTotal: true) }
    }
    // All of it is one entry of the history when the object is deleted, beside others.
    let limit = Self.maxRowByteCount - 1 << 16 - 64 * entity.columns.count
    guard tombstone > limit else { return nil }
    let property = variableColumns.filter(\.options.isPreservedOnDeletion)
      .max { values[$0.slot].textByteCount < values[$1.slot].textByteCount }
    return property.map {
      "\(entity.name).\($0.name) is preserved on deletion, as text of \(tombstone) bytes with what "
        + "else is; there is room for \(limit). Do not preserve it, or keep it in a file."
    }
  }

  private func tooLong(
    _ property: PropertyDescription, _ count: Int, _ limit: Int, isTotal: Bool = false
  ) -> String {
    let subject =
      isTotal
      ? "A \(entity.name) takes \(count) bytes, most of them \(entity.name).\(property.name)"
      : "\(entity.name).\(property.name) takes \(count) bytes"
    return "\(subject); an object has room for \(limit) (\(limit >> 20) MiB). Divide it up between "
      + "several objects, or keep it in a file."
  }
}

extension PropertyDescription {
  /// Whether a value is no decimal number, though it should be one.
  fileprivate func isNotANumber(_ value: StoredValue) -> Bool {
    guard recordForm == .decimal, case .string("NaN") = value else { return false }
    return true
  }
}

extension StoredValue {
  /// The bytes of the value in the variable part of a record.
  fileprivate var variableByteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    default: 0
    }
  }

  /// The bytes of ``text``, which the history keeps.
  fileprivate var textByteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .bytes(let bytes): (bytes.count + 2) / 3 * 4
    default: 64
    }
  }
}
