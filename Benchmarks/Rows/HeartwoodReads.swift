import HeartwoodEngine

/// Random point reads by row number through one pinned snapshot.
struct IntegerReads: WalkingWork {
  let snapshot: Snapshot
  let numbers: [Int64]
  var walk: Walk
  var hash: UInt64 = 0

  init(_ snapshot: Snapshot, _ numbers: [Int64], from position: Int) {
    self.snapshot = snapshot
    self.numbers = numbers
    walk = Walk(through: numbers.count, from: position)
  }

  mutating func turn() throws -> Int {
    let quakes = try snapshot.loaded(KeyspaceName.quakes)
    let range = walk.next()
    var hash = hash
    for index in range {
      let number = numbers[index]
      let time = try quakes.withValue(number) { row in try row.verifiedTime(of: number) }
      guard let time else { throw missingRow(number) }
      hash = fold(hash, time)
    }
    self.hash = hash
    return range.count
  }
}

/// Random point reads by row number through one pinned snapshot, with several reads in each call.
struct IntegerReadsTogether: Work {
  let snapshot: Snapshot
  /// The row numbers for each call.
  let calls: [[Int64]]
  var walk: Walk
  var hash: UInt64 = 0

  private static let readsPerCall = 64

  init(_ snapshot: Snapshot, _ numbers: [Int64]) {
    self.snapshot = snapshot
    calls = stride(from: 0, to: numbers.count, by: Self.readsPerCall).map { start in
      Array(numbers[start..<min(start + Self.readsPerCall, numbers.count)])
    }
    walk = Walk(through: calls.count, step: 16)
  }

  var warmUpTurnCount: Int { walk.turnCount }
  /// The number of reads in a turn, rounded to a whole number of calls.
  var operationsPerTurn: Int {
    get { walk.step * Self.readsPerCall }
    set { walk.step = max(newValue / Self.readsPerCall, 1) }
  }

  mutating func turn() throws -> Int {
    let quakes = try snapshot.loaded(KeyspaceName.quakes)
    var hash = hash
    var count = 0
    for index in walk.next() {
      let numbers = calls[index]
      try quakes.getMany(numbers) { place, row in
        guard let row else { throw missingRow(numbers[place]) }
        hash = fold(hash, try row.verifiedTime(of: numbers[place]))
      }
      count += numbers.count
    }
    self.hash = hash
    return count
  }
}

/// Random point reads by 16-byte string key through one pinned snapshot.
struct StringReads: WalkingWork {
  let snapshot: Snapshot
  let keys: [QuakeRows.CodeKey]
  var walk: Walk
  var hash: UInt64 = 0

  init(_ snapshot: Snapshot, _ keys: [QuakeRows.CodeKey]) {
    self.snapshot = snapshot
    self.keys = keys
    walk = Walk(through: keys.count)
  }

  mutating func turn() throws -> Int {
    let codes = try snapshot.loaded(KeyspaceName.codes)
    let range = walk.next()
    var hash = hash
    for index in range {
      let key = keys[index]
      let time = try codes.withValue(key.code) { row in try row.verifiedTime(of: key.number) }
      guard let time else { throw missingRow(key.number) }
      hash = fold(hash, time)
    }
    self.hash = hash
    return range.count
  }
}

/// Point reads that each take and release a snapshot.
struct SnapshotPerRead: WalkingWork {
  let store: Store
  let numbers: [Int64]
  var walk: Walk
  var hash: UInt64 = 0

  init(_ store: Store, _ numbers: [Int64]) {
    self.store = store
    self.numbers = numbers
    walk = Walk(through: numbers.count)
  }

  mutating func turn() throws -> Int {
    let range = walk.next()
    var hash = hash
    for index in range {
      let number = numbers[index]
      let time = try store.read { snapshot in
        try snapshot.keyspace(KeyspaceName.quakes)?.withValue(number) { row in
          try row.verifiedTime(of: number)
        }
      }
      guard let time else { throw missingRow(number) }
      hash = fold(hash, time)
    }
    self.hash = hash
    return range.count
  }
}

/// Full scans in key order through one pinned snapshot.
///
/// Each turn is one scan.
struct Scans: Work {
  let snapshot: Snapshot
  let rowCount: Int
  var operationsPerTurn: Int
  var hash: UInt64 = 0

  init(_ snapshot: Snapshot, rowCount: Int) {
    self.snapshot = snapshot
    self.rowCount = rowCount
    operationsPerTurn = rowCount
  }

  var warmUpTurnCount: Int { 1 }

  mutating func turn() throws -> Int {
    var hash = hash
    var count = 0
    try snapshot.loaded(KeyspaceName.quakes).forEach { key, value in
      hash = fold(hash, key.rowNumber &+ value.sum)
      count += 1
      return true
    }
    try requireAll(count, of: rowCount)
    self.hash = hash
    return count
  }
}

/// Throws an error unless a scan returned all rows.
func requireAll(_ count: Int, of rowCount: Int) throws {
  guard count == rowCount else {
    throw BenchFailure("A scan returned \(count.grouped) rows instead of \(rowCount.grouped).")
  }
}

extension RawSpan {
  /// The row number encoded in the key.
  ///
  /// The key consists of a type byte and eight bytes that sort like the number.
  @inline(__always)
  fileprivate var rowNumber: UInt64 { word(at: 1).byteSwapped &- 1 << 63 }
}
