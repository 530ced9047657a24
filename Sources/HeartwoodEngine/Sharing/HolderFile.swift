/// The `holders` file, which names the processes that have a store open for writing.
///
/// A row is valid while its lock byte is held, so rows of dead processes are ignored. If the file
/// is damaged, names may be missing, but no error occurs. The file is therefore never synced.
package struct HolderFile: Sendable {
  private let log: LogFiles
  private let locks: StoreLocks

  package init(log: LogFiles, locks: StoreLocks) {
    self.log = log
    self.locks = locks
  }

  private var path: String { log.directory + "/holders" }
  private static let bytes =
    LockByte.holderRow..<LockByte.holderRow + UInt64(Limits.maxHolderRowCount)

  /// Locks the first free row and writes `row` to it.
  ///
  /// The method returns the lock byte of the row, or `nil` on failure.
  ///
  /// - Complexity: One lock call for each row up to the first free row, and one write.
  package func enter(_ row: HolderRow) -> UInt64? {
    guard let byte = Self.bytes.first(where: { (try? locks.tryLock(.exclusive, byte: $0)) == true })
    else { return nil }
    let block = row.encoded(seed: log.identity.seed)
    defer { block.keep() }
    if let file = try? log.fileSystem.open(path, .create),
      (try? file.write([block.bytes.bytes], at: Self.offset(of: byte))) != nil
    {
      return byte
    }
    try? locks.unlock(byte: byte)
    return nil
  }

  /// Returns the rows of all other processes that still have the store open.
  ///
  /// - Complexity: Two lock queries for each row, and one read.
  package func rows() -> [HolderRow] {
    guard let runs = try? locks.lockedElsewhere(in: Self.bytes), !runs.isEmpty,
      let file = try? log.fileSystem.open(path, .read)
    else { return [] }
    let block = ByteBlock(count: Limits.maxHolderRowCount * HolderLayout.rowByteCount)
    defer { block.keep() }
    guard let count = try? file.read(into: block.bytes, at: 0) else { return [] }
    return runs.flatMap { $0.map { $0 } }.compactMap { byte in
      let offset = Int(Self.offset(of: byte))
      guard offset + HolderLayout.rowByteCount <= count else { return nil }
      return HolderRow.decode(
        block.bytes.bytes.slice(offset, HolderLayout.rowByteCount), seed: log.identity.seed)
    }
  }

  /// Returns the name that `rows` contains for a process or, if there is none, the name of its
  /// program.
  ///
  /// The result is `nil` if neither name is known.
  package static func name(of process: Int32, among rows: [HolderRow]) -> String? {
    rows.first { $0.process == process }?.name
      ?? ProcessIdentity.program(of: process).map(VisibleText.of)
  }

  private static func offset(of byte: UInt64) -> UInt64 {
    (byte - LockByte.holderRow) * UInt64(HolderLayout.rowByteCount)
  }
}
