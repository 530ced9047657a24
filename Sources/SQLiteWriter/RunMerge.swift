/// A temporary file to which sorted runs of records are appended.
///
/// A 4-byte length precedes each record.
final class RunFile {
  fileprivate let file: SQLiteSystemFile
  private var pending: [UInt8] = []
  private var writtenByteCount = 0
  private static let batchByteCount = 256 << 10

  init(_ file: SQLiteSystemFile) { self.file = file }

  /// The number of bytes appended so far.
  var byteCount: Int { writtenByteCount + pending.count }

  /// Appends a record that is already preceded by its length.
  func append(_ entry: ArraySlice<UInt8>) throws(SQLiteWriterError) {
    pending.append(contentsOf: entry)
    if pending.count >= Self.batchByteCount { try flush() }
  }

  /// Appends a record.
  func append(record: [UInt8]) throws(SQLiteWriterError) {
    pending.appendBigEndian(UInt64(record.count), byteCount: 4)
    try append(record[...])
  }

  /// Writes the buffered bytes to the file, so that they can be read.
  func flush() throws(SQLiteWriterError) {
    try file.write(pending, at: writtenByteCount)
    writtenByteCount += pending.count
    pending.removeAll(keepingCapacity: pending.count <= 2 * Self.batchByteCount)
  }
}

/// The records of several sorted runs, merged into one sequence.
struct RunMerge {
  /// The record at the current position.
  private(set) var record: [UInt8] = []
  private let keyCount: Int
  private var runs: [RunReader] = []
  /// A binary heap with the indexes of the runs that still have records.
  ///
  /// The run with the smallest record is first.
  private var heap: [Int] = []
  private var isStarted = false

  init(
    _ ranges: [Range<Int>], in file: RunFile, keyCount: Int
  ) throws(SQLiteWriterError) {
    self.keyCount = keyCount
    for range in ranges {
      var run = RunReader(range, in: file)
      guard try run.moveToNext() else { continue }
      heap.append(runs.count)
      runs.append(run)
    }
    for position in (0..<heap.count / 2).reversed() { siftDown(from: position) }
  }

  /// Moves to the next record.
  ///
  /// - Returns: Whether there is another record.
  mutating func moveToNext() throws(SQLiteWriterError) -> Bool {
    if isStarted, let first = heap.first {
      if !(try runs[first].moveToNext()) {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
      }
      siftDown(from: 0)
    }
    isStarted = true
    guard let first = heap.first else { return false }
    record.removeAll(keepingCapacity: true)
    record.append(contentsOf: runs[first].record)
    return true
  }

  private mutating func siftDown(from start: Int) {
    var parent = start
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < heap.count && isOrdered(heap[child], heap[least]) {
        least = child
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }

  private func isOrdered(_ left: Int, _ right: Int) -> Bool {
    if runs[left].head != runs[right].head { return runs[left].head < runs[right].head }
    return RecordOrder.compare(
      runs[left].buffer, at: runs[left].start, runs[right].buffer, at: runs[right].start,
      count: keyCount) < 0
  }
}

/// A reader for the records of a run, in order.
private struct RunReader {
  private let file: RunFile
  /// The part of the run that has not been read yet, as a range of offsets in the file.
  private var rest: Range<Int>
  private(set) var buffer: [UInt8] = []
  /// The position of the current record in the buffer.
  private(set) var start = 0
  private var end = 0
  private(set) var head: UInt64 = 0
  private static let bufferByteCount = 16 << 10

  init(_ range: Range<Int>, in file: RunFile) {
    self.file = file
    rest = range
  }

  var record: ArraySlice<UInt8> { buffer[start..<end] }

  /// Moves to the next record.
  ///
  /// - Returns: Whether there is another record.
  mutating func moveToNext() throws(SQLiteWriterError) -> Bool {
    start = end
    guard start < buffer.count || !rest.isEmpty else { return false }
    try load(4)
    let byteCount = buffer.length(at: start)
    try load(4 + byteCount)
    start += 4
    end = start + byteCount
    head = RecordOrder.head(of: buffer, at: start)
    return true
  }

  /// Ensures that the buffer contains at least `byteCount` bytes from `start` onwards.
  private mutating func load(_ byteCount: Int) throws(SQLiteWriterError) {
    guard buffer.count - start < byteCount else { return }
    buffer.removeFirst(start)
    start = 0
    let loaded = buffer.count
    let count = min(max(Self.bufferByteCount, byteCount) - loaded, rest.count)
    buffer.appendZeros(count)
    try file.file.read(into: &buffer, at: loaded, from: rest.lowerBound, count: count)
    rest = (rest.lowerBound + count)..<rest.upperBound
  }
}

/// Records in sorted order, either from memory or from a merge.
struct SortedRecords {
  private var merge: RunMerge?
  private var bytes: [UInt8] = []
  /// The positions of the records in ``bytes``.
  ///
  /// The length of each record is stored in the 4 bytes before the record.
  private var offsets: [Int] = []
  private var position = 0
  /// The record at the current position.
  private(set) var record: [UInt8] = []

  init(_ merge: RunMerge) { self.merge = merge }

  init(bytes: [UInt8], offsets: [Int]) {
    self.bytes = bytes
    self.offsets = offsets
  }

  /// Moves to the next record.
  ///
  /// - Returns: Whether there is another record.
  mutating func moveToNext() throws(SQLiteWriterError) -> Bool {
    record.removeAll(keepingCapacity: true)
    if let isValid = try merge?.moveToNext() {
      if isValid { record.append(contentsOf: merge?.record ?? []) }
      return isValid
    }
    guard position < offsets.count else { return false }
    let start = offsets[position]
    position += 1
    let byteCount = bytes.length(at: start - 4)
    record.append(contentsOf: bytes[start..<(start + byteCount)])
    return true
  }
}
