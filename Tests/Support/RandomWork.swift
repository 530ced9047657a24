package import HeartwoodEngine

extension SeededGenerator {
  /// Returns options with a random page size, segment size and checkpoint threshold.
  package mutating func storeOptions() -> StoreOptions {
    var options = StoreOptions()
    options.pageByteCount = [4096, 4096, 8192][below(3)]
    options.segmentByteCount = options.pageByteCount << (4 + below(3))
    options.checkpointLogByteCount = options.segmentByteCount * below(4)
    return options
  }
}

extension Store {
  /// Inserts, changes and deletes random entries in three keyspaces.
  package func writeAtRandom(_ generator: inout SeededGenerator) throws {
    var random = generator.forked()
    try write(durability: random.isTrue(in256: 128) ? .full : .normal) { transaction in
      let keyspace = try transaction.keyspace("k\(random.below(3))")
      for _ in 0..<(1 + random.below(20)) {
        let key = random.below(300)
        if random.isTrue(in256: 60) {
          try keyspace.delete(key)
        } else {
          try keyspace.put(key, random.bytes(random.isTrue(in256: 20) ? 30_000 : random.below(600)))
        }
      }
      if random.isTrue(in256: 10) { try transaction.removeKeyspace("k\(random.below(3))") }
    }
  }
}
