/// The mixes of operations in the six workloads of the Yahoo! Cloud Serving Benchmark.
enum YCSBMix: Sendable {
  case updateHeavy, readMostly, readOnly, readLatest, shortRanges, readModifyWrite

  /// The share of operations that only read.
  fileprivate var readShare: Double {
    switch self {
    case .updateHeavy, .readModifyWrite: 0.5
    case .readMostly, .readLatest, .shortRanges: 0.95
    case .readOnly: 1
    }
  }

  /// The distance between the first entry numbers inserted by two successive workloads.
  ///
  /// This gap ensures that each workload inserts new entries.
  static let insertGap = 1 << 32

  init?(_ workload: Workload) {
    switch workload {
    case .ycsbA: self = .updateHeavy
    case .ycsbB: self = .readMostly
    case .ycsbC: self = .readOnly
    case .ycsbD: self = .readLatest
    case .ycsbE: self = .shortRanges
    case .ycsbF: self = .readModifyWrite
    default: return nil
    }
  }
}

/// The operations of one YCSB workload on one thread.
///
/// The ten fields of a record are stored as one value. An update replaces the complete value. Reads
/// return the newest state, and commits are not synced.
struct YCSBWork<Reader: EntryReader>: Work {
  let store: any EntryStore
  let reader: Reader
  let mix: YCSBMix
  let zipf: Zipf
  /// The number of records that were loaded.
  let entryCount: Int
  /// The number of the first record to insert.
  let firstInserted: Int
  /// The number of records inserted so far by this work.
  var insertedCount = 0
  var maker: EntryMaker
  var random: RandomNumbers
  var operationsPerTurn = 16
  var hash: UInt64 = 0

  private static var mostScanned: UInt64 { 100 }

  init(
    _ store: any EntryStore, _ reader: Reader, _ mix: YCSBMix, _ zipf: Zipf, entryCount: Int,
    insertsFrom firstInserted: Int, _ maker: EntryMaker, seed: UInt64
  ) {
    self.store = store
    self.reader = reader
    self.mix = mix
    self.zipf = zipf
    self.entryCount = entryCount
    self.firstInserted = firstInserted
    self.maker = maker
    random = RandomNumbers(seed: seed)
  }

  var warmUpTurnCount: Int { 16 }

  mutating func turn() throws -> Int {
    for _ in 0..<operationsPerTurn {
      let isRead = random.fraction() < mix.readShare
      let rank = zipf.next(&random)
      switch (mix, isRead) {
      case (.readLatest, true):
        hash = try reader.read(latest(rank), &maker, into: hash)
      case (.shortRanges, true):
        let count = Int(random.next() % Self.mostScanned) + 1
        hash = try reader.scan(from: rank, count: count, &maker, into: hash)
      case (.readLatest, false), (.shortRanges, false):
        try put(firstInserted + insertedCount)
        insertedCount += 1
      case (.readModifyWrite, false):
        hash = try reader.read(rank, &maker, into: hash)
        try put(rank)
      case (_, true): hash = try reader.read(rank, &maker, into: hash)
      case (_, false): try put(rank)
      }
    }
    return operationsPerTurn
  }

  /// Returns the number of the record that was inserted `rank` records before the last one.
  private func latest(_ rank: Int) -> Int {
    rank < insertedCount
      ? firstInserted + insertedCount - 1 - rank : entryCount - 1 - (rank - insertedCount)
  }

  private mutating func put(_ number: Int) throws {
    maker.make(number, version: random.next())
    try store.put(maker.key, maker.value.span.bytes, isDurable: false)
  }
}
