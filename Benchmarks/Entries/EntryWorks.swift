/// Random point reads in which every entry is equally likely.
struct EntryReads<Reader: EntryReader>: Work {
  let reader: Reader
  let entryCount: Int
  var maker: EntryMaker
  var random: RandomNumbers
  var operationsPerTurn = 64
  var hash: UInt64 = 0

  init(_ reader: Reader, entryCount: Int, _ maker: EntryMaker, seed: UInt64) {
    self.reader = reader
    self.entryCount = entryCount
    self.maker = maker
    random = RandomNumbers(seed: seed)
  }

  var warmUpTurnCount: Int { 64 }

  mutating func turn() throws -> Int {
    var hash = hash
    for _ in 0..<operationsPerTurn {
      let number = Int(random.next() % UInt64(entryCount))
      hash = try reader.read(number, &maker, into: hash)
    }
    self.hash = hash
    return operationsPerTurn
  }
}

/// Transactions that each replace one random entry.
///
/// The transactions are not synced.
struct EntryCommits: Work {
  let store: any EntryStore
  let entryCount: Int
  var maker: EntryMaker
  var random: RandomNumbers
  var operationsPerTurn = 16
  var hash: UInt64 = 0

  init(_ store: any EntryStore, entryCount: Int, _ maker: EntryMaker, seed: UInt64) {
    self.store = store
    self.entryCount = entryCount
    self.maker = maker
    random = RandomNumbers(seed: seed)
  }

  var warmUpTurnCount: Int { 4 }

  mutating func turn() throws -> Int {
    for _ in 0..<operationsPerTurn {
      let number = Int(random.next() % UInt64(entryCount))
      maker.make(number, version: random.next())
      try store.put(maker.key, maker.value.span.bytes, isDurable: false)
      hash = fold(hash, UInt64(number))
    }
    return operationsPerTurn
  }
}

extension EntryReader {
  /// Reads and checks an entry, and folds it into a hash.
  @inline(__always)
  func read(_ number: Int, _ maker: inout EntryMaker, into hash: UInt64) throws -> UInt64 {
    maker.makeKey(of: number)
    var hash = hash
    let isFound = try withValue(maker.key) { [maker] value in
      hash = try maker.fold(value, of: number, into: hash)
    }
    guard isFound else {
      throw BenchFailure("Entry \(number) was written, but a read did not find it.")
    }
    return hash
  }

  /// Reads up to `count` entries in key order, beginning at an entry, and folds the beginnings of
  /// their values into a hash.
  func scan(
    from number: Int, count: Int, _ maker: inout EntryMaker, into hash: UInt64
  ) throws -> UInt64 {
    maker.makeKey(of: number)
    var hash = hash
    try forEach(from: maker.key, count: count) { hash = fold(hash, $0.word(at: 0)) }
    return hash
  }
}
