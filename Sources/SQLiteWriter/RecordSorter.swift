/// A sorter that sorts records in memory if they fit, and in a temporary file otherwise.
///
/// When memory runs short, the sorter sorts the records in memory and writes them to its file as a
/// run. At the end, the sorter merges all runs. The sorter reads each run through a 16 KiB
/// buffer, which grows to the size of the run's longest record if necessary. To limit the number of
/// buffers, the sorter merges ``fanIn`` runs of about the same size into one run.
///
/// The temporary file has no name, and is removed when the sorter is released. The file needs about
/// as much space as the records. Every merge except the final one writes its runs to the file
/// again, and so needs additional space.
final class RecordSorter {
  static let fanIn = 64

  /// The number of values by which records are sorted.
  private let keyCount: Int
  private let memory: SortMemory
  private let path: String
  private var file: RunFile?
  private var waiting = WaitingRecords()
  /// The runs in the file.
  ///
  /// Element n contains the runs that have been merged n times.
  private var runs: [[Range<Int>]] = []

  /// Creates a sorter.
  ///
  /// - Parameters:
  ///   - keyCount: The number of values by which records are sorted.
  ///   - path: The path of the database. The temporary file is created in the same directory.
  init(keyCount: Int, _ memory: SortMemory, near path: String) {
    self.keyCount = keyCount
    self.memory = memory
    self.path = path
    memory.add(self)
  }

  /// The number of bytes that the waiting records occupy in memory.
  var byteCount: Int { waiting.byteCount }

  /// Adds a record that contains the given columns of a row.
  ///
  /// - Parameter columns: The positions of the values in the row, or -1 for the rowid.
  func append(
    _ row: borrowing SQLiteRow, _ columns: [Int], rowid: Int64
  ) throws(SQLiteWriterError) {
    let byteCount = waiting.byteCount
    waiting.append(row, columns, rowid: rowid)
    try memory.take(waiting.byteCount - byteCount)
  }

  /// Writes the waiting records to the file as a run, and releases their memory.
  func spill() throws(SQLiteWriterError) {
    guard waiting.byteCount > 0 else { return }
    waiting.sort(keyCount: keyCount)
    let file = try openFile()
    let start = file.byteCount
    for entry in waiting.entries { try file.append(waiting.bytes[waiting.range(of: entry)]) }
    try file.flush()
    waiting = WaitingRecords()
    try add(start..<file.byteCount, level: 0)
  }

  /// Ends the input, and returns the records in sorted order.
  func finish() throws(SQLiteWriterError) -> SortedRecords {
    memory.remove(self)
    guard let file else {
      waiting.sort(keyCount: keyCount)
      defer { waiting = WaitingRecords() }
      return SortedRecords(bytes: waiting.bytes, offsets: waiting.entries.map { $0.offset + 4 })
    }
    try spill()
    defer {
      // Release the file, so that only the merge keeps it open.
      self.file = nil
      runs = []
    }
    return SortedRecords(try RunMerge(runs.flatMap { $0 }, in: file, keyCount: keyCount))
  }

  private func add(_ run: Range<Int>, level: Int) throws(SQLiteWriterError) {
    if level == runs.count { runs.append([]) }
    runs[level].append(run)
    guard runs[level].count == Self.fanIn else { return }
    let file = try openFile()
    let start = file.byteCount
    var merge = try RunMerge(runs[level], in: file, keyCount: keyCount)
    runs[level] = []
    while try merge.moveToNext() { try file.append(record: merge.record) }
    try file.flush()
    try add(start..<file.byteCount, level: level + 1)
  }

  private func openFile() throws(SQLiteWriterError) -> RunFile {
    if let file { return file }
    let opened = RunFile(try SQLiteSystemFile.temporary(near: path))
    file = opened
    return opened
  }
}
