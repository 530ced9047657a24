/// Records in memory that are waiting to be sorted.
struct WaitingRecords {
  /// The position and the head of a record.
  struct Entry {
    /// The number that is compared first when entries are sorted; see ``RecordOrder/head(of:at:)``.
    fileprivate(set) var head: UInt64
    /// The position, in ``WaitingRecords/bytes``, of the record's length.
    let offset: Int
  }

  /// The records, each preceded by its 4-byte length.
  private(set) var bytes: [UInt8] = []
  private(set) var entries: [Entry] = []

  /// The number of bytes in use by the records and the entries.
  @inline(__always)
  var byteCount: Int { bytes.count + entries.count * MemoryLayout<Entry>.stride }

  /// Returns the range in ``bytes`` that a record and its length occupy.
  func range(of entry: Entry) -> Range<Int> {
    entry.offset..<(entry.offset + 4 + bytes.length(at: entry.offset))
  }

  /// Adds a record that contains the given columns of a row.
  ///
  /// - Parameter columns: The positions of the values in the row, or -1 for the rowid.
  mutating func append(_ row: borrowing SQLiteRow, _ columns: [Int], rowid: Int64) {
    var typesByteCount = 0
    var bodyByteCount = 0
    let rowidType = SQLiteSerialType.integer(rowid)
    for column in columns {
      let type = column < 0 ? rowidType : row.serialTypes[column]
      typesByteCount += SQLiteFormat.varintByteCount(type)
      bodyByteCount += SQLiteSerialType.byteCount(of: type)
    }
    let headerByteCount = SQLiteFormat.recordHeaderByteCount(typesByteCount: typesByteCount)
    let offset = bytes.count
    bytes.appendBigEndian(UInt64(headerByteCount + bodyByteCount), byteCount: 4)
    bytes.appendVarint(UInt64(headerByteCount))
    for column in columns {
      bytes.appendVarint(column < 0 ? rowidType : row.serialTypes[column])
    }
    for column in columns {
      if column < 0 {
        bytes.appendBigEndian(
          UInt64(bitPattern: rowid), byteCount: SQLiteSerialType.byteCount(of: rowidType))
      } else {
        bytes.append(contentsOf: row.body[row.range(of: column)])
      }
    }
    entries.append(Entry(head: RecordOrder.head(of: bytes, at: offset + 4), offset: offset))
  }

  /// Sorts the entries by the first `keyCount` values of their records.
  ///
  /// Afterwards, the heads of the entries are undefined.
  mutating func sort(keyCount: Int) {
    entries.sort { $0.head < $1.head }
    refine(0..<entries.count, wordIndex: 0, keyCount: keyCount)
  }

  /// Sorts the entries of each group with equal heads.
  ///
  /// Text values often share a prefix, and comparing records that are scattered in memory is slow.
  /// In a large group, the next 8 bytes of each text value therefore become the head of its entry,
  /// and the group is sorted again.
  private mutating func refine(_ range: Range<Int>, wordIndex: Int, keyCount: Int) {
    var start = range.lowerBound
    while start < range.upperBound {
      let head = entries[start].head
      var end = start + 1
      while end < range.upperBound, entries[end].head == head { end += 1 }
      let group = start..<end
      start = end
      guard group.count > 1 else { continue }
      if group.count >= Self.minimumGroupCount, wordIndex < Self.maximumWordCount,
        loadWords(group, wordIndex)
      {
        entries[group].sort { $0.head < $1.head }
        refine(group, wordIndex: wordIndex + 1, keyCount: keyCount)
      } else {
        sortByComparing(group, keyCount: keyCount)
      }
    }
  }

  private mutating func sortByComparing(_ group: Range<Int>, keyCount: Int) {
    let bytes = self.bytes
    func isOrdered(_ left: Entry, _ right: Entry) -> Bool {
      RecordOrder.compare(
        bytes, at: left.offset + 4, bytes, at: right.offset + 4, count: keyCount) < 0
    }
    guard group.count < Self.minimumGroupCount else {
      entries[group].sort(by: isOrdered)
      return
    }
    // Use insertion sort, because `sort` would copy the slice, and the copy would take longer than
    // the sorting itself.
    for position in group.dropFirst() {
      var current = position
      while current > group.lowerBound, isOrdered(entries[current], entries[current - 1]) {
        entries.swapAt(current, current - 1)
        current -= 1
      }
    }
  }

  /// Sets the head of each entry in a group to the 8-byte word at `wordIndex` in the entry's text.
  ///
  /// - Returns: `false` if any text is too short to contain that word; otherwise, `true`.
  private mutating func loadWords(_ group: Range<Int>, _ wordIndex: Int) -> Bool {
    for position in group {
      let offset = entries[position].offset
      guard let word = RecordOrder.word(wordIndex, of: bytes, at: offset + 4) else { return false }
      entries[position].head = word
    }
    return true
  }

  /// The minimum size of a group for which words are loaded.
  ///
  /// In smaller groups, comparing the records is faster.
  private static let minimumGroupCount = 16
  /// The maximum depth of the recursion.
  ///
  /// If text values have more leading words in common, their records are compared instead.
  private static let maximumWordCount = 16
}
