import HeartwoodEngine

/// Full scans in key order through one pinned snapshot: a turn is one pass over all rows.
struct Scans: Work {
  let snapshot: Snapshot
  let rowCount: Int
  var hash: UInt64 = 0

  var warmUpTurnCount: Int { 1 }

  mutating func turn() throws -> Int {
    var hash = hash
    var count = 0
    try snapshot.loaded(KeyspaceName.quakes).forEach { key, value in
      hash = fold(hash, key.sum &+ value.sum)
      count += 1
      return true
    }
    guard count == rowCount else {
      throw BenchFailure("A scan brought \(count.grouped) rows, not \(rowCount.grouped).")
    }
    self.hash = hash
    return count
  }
}

extension RawSpan {
  /// The sum of all bytes, eight at a time: touches each of them for about a cycle a word.
  @inline(__always)
  fileprivate var sum: UInt64 {
    var sum: UInt64 = 0
    var offset = 0
    while offset + 8 <= byteCount {
      sum &+= unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    while offset < byteCount {
      sum &+= UInt64(unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self))
      offset += 1
    }
    return sum
  }
}
