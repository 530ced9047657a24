/// Methods that check whether values and rows can be read back after they have been stored.
extension EntityStorage {
  /// The maximum length of a row in bytes.
  ///
  /// A longer row could not be read back as a single value.
  private static let maxRowByteCount = Limits.maxCopiedValueByteCount

  /// Returns whether a record might be unreadable once stored and must therefore be checked.
  func needsCheck(_ record: [UInt8]) -> Bool { record.count > 1 << 20 || hasDecimals }

  /// Checks that a row with the given values can be stored and read back.
  ///
  /// - Throws: `validation` if the row cannot be stored and read back. The error names the object,
  ///   its entity, the property and the reason.
  /// - Complexity: O(n) for n variable-length attributes.
  func requireStorable(_ values: [StoredValue], _ id: @autoclosure () -> ManagedObjectID) throws {
    if let failure = refusal(of: values) {
      throw ObjectGraphError(.validation, failure, objectID: id())
    }
  }

  /// Returns the reason why a row with the given values cannot be stored, or `nil` if the row can
  /// be stored.
  func refusal(of values: [StoredValue]) -> String? {
    var total = fixedByteCount
    for property in variableColumns {
      let value = values[property.slot]
      let count = value.variableByteCount
      if property.isNotANumber(value) {
        return "\(entity.name).\(property.name) is NaN, which cannot be stored as a decimal number."
          + " Set the attribute to a number."
      }
      total += count
      if count > Self.maxRowByteCount { return tooLong(property, count, Self.maxRowByteCount) }
    }
    if total > Self.maxRowByteCount {
      let longest = variableColumns.max {
        values[$0.slot].variableByteCount < values[$1.slot].variableByteCount
      }
      return longest.map { tooLong($0, total, Self.maxRowByteCount, isTotal: true) }
    }
    // Limit the total size of the preserved values, because a deletion stores all of them, together
    // with other data, in a single history entry.
    let limit = Self.maxRowByteCount - 1 << 16 - 64 * entity.columns.count
    let tombstone = preservedVariableColumns.reduce(0) { $0 + values[$1.slot].textByteCount }
    guard tombstone > limit else { return nil }
    let property = preservedVariableColumns.max {
      values[$0.slot].textByteCount < values[$1.slot].textByteCount
    }
    return property.map {
      "\(entity.name).\($0.name) is preserved on deletion. The preserved attributes take up "
        + "\(tombstone) bytes as text, but the limit is \(limit) bytes. Do not preserve this "
        + "attribute, or store its value in a file."
    }
  }

  private func tooLong(
    _ property: PropertyDescription, _ count: Int, _ limit: Int, isTotal: Bool = false
  ) -> String {
    let name = "\(entity.name).\(property.name)"
    let subject =
      isTotal
      ? "This \(entity.name) takes up \(count) bytes, and its longest attribute is \(name)"
      : "\(name) takes up \(count) bytes"
    return "\(subject). The limit for an object is \(limit) bytes (\(limit >> 20) MiB). Split the "
      + "value of the attribute across several objects, or store it in a file."
  }
}

extension PropertyDescription {
  /// Returns whether the attribute is a decimal number and the value is NaN.
  fileprivate func isNotANumber(_ value: StoredValue) -> Bool {
    guard fieldStorageType == .decimal, case .string("NaN") = value else { return false }
    return true
  }
}

extension StoredValue {
  /// The number of bytes occupied by the value in the variable-length part of a record.
  fileprivate var variableByteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    default: 0
    }
  }

  /// An upper bound on the number of bytes of text that the history stores for the value.
  fileprivate var textByteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .bytes(let bytes): (bytes.count + 2) / 3 * 4
    default: 64
    }
  }
}
