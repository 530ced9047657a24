import Heartwood
import HeartwoodEngine

/// The report of the `salvage` command in JSON.
struct SalvageDocument: Encodable {
  struct Range: Encodable {
    /// A description of the range in terms of keys or object IDs.
    let text: String
    /// The last key before the range, or `nil` if there is none.
    let after: String?
    /// The first key after the range, or `nil` if there is none.
    let before: String?
    /// A Boolean value that indicates whether some entries in the range were salvaged.
    let isPartial: Bool
  }

  struct Keyspace: Encodable {
    let name: String
    /// The entity whose objects the keyspace contains, or `nil` if it contains other data.
    let entity: String?
    let isComplete: Bool
    let isNameLost: Bool
    let isRebuilt: Bool
    let entryCount: Int
    let expectedCount: Int?
    let missingRangeCount: Int
    let missing: [Range]
    let damagedValueCount: Int
    let damagedValues: [String]
    let doubtfulCount: Int
    let misplacedCount: Int

    /// The entity's name or, if there is no entity, the keyspace's name.
    var title: String { entity ?? name }
  }

  struct Objects: Encodable {
    let clearedReferenceCount: Int
    let removedMemberCount: Int
    let restoredMemberCount: Int
    let removedRowCount: Int
  }

  let isComplete: Bool
  let target: String
  let generation: UInt64
  let time: String?
  let pageCount: Int
  let damagedPageCount: Int
  let areCommitsLost: Bool
  let areNamesLost: Bool
  let keyspaces: [Keyspace]
  /// The numbers of changes made to repair the objects, or `nil` if the store contains no objects.
  let objects: Objects?
  let notes: [String]

  init(_ report: SalvageReport, _ objects: ObjectRepair.Summary?, target: String) {
    isComplete = report.isComplete
    self.target = target
    generation = report.generation.frame
    time = report.time == 0 ? nil : TimeText.text(report.time)
    pageCount = report.pageCount
    damagedPageCount = report.damagedPageCount
    areCommitsLost = report.hasLostCommits
    areNamesLost = report.hasLostNames
    keyspaces = report.keyspaces.map { Keyspace($0, entity: objects?.entities[$0.name]) }
    self.objects = objects.map {
      Objects(
        clearedReferenceCount: $0.clearedReferenceCount,
        removedMemberCount: $0.removedMemberCount,
        restoredMemberCount: $0.restoredMemberCount, removedRowCount: $0.removedRowCount)
    }
    notes = report.notes
  }
}

extension SalvageDocument.Keyspace {
  fileprivate init(_ keyspace: SalvageReport.Keyspace, entity: String?) {
    name = keyspace.name
    self.entity = entity
    isComplete = keyspace.isComplete
    isNameLost = keyspace.hasLostName
    isRebuilt = keyspace.isRebuilt
    entryCount = keyspace.entryCount
    expectedCount = keyspace.expectedCount
    missingRangeCount = keyspace.missingRangeCount
    missing = keyspace.missing.map { SalvageDocument.Range($0, entity: entity) }
    damagedValueCount = keyspace.damagedValueCount
    damagedValues = keyspace.damagedValues.map { SalvageDocument.name(of: $0, entity: entity) }
    doubtfulCount = keyspace.doubtfulCount
    misplacedCount = keyspace.misplacedCount
  }
}

extension SalvageDocument.Range {
  fileprivate init(_ range: SalvageReport.MissingRange, entity: String?) {
    after = range.after.map { KeyNotation.text(of: $0) }
    before = range.before.map { KeyNotation.text(of: $0) }
    isPartial = range.isPartial
    text = Self.objects(range, entity) ?? Self.keys(after, before)
  }

  /// Returns the missing objects as text, such as "Quake/1200 … Quake/1260", or `nil` if the
  /// missing entries are not objects.
  private static func objects(
    _ range: SalvageReport.MissingRange, _ entity: String?
  ) -> String? {
    guard let entity else { return nil }
    let after = range.after.map(SalvageDocument.row)
    let before = range.before.map(SalvageDocument.row)
    if case .some(nil) = after { return nil }
    if case .some(nil) = before { return nil }
    let first = ((after ?? nil) ?? 0) + 1
    guard let end = before ?? nil else { return "\(entity)/\(first) …" }
    let last = max(end - 1, first)
    return first == last ? "\(entity)/\(first)" : "\(entity)/\(first) … \(entity)/\(last)"
  }

  private static func keys(_ after: String?, _ before: String?) -> String {
    switch (after, before) {
    case (nil, nil): "all keys"
    case (let after?, nil): "after \(after)"
    case (nil, let before?): "before \(before)"
    case (let after?, let before?): "between \(after) and \(before)"
    }
  }
}

extension SalvageDocument {
  /// Returns the row ID in a row's key, or `nil` for any other key.
  fileprivate static func row(_ key: [UInt8]) -> Int64? {
    guard let components = KeyNotation.components(of: key), components.count == 1,
      case .integer(let row) = components[0], (0..<Int64.max).contains(row)
    else { return nil }
    return row
  }

  fileprivate static func name(of key: [UInt8], entity: String?) -> String {
    if let entity, let row = row(key) { return "\(entity)/\(row)" }
    return KeyNotation.text(of: key)
  }
}
