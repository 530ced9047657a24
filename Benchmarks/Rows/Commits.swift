import HeartwoodEngine

/// Transactions that each overwrite one random row with new coordinates.
struct Commits: Work {
  let store: Store
  let durability: StoreOptions.Durability
  var row: ChangingRow
  /// The number of commits in a turn.
  ///
  /// Each durable commit is a separate turn. A durable commit waits for the disk, and therefore
  /// takes long enough to be timed individually.
  var operationsPerTurn: Int
  /// A hash of the numbers of the changed rows.
  var hash: UInt64 = 0

  init(_ store: Store, _ durability: StoreOptions.Durability, _ row: ChangingRow) {
    self.store = store
    self.durability = durability
    self.row = row
    operationsPerTurn = durability.commitsPerTurn
  }

  var warmUpTurnCount: Int { durability.warmUpTurnCount }

  mutating func turn() throws -> Int {
    for _ in 0..<operationsPerTurn {
      let number = row.next()
      try store.write(durability: durability) { transaction in
        try transaction.keyspace(KeyspaceName.quakes).put(number, row.bytes)
      }
      hash = fold(hash, UInt64(bitPattern: number))
    }
    return operationsPerTurn
  }
}

extension StoreOptions.Durability {
  var commitsPerTurn: Int { self == .full ? 1 : 16 }
  var warmUpTurnCount: Int { self == .full ? 2 : 16 }
}
