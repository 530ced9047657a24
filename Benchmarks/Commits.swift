import HeartwoodEngine

/// Transactions that each give one random row a new time.
struct Commits: Work {
  let store: Store
  let durability: StoreOptions.Durability
  let rowCount: Int
  /// The random row numbers and times of this thread.
  var random: RandomNumbers
  /// The row written last; each commit stamps it with another number and time.
  var row: [UInt8]
  /// The sum of the commits, for the hash of the run.
  var hash: UInt64 = 0

  init(_ store: Store, _ durability: StoreOptions.Durability, _ rows: QuakeRows, seed: UInt64) {
    self.store = store
    self.durability = durability
    rowCount = rows.count
    random = RandomNumbers(seed: seed)
    row = rows.row(0)
  }

  var warmUpTurnCount: Int { durability == .full ? 2 : 16 }

  /// Waiting for the disk makes a durable commit long enough to be a turn by itself.
  private var commitsPerTurn: Int { durability == .full ? 1 : 16 }

  mutating func turn() throws -> Int {
    for _ in 0..<commitsPerTurn {
      let number = Int64(random.next() % UInt64(rowCount))
      stamp(UInt64(bitPattern: number), at: 0)
      stamp(random.next() >> 20, at: QuakeRow.time)
      try store.write(durability: durability) { transaction in
        try transaction.keyspace(KeyspaceName.quakes).put(number, row)
      }
      hash = fold(hash, UInt64(bitPattern: number))
    }
    return commitsPerTurn
  }

  private mutating func stamp(_ word: UInt64, at offset: Int) {
    for byte in 0..<8 {
      row[offset + byte] = UInt8(truncatingIfNeeded: word >> UInt64(byte * 8))
    }
  }
}
