/// The pages of a file that is being written, in page order.
///
/// A page receives its number when it is complete. The file can therefore be written sequentially
/// in large batches, even if several b-trees grow at the same time. Page 1 is written last.
final class PageOutput {
  private let file: SQLiteSystemFile
  private var pending: [UInt8] = []
  /// The number of the first page in ``pending``.
  private var firstPending: UInt32 = 2
  private var next: UInt32 = 2
  private static let batchByteCount = 1 << 20

  /// Creates the output for a new file, beginning with page 2.
  init(_ file: SQLiteSystemFile) throws(SQLiteWriterError) {
    self.file = file
    pending.reserveCapacity(Self.batchByteCount + SQLiteFormat.pageByteCount)
    // Fill page 1 with zeros for now, so that SQLite rejects the file until it is complete.
    do {
      try file.write([UInt8](repeating: 0, count: SQLiteFormat.pageByteCount), at: 0)
    } catch {
      discard()
      throw error
    }
  }

  /// The number of pages assigned so far, including page 1.
  var pageCount: UInt32 { next - 1 }

  /// Appends a page of a b-tree, and returns its page number.
  func append(_ node: TreeNode, rightChild: UInt32 = 0) throws(SQLiteWriterError) -> UInt32 {
    let page = try beginPage()
    node.append(to: &pending, rightChild: rightChild)
    try endPage()
    return page
  }

  /// Appends overflow pages that contain the bytes of `payload` from `start` onwards, and returns
  /// the number of the first page.
  ///
  /// Each overflow page begins with the number of the next overflow page, and the last page begins
  /// with 0. See <https://www.sqlite.org/fileformat2.html>, § 1.7.
  func appendOverflow(
    _ payload: [UInt8], from start: Int
  ) throws(SQLiteWriterError) -> UInt32 {
    var first: UInt32 = 0
    var position = start
    while position < payload.count {
      let page = try beginPage()
      if first == 0 { first = page }
      let end = min(position + SQLiteFormat.overflowByteCount, payload.count)
      let following = end == payload.count ? 0 : Self.usablePage(from: page + 1)
      pending.appendBigEndian(UInt64(following), byteCount: 4)
      pending.append(contentsOf: payload[position..<end])
      pending.appendZeros(SQLiteFormat.overflowByteCount - (end - position))
      try endPage()
      position = end
    }
    return first
  }

  /// Writes page 1 after all other pages, and makes the file durable.
  func finish(firstPage: [UInt8]) throws(SQLiteWriterError) {
    try flush()
    // Sync the other pages first, so that a file with a valid page 1 is complete even after a power
    // cut.
    try file.sync()
    try file.write(firstPage, at: 0)
    try file.sync()
    try file.syncName()
  }

  /// Removes the incomplete file, ignoring failures.
  func discard() { try? file.remove() }

  private func beginPage() throws(SQLiteWriterError) -> UInt32 {
    if next == SQLiteFormat.lockBytePage {
      pending.appendZeros(SQLiteFormat.pageByteCount)
      try endPage()
    }
    guard next <= SQLiteFormat.maximumPage else {
      throw SQLiteWriterError(
        .tooLarge,
        "The file is too large. SQLite supports at most \(SQLiteFormat.maximumPage) pages of "
          + "\(SQLiteFormat.pageByteCount) bytes. Write fewer rows.")
    }
    return next
  }

  private func endPage() throws(SQLiteWriterError) {
    next += 1
    if pending.count >= Self.batchByteCount { try flush() }
  }

  private func flush() throws(SQLiteWriterError) {
    try file.write(pending, at: Int(firstPending - 1) * SQLiteFormat.pageByteCount)
    firstPending = next
    pending.removeAll(keepingCapacity: true)
  }

  /// Returns `page`, or the next page number if SQLite reserves `page` for locks.
  private static func usablePage(from page: UInt32) -> UInt32 {
    page == SQLiteFormat.lockBytePage ? page + 1 : page
  }
}
