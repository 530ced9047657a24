import HeartwoodEngine

/// Random point reads by row number.
struct LMDBIntegerReads: WalkingWork {
  let reader: LMDBReader
  let numbers: [Int64]
  var walk: Walk
  var hash: UInt64 = 0

  init(_ reader: LMDBReader, _ numbers: [Int64], from position: Int) {
    self.reader = reader
    self.numbers = numbers
    walk = Walk(through: numbers.count, from: position)
  }

  mutating func turn() throws -> Int {
    let range = walk.next()
    let (library, database) = (reader.environment.library, reader.environment.quakes)
    let transaction = reader.transaction
    var hash = hash
    for index in range {
      let number = numbers[index]
      let time = try library.withRow(number, database, transaction) { row in
        try row.verifiedTime(of: number)
      }
      guard let time else { throw missingRow(number) }
      hash = fold(hash, time)
    }
    self.hash = hash
    return range.count
  }
}

/// Point reads.
///
/// Each read first renews the read transaction, so that it returns the newest state.
struct LMDBSnapshotPerRead: WalkingWork {
  let reader: LMDBReader
  let numbers: [Int64]
  var walk: Walk
  var hash: UInt64 = 0

  init(_ reader: LMDBReader, _ numbers: [Int64]) {
    self.reader = reader
    self.numbers = numbers
    walk = Walk(through: numbers.count)
    reader.environment.library.reset(reader.transaction)
  }

  mutating func turn() throws -> Int {
    let range = walk.next()
    let (library, database) = (reader.environment.library, reader.environment.quakes)
    let transaction = reader.transaction
    var hash = hash
    for index in range {
      let number = numbers[index]
      try library.check(library.renew(transaction))
      let time = try library.withRow(number, database, transaction) { row in
        try row.verifiedTime(of: number)
      }
      library.reset(transaction)
      guard let time else { throw missingRow(number) }
      hash = fold(hash, time)
    }
    self.hash = hash
    return range.count
  }
}

/// Random point reads by code.
struct LMDBStringReads: WalkingWork {
  let reader: LMDBReader
  let keys: [QuakeRows.CodeKey]
  var walk: Walk
  var hash: UInt64 = 0

  init(_ reader: LMDBReader, _ keys: [QuakeRows.CodeKey]) {
    self.reader = reader
    self.keys = keys
    walk = Walk(through: keys.count)
  }

  mutating func turn() throws -> Int {
    let range = walk.next()
    let (library, database) = (reader.environment.library, reader.environment.codes)
    let transaction = reader.transaction
    var hash = hash
    for index in range {
      let key = keys[index]
      let time = try library.withRow(key.code, database, transaction) { row in
        try row.verifiedTime(of: key.number)
      }
      guard let time else { throw missingRow(key.number) }
      hash = fold(hash, time)
    }
    self.hash = hash
    return range.count
  }
}

/// Full scans in the order of the row numbers.
///
/// Each turn is one scan.
struct LMDBScans: Work {
  let reader: LMDBReader
  var operationsPerTurn: Int
  var hash: UInt64 = 0

  var warmUpTurnCount: Int { 1 }

  mutating func turn() throws -> Int {
    var hash = hash
    var count = 0
    let environment = reader.environment
    try environment.library.forEach(environment.quakes, reader.transaction) { key, row in
      hash = fold(hash, key.word(at: 0) &+ row.sum)
      count += 1
    }
    self.hash = hash
    return count
  }
}

/// Transactions that each overwrite one random row with new coordinates.
struct LMDBCommits: Work {
  let environment: LMDBEnvironment
  let durability: StoreOptions.Durability
  var row: ChangingRow
  var operationsPerTurn: Int
  var hash: UInt64 = 0

  init(_ environment: LMDBEnvironment, _ durability: StoreOptions.Durability, _ row: ChangingRow) {
    self.environment = environment
    self.durability = durability
    self.row = row
    operationsPerTurn = durability.commitsPerTurn
  }

  var warmUpTurnCount: Int { durability.warmUpTurnCount }

  mutating func turn() throws -> Int {
    for _ in 0..<operationsPerTurn {
      let number = row.next()
      try environment.write(isDurable: durability == .full) { transaction in
        try environment.library.put(number, row.bytes.span, environment.quakes, transaction)
      }
      hash = fold(hash, UInt64(bitPattern: number))
    }
    return operationsPerTurn
  }
}
