/// Checks that values, and rows of them, can be read back after they are stored.
extension EntityStorage {
  /// The maximum length of a row: a longer one could not be read at once.
  private static let maxRowByteCount = Limits.maxCopiedValueByteCount

  /// Returns whether a record is one that possibly cannot be read back.
  func needsCheck(_ record: [UInt8]) -> Bool { record.count > 1 << 20 || hasDecimals }

  /// Requires that a row of these values can be stored and read back.
  ///
  /// - Throws: `validation`, with the object, its entity and property, and the limit.
  /// - Complexity: Linear in the number of attributes of variable length.
  func requireStorable(_ values: [StoredValue], _ id: @autoclosure () -> ManagedObjectID) throws {
    if let failure = refusal(of: values) {
      throw ObjectGraphError(.validation, failure, objectID: id())
    }
  }

  /// Returns the reason why a row of these values cannot be stored; `nil` if it can.
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
    // On deletion, all preserved values form one history entry, which other data shares.
    let limit = Self.maxRowByteCount - 1 << 16 - 64 * entity.columns.count
    guard tombstone > limit else { return nil }
    let property = variableColumns.filter(\.options.isPreservedOnDeletion)
      .max { values[$0.slot].textByteCount < values[$1.slot].textByteCount }
    return property.map {
      "\(entity.name).\($0.name) is preserved on deletion: with other attributes, as text of "
        + "\(tombstone) bytes; the limit is \(limit). Do not preserve it, or store it in a file."
    }
  }

  private func tooLong(
    _ property: PropertyDescription, _ count: Int, _ limit: Int, isTotal: Bool = false
  ) -> String {
    let subject =
      isTotal
      ? "A \(entity.name) takes \(count) bytes, most of them \(entity.name).\(property.name)"
      : "\(entity.name).\(property.name) takes \(count) bytes"
    return "\(subject); the limit of an object is \(limit) (\(limit >> 20) MiB). Divide it between "
      + "several objects, or store it in a file."
  }
}

extension PropertyDescription {
  /// Returns whether a value is NaN in a decimal attribute.
  fileprivate func isNotANumber(_ value: StoredValue) -> Bool {
    guard fieldStorageType == .decimal, case .string("NaN") = value else { return false }
    return true
  }
}

extension StoredValue {
  /// The size of the value in the variable part of a record.
  fileprivate var variableByteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    default: 0
    }
  }

  /// The size of ``text``, which the history stores.
  fileprivate var textByteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .bytes(let bytes): (bytes.count + 2) / 3 * 4
    default: 64
    }
  }
}
