import HeartwoodEngine

/// Random point reads by row number.
struct RocksDBIntegerReads: WalkingWork {
  let reader: RocksDBReader
  let numbers: [Int64]
  var walk: Walk
  var key = RocksDBRowKey(0)
  var hash: UInt64 = 0

  init(_ reader: RocksDBReader, _ numbers: [Int64], from position: Int) {
    self.reader = reader
    self.numbers = numbers
    walk = Walk(through: numbers.count, from: position)
  }

  mutating func turn() throws -> Int {
    let range = walk.next()
    var hash = hash
    for index in range {
      let number = numbers[index]
      key.set(number)
      let time = try reader.withRow(key.bytes) { try $0.verifiedTime(of: number) }
      guard let time else { throw missingRow(number) }
      hash = fold(hash, time)
    }
    self.hash = hash
    return range.count
  }
}

/// Random point reads by code.
struct RocksDBStringReads: WalkingWork {
  let reader: RocksDBReader
  let keys: [QuakeRows.CodeKey]
  var walk: Walk
  var key: RocksDBRowKey
  var hash: UInt64 = 0

  init(_ reader: RocksDBReader, _ keys: [QuakeRows.CodeKey]) {
    self.reader = reader
    self.keys = keys
    walk = Walk(through: keys.count)
    key = RocksDBRowKey(keys.first?.code ?? "")
  }

  mutating func turn() throws -> Int {
    let range = walk.next()
    var hash = hash
    for index in range {
      let number = keys[index].number
      key.set(keys[index].code)
      let time = try reader.withRow(key.bytes) { try $0.verifiedTime(of: number) }
      guard let time else { throw missingRow(number) }
      hash = fold(hash, time)
    }
    self.hash = hash
    return range.count
  }
}

/// Full scans in the order of the row numbers.
///
/// Each turn is one scan.
struct RocksDBScans: Work {
  let reader: RocksDBReader
  var operationsPerTurn: Int
  var hash: UInt64 = 0

  var warmUpTurnCount: Int { 1 }

  mutating func turn() throws -> Int {
    var hash = hash
    var count = 0
    try reader.forEach(from: RocksDBRowKey(0).bytes) { key, row in
      guard key.byteCount == 9 else { return false }
      hash = fold(hash, key.word(at: 1).byteSwapped &+ row.sum)
      count += 1
      return true
    }
    self.hash = hash
    return count
  }
}

/// Writes that each overwrite one random row with new coordinates.
struct RocksDBCommits: Work {
  let database: RocksDBDatabase
  let durability: StoreOptions.Durability
  var row: ChangingRow
  var key = RocksDBRowKey(0)
  var operationsPerTurn: Int
  var hash: UInt64 = 0

  init(
    _ database: RocksDBDatabase, _ durability: StoreOptions.Durability, _ row: ChangingRow
  ) {
    self.database = database
    self.durability = durability
    self.row = row
    operationsPerTurn = durability.commitsPerTurn
  }

  var warmUpTurnCount: Int { durability.warmUpTurnCount }

  mutating func turn() throws -> Int {
    for _ in 0..<operationsPerTurn {
      let number = row.next()
      key.set(number)
      try database.put(key.bytes, row.bytes.span.bytes, isDurable: durability == .full)
      hash = fold(hash, UInt64(bitPattern: number))
    }
    return operationsPerTurn
  }
}
