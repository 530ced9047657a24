/// The common fields at the start of every ``AtomicFile``.
///
/// The common fields are followed by the file's other fields, its rows and a hash.
package enum AtomicFileLayout {
  package static let magic = Field("magic", at: 0, 8)
  package static let version = Field("version", at: 8, 4)
  package static let rowCount = Field("rowCount", at: 12, 4)
  package static let storeHigh = Field("storeHigh", at: 16, 8)
  package static let storeLow = Field("storeLow", at: 24, 8)
  package static let fields = [magic, version, rowCount, storeHigh, storeLow]
  package static let byteCount = 32
  package static let hashByteCount = 8
}

/// A small file that is replaced atomically: a reader finds either the old or the new contents.
package struct AtomicFile: Sendable {
  package let name: String
  package let magic: UInt64
  private let advice: String

  /// Creates a description of a file with the given name and magic number.
  ///
  /// - Parameter advice: A sentence that tells the user what to do if the file is corrupt.
  package init(_ name: String, magic: UInt64, advice: String) {
    self.name = name
    self.magic = magic
    self.advice = advice
  }

  /// Returns an error that reports damage in the file.
  ///
  /// - Parameter finding: A clause that describes the damage.
  package func damaged(_ finding: String) -> StorageError {
    .corrupt("The `\(name)` file is corrupt: \(finding). \(advice)", file: name)
  }

  /// Reads and decodes the file, or returns `nil` if it does not exist.
  ///
  /// Before it allocates memory for the file, this method checks that the length is valid and that
  /// the file does not consist mostly of holes.
  ///
  /// - Parameter lengths: A function that returns the range of valid lengths, in bytes, for a file
  ///   that starts with the given fields.
  package func read<Content>(
    _ log: LogFiles, fieldByteCount: Int, lengths: (Bytes) -> ClosedRange<UInt64>,
    decode: (Bytes, StoreIdentity) throws(StorageError) -> Content
  ) throws(StorageError) -> Content? {
    guard let file = try log.fileSystem.open(log.directory + "/" + name, .read) else { return nil }
    let count = try file.byteCount()
    try requireCredible(count, of: file, fieldByteCount, lengths)
    let block = ByteBlock(count: Int(count))
    defer { block.keep() }
    guard try file.read(into: block.bytes, at: 0) == block.bytes.count else {
      throw damaged("it was truncated while it was being read")
    }
    return try decode(block.bytes.bytes, log.identity)
  }

  private func requireCredible(
    _ count: UInt64, of file: any File, _ fieldByteCount: Int,
    _ lengths: (Bytes) -> ClosedRange<UInt64>
  ) throws(StorageError) {
    let fields = ByteBlock(count: fieldByteCount)
    defer { fields.keep() }
    let bytes = fields.bytes.bytes
    guard try file.read(into: fields.bytes, at: 0) == fieldByteCount,
      bytes.load64(AtomicFileLayout.magic.offset) == magic
    else { throw damaged("it is too short, or has the wrong signature") }
    // If the file has a different format version, do not interpret its fields, because their layout
    // is unknown. `check` rejects the file later.
    let isKnown = bytes.load32(AtomicFileLayout.version.offset) == 1
    guard isKnown ? lengths(bytes).contains(count) : count <= Self.plainByteCount else {
      throw damaged("the counts in the file do not match its length")
    }
    guard count > Self.plainByteCount else { return }
    if try file.allocatedByteCount() >= count / Self.compression { return }
    // Check the bytes, because the reported disk usage may be out of date: ZFS updates it only
    // seconds after a sync.
    guard try Self.isFilled(file, count) else {
      throw damaged("most of the file consists of holes")
    }
  }

  /// Returns whether, in each chunk of the file, at least one in ``compression`` blocks contains a
  /// nonzero byte.
  ///
  /// The method stops reading at the first chunk that fails this test.
  private static func isFilled(_ file: any File, _ count: UInt64) throws(StorageError) -> Bool {
    let block = ByteBlock(count: Int(plainByteCount))
    defer { block.keep() }
    var offset: UInt64 = 0
    while offset < count {
      let found = try file.read(into: block.bytes, at: offset)
      let starts = stride(from: 0, to: found, by: 4096)
      let filledCount = starts.count { start in
        block.bytes.bytes.slice(start, min(4096, found - start)).buffer.contains { $0 != 0 }
      }
      guard found > 0, filledCount * 4096 * Int(compression) >= found else { return false }
      offset += UInt64(found)
    }
    return true
  }

  /// The maximum length of a file that is read without a check for holes.
  private static let plainByteCount: UInt64 = 1 << 20
  /// The highest compression ratio that is expected of a file system.
  private static let compression: UInt64 = 64

  /// Writes the common fields to the start of the file, and the hash to the last eight bytes.
  package func stamp(_ target: MutableBytes, rowCount: Int, for identity: StoreIdentity) {
    typealias Layout = AtomicFileLayout
    target.store64(magic, Layout.magic.offset)
    target.store32(1, Layout.version.offset)
    target.store32(UInt32(rowCount), Layout.rowCount.offset)
    target.store64(identity.high, Layout.storeHigh.offset)
    target.store64(identity.low, Layout.storeLow.offset)
    let end = target.count - Layout.hashByteCount
    target.store64(XXH64.hash(target.bytes.slice(0, end), seed: identity.seed), end)
  }

  /// Checks the common fields and the hash.
  ///
  /// - Returns: The number of rows.
  /// - Throws: `corrupt` if the bytes are damaged or belong to another store, or
  ///   `incompatibleFormat` if a newer program wrote the file.
  package func check(
    _ bytes: Bytes, atLeast least: Int, of identity: StoreIdentity
  ) throws(StorageError) -> Int {
    typealias Layout = AtomicFileLayout
    let end = bytes.count - Layout.hashByteCount
    guard end >= least, bytes.load64(Layout.magic.offset) == magic,
      bytes.load64(end) == XXH64.hash(bytes.slice(0, end), seed: identity.seed)
    else { throw damaged("its contents do not match its hash") }
    let version = bytes.load32(Layout.version.offset)
    guard version == 1 else {
      throw StorageError(
        .incompatibleFormat,
        "The `\(name)` file has format version \(version), but this program supports only version "
          + "1. Open the store with a newer version of the program.", file: name)
    }
    guard bytes.load64(Layout.storeHigh.offset) == identity.high,
      bytes.load64(Layout.storeLow.offset) == identity.low
    else { throw damaged("it belongs to another store") }
    return Int(bytes.load32(Layout.rowCount.offset))
  }

  /// Durably replaces the contents of the file with the given bytes.
  ///
  /// - Throws: `diskFull` if the disk is full; the old contents then remain valid. Throws `io` if a
  ///   write or sync fails; the file then contains either the old or the new contents.
  /// - Complexity: One write, one sync, and one sync of the directory.
  package func replace(with block: ByteBlock, _ log: LogFiles) throws(StorageError) {
    let path = log.directory + "/" + name
    let file = try log.fileSystem.create(path + ".new")
    defer { block.keep() }
    if try file.byteCount() > 0 { try file.setByteCount(0) }
    try file.write([block.bytes.bytes], at: 0)
    try file.sync()
    try log.fileSystem.rename(path + ".new", to: path)
    try log.syncDirectory()
  }
}
