import HeartwoodEngine

/// Random point reads by row number.
struct SQLiteIntegerReads: WalkingWork {
  let statement: SQLiteStatement
  let numbers: [Int64]
  var walk: Walk
  var hash: UInt64 = 0

  init(_ statement: SQLiteStatement, _ numbers: [Int64], from position: Int) {
    self.statement = statement
    self.numbers = numbers
    walk = Walk(through: numbers.count, from: position)
  }

  mutating func turn() throws -> Int {
    let range = walk.next()
    var hash = hash
    for index in range {
      let number = numbers[index]
      statement.bind(number, at: 1)
      guard try statement.step() else { throw missingRow(number) }
      hash = fold(hash, try statement.withBytes(0) { try $0.verifiedTime(of: number) })
      statement.reset()
    }
    self.hash = hash
    return range.count
  }
}

/// Random point reads by code.
struct SQLiteStringReads: WalkingWork {
  let statement: SQLiteStatement
  let keys: [QuakeRows.CodeKey]
  var walk: Walk
  var hash: UInt64 = 0

  init(_ statement: SQLiteStatement, _ keys: [QuakeRows.CodeKey]) {
    self.statement = statement
    self.keys = keys
    walk = Walk(through: keys.count)
  }

  mutating func turn() throws -> Int {
    let range = walk.next()
    var hash = hash
    for index in range {
      let key = keys[index]
      try statement.binding(key.code) {
        guard try statement.step() else { throw missingRow(key.number) }
        hash = fold(hash, try statement.withBytes(0) { try $0.verifiedTime(of: key.number) })
        statement.reset()
      }
    }
    self.hash = hash
    return range.count
  }
}

/// Full scans in the order of the row numbers.
///
/// Each turn is one scan.
struct SQLiteScans: Work {
  let statement: SQLiteStatement
  var operationsPerTurn: Int
  var hash: UInt64 = 0

  var warmUpTurnCount: Int { 1 }

  mutating func turn() throws -> Int {
    var hash = hash
    var count = 0
    while try statement.step() {
      let number = UInt64(bitPattern: statement.integer(0))
      hash = fold(hash, number &+ statement.withBytes(1) { $0.sum })
      count += 1
    }
    statement.reset()
    self.hash = hash
    return count
  }
}

/// Transactions that each overwrite one random row with new coordinates.
struct SQLiteCommits: Work {
  let writer: SQLiteWriter
  let durability: StoreOptions.Durability
  var row: ChangingRow
  var operationsPerTurn: Int
  var hash: UInt64 = 0

  init(_ writer: SQLiteWriter, _ durability: StoreOptions.Durability, _ row: ChangingRow) {
    self.writer = writer
    self.durability = durability
    self.row = row
    operationsPerTurn = durability.commitsPerTurn
  }

  var warmUpTurnCount: Int { durability.warmUpTurnCount }

  mutating func turn() throws -> Int {
    for _ in 0..<operationsPerTurn {
      let number = row.next()
      try writer.update(number, row.bytes.span, durability)
      hash = fold(hash, UInt64(bitPattern: number))
    }
    return operationsPerTurn
  }
}
