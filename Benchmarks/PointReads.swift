import HeartwoodEngine

/// Rows read in one turn of a thread.
private let readsPerTurn = 1024

/// Random point reads by row number through one pinned snapshot.
struct IntegerReads: Work {
  let snapshot: Snapshot
  let numbers: [Int64]
  /// Where in `numbers` this thread goes on.
  var position: Int
  var hash: UInt64 = 0

  var warmUpTurnCount: Int { (numbers.count + readsPerTurn - 1) / readsPerTurn }

  mutating func turn() throws -> Int {
    let quakes = try snapshot.loaded(KeyspaceName.quakes)
    let end = min(position + readsPerTurn, numbers.count)
    var hash = hash
    for index in position..<end {
      let number = numbers[index]
      let time = try quakes.withValue(number) { row in try row.verifiedTime(of: number) }
      guard let time else { throw missingRow(number) }
      hash = fold(hash, time)
    }
    self.hash = hash
    defer { position = end == numbers.count ? 0 : end }
    return end - position
  }
}

/// Random point reads by row number through one pinned snapshot, several in one call.
struct IntegerReadsTogether: Work {
  let snapshot: Snapshot
  /// The numbers of each call.
  let calls: [[Int64]]
  var position = 0
  var hash: UInt64 = 0

  private static let readsPerCall = 64
  private static let callsPerTurn = readsPerTurn / readsPerCall

  init(snapshot: Snapshot, _ numbers: [Int64]) {
    self.snapshot = snapshot
    calls = stride(from: 0, to: numbers.count, by: Self.readsPerCall).map { start in
      Array(numbers[start..<min(start + Self.readsPerCall, numbers.count)])
    }
  }

  var warmUpTurnCount: Int { (calls.count + Self.callsPerTurn - 1) / Self.callsPerTurn }

  mutating func turn() throws -> Int {
    let quakes = try snapshot.loaded(KeyspaceName.quakes)
    let end = min(position + Self.callsPerTurn, calls.count)
    var hash = hash
    var count = 0
    for index in position..<end {
      let numbers = calls[index]
      try quakes.getMany(numbers) { place, row in
        guard let row else { throw missingRow(numbers[place]) }
        hash = fold(hash, try row.verifiedTime(of: numbers[place]))
      }
      count += numbers.count
    }
    self.hash = hash
    position = end == calls.count ? 0 : end
    return count
  }
}

/// Random point reads by 16-byte string key through one pinned snapshot.
struct StringReads: Work {
  let snapshot: Snapshot
  let keys: [QuakeRows.CodeKey]
  var position = 0
  var hash: UInt64 = 0

  var warmUpTurnCount: Int { (keys.count + readsPerTurn - 1) / readsPerTurn }

  mutating func turn() throws -> Int {
    let codes = try snapshot.loaded(KeyspaceName.codes)
    let end = min(position + readsPerTurn, keys.count)
    var hash = hash
    for index in position..<end {
      let key = keys[index]
      let time = try codes.withValue(key.code) { row in try row.verifiedTime(of: key.number) }
      guard let time else { throw missingRow(key.number) }
      hash = fold(hash, time)
    }
    self.hash = hash
    defer { position = end == keys.count ? 0 : end }
    return end - position
  }
}

/// Point reads that each begin and end a read of their own.
struct BeginGetEnd: Work {
  let store: Store
  let numbers: [Int64]
  var position = 0
  var hash: UInt64 = 0

  var warmUpTurnCount: Int { (numbers.count + readsPerTurn - 1) / readsPerTurn }

  mutating func turn() throws -> Int {
    let end = min(position + readsPerTurn, numbers.count)
    var hash = hash
    for index in position..<end {
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
    defer { position = end == numbers.count ? 0 : end }
    return end - position
  }
}

@inline(never)
private func missingRow(_ number: Int64) -> BenchFailure {
  BenchFailure("Row \(number) was loaded but a read does not find it.")
}
