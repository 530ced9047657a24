/// What every file that is replaced as a whole begins with; behind its rows follows a hash.
package enum WholeFileLayout {
  package static let magic = Field("magic", at: 0, 8)
  package static let version = Field("version", at: 8, 4)
  package static let rowCount = Field("rowCount", at: 12, 4)
  package static let storeHigh = Field("storeHigh", at: 16, 8)
  package static let storeLow = Field("storeLow", at: 24, 8)
  package static let fields = [magic, version, rowCount, storeHigh, storeLow]
  package static let byteCount = 32
  package static let hashByteCount = 8
}

/// A small file of a store that is replaced as a whole: at any moment the old one or the new one is
/// there.
package struct WholeFile: Sendable {
  package let name: String
  package let magic: UInt64
  private let advice: String

  /// - Parameters:
  ///   - magic: The first eight bytes, as a little-endian number.
  ///   - advice: What to do about a damaged one, a sentence.
  package init(_ name: String, magic: UInt64, advice: String) {
    self.name = name
    self.magic = magic
    self.advice = advice
  }

  package func damaged(_ message: String) -> StorageError {
    .corrupt(message + " " + advice, file: name)
  }

  /// All bytes of the file, or `nil` if there is none.
  ///
  /// Memory is taken only for a length that the first bytes account for, and not for a file that is
  /// mostly holes: no store writes one.
  ///
  /// - Parameters:
  ///   - fieldByteCount: Bytes of the fields in front of the rows.
  ///   - lengths: The lengths that such fields allow.
  package func read(
    _ log: LogFiles, fieldByteCount: Int, lengths: (Bytes) -> ClosedRange<UInt64>
  ) throws(StorageError) -> ByteBlock? {
    guard let file = try log.fileSystem.open(log.directory + "/" + name, .read) else { return nil }
    let count = try file.byteCount()
    try requireCredible(count, of: file, fieldByteCount, lengths)
    let block = ByteBlock(count: Int(count))
    guard try file.read(into: block.bytes, at: 0) == block.bytes.count else {
      throw damaged("The file became shorter while it was read.")
    }
    return block
  }

  private func requireCredible(
    _ count: UInt64, of file: any File, _ fieldByteCount: Int,
    _ lengths: (Bytes) -> ClosedRange<UInt64>
  ) throws(StorageError) {
    let fields = ByteBlock(count: fieldByteCount)
    defer { fields.keep() }
    let bytes = fields.bytes.bytes
    guard try file.read(into: fields.bytes, at: 0) == fieldByteCount,
      bytes.load64(WholeFileLayout.magic.offset) == magic
    else { throw damaged("The file does not begin as it should.") }
    // What another version's fields say is not known; its hash is looked at all the same.
    let isKnown = bytes.load32(WholeFileLayout.version.offset) == 1
    guard isKnown ? lengths(bytes).contains(count) : count <= Self.plainByteCount else {
      throw damaged("The counts of the file do not fit its length.")
    }
    guard count > Self.plainByteCount else { return }
    guard try file.allocatedByteCount() >= count / Self.compression else {
      throw damaged("The file is mostly holes.")
    }
  }

  /// Files up to this length are read as they are.
  private static let plainByteCount: UInt64 = 1 << 20
  /// A file system that compresses makes rows no smaller than by this factor.
  private static let compression: UInt64 = 64

  /// Writes what stands around the rows: the first fields, and the hash in the last eight bytes.
  package func seal(_ target: MutableBytes, rowCount: Int, for identity: StoreIdentity) {
    typealias Layout = WholeFileLayout
    target.store64(magic, Layout.magic.offset)
    target.store32(1, Layout.version.offset)
    target.store32(UInt32(rowCount), Layout.rowCount.offset)
    target.store64(identity.high, Layout.storeHigh.offset)
    target.store64(identity.low, Layout.storeLow.offset)
    let end = target.count - Layout.hashByteCount
    target.store64(XXH64.hash(target.bytes.slice(0, end), seed: identity.seed), end)
  }

  /// Checks what stands around the rows, and returns how many there are.
  ///
  /// - Parameter least: Bytes of the fields in front of the rows.
  /// - Throws: `corrupt` if the bytes are not what was sealed; `incompatibleFormat` if they are,
  ///   by a newer program.
  package func check(
    _ bytes: Bytes, atLeast least: Int, of identity: StoreIdentity
  ) throws(StorageError) -> Int {
    typealias Layout = WholeFileLayout
    let end = bytes.count - Layout.hashByteCount
    guard end >= least, bytes.load64(Layout.magic.offset) == magic,
      bytes.load64(end) == XXH64.hash(bytes.slice(0, end), seed: identity.seed)
    else { throw damaged("The bytes of the file do not match its hash.") }
    let version = bytes.load32(Layout.version.offset)
    guard version == 1 else {
      throw StorageError(
        .incompatibleFormat,
        "The file has version \(version); this program knows version 1. Open the store with a "
          + "newer program.", file: name)
    }
    guard bytes.load64(Layout.storeHigh.offset) == identity.high,
      bytes.load64(Layout.storeLow.offset) == identity.low
    else { throw damaged("The file belongs to another store.") }
    return Int(bytes.load32(Layout.rowCount.offset))
  }

  /// Puts these bytes in the place of the file; durable when this returns.
  ///
  /// - Throws: `full`, and then the old file is still the one that counts; `io`, and then either
  ///   may.
  /// - Complexity: One write, one sync, one sync of the folder.
  package func replace(with block: ByteBlock, _ log: LogFiles) throws(StorageError) {
    let path = log.directory + "/" + name
    guard let file = try log.fileSystem.open(path + ".new", .create) else {
      throw StorageError(.io, "The file vanished while it was made.", file: path)
    }
    defer { block.keep() }
    if try file.byteCount() > 0 { try file.setByteCount(0) }
    try file.write([block.bytes.bytes], at: 0)
    try file.sync()
    try log.fileSystem.rename(path + ".new", to: path)
    try log.syncDirectory()
  }
}
