/// The range of keys in a leaf.
struct KeyInterval {
  let page: PageNumber
  /// The frame in the leaf's header, which indicates how old the leaf is.
  let frame: FrameNumber
  let first: [UInt8]
  let last: [UInt8]

  /// Creates the interval from the first to the last key of a leaf, or returns `nil` if the leaf is
  /// empty or damaged.
  init?(of page: PageNumber, in pages: SalvagePages) throws(StorageError) {
    guard let record = pages.record(page) else { return nil }
    let block = ByteBlock(count: SearchKey.maxByteCount, alignment: 16)
    defer { block.keep() }
    let keys = try pages.withNode(page) {
      node throws(StorageError) -> (first: [UInt8], last: [UInt8])? in
      guard node.count > 0 else { return nil }
      let first = node.copyKey(0, to: block.bytes).copied()
      return (first, node.copyKey(node.count - 1, to: block.bytes).copied())
    }
    guard let keys, let keys else { return nil }
    self.page = page
    frame = record.frame
    (first, last) = keys
  }

  /// Selects intervals that do not overlap, preferring newer ones, and returns them in key order.
  ///
  /// The result omits any interval that overlaps a newer interval in the result.
  static func newest(of intervals: [KeyInterval]) -> [KeyInterval] {
    var accepted: [KeyInterval] = []
    for interval in intervals.sorted(by: { $0.frame > $1.frame }) {
      // Find the first accepted interval that does not end before this one begins.
      var (low, high) = (0, accepted.count)
      while low < high {
        let middle = (low + high) / 2
        let isBefore = accepted[middle].last.precedes(interval.first)
        if isBefore { low = middle + 1 } else { high = middle }
      }
      guard low == accepted.count || interval.last.precedes(accepted[low].first) else { continue }
      accepted.insert(interval, at: low)
    }
    return accepted
  }
}
