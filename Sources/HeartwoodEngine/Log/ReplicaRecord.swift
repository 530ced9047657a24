/// The layout of the `replica` file.
///
/// The message of the last error follows these fields. The message is encoded in UTF-8 and padded
/// with zeros to a multiple of 8 bytes.
package enum ReplicaLayout {
  package static let errorTime = Field("errorTime", at: 32, 8)
  package static let fields = [errorTime]
  package static let message = 40
}

/// The contents of the `replica` file, which marks a store as a replica.
///
/// The record contains the last error that occurred while the replica was being updated from its
/// backup.
package struct ReplicaRecord: Hashable, Sendable {
  /// The message of the last error, or an empty string if the last attempt succeeded.
  package var message = ""
  /// The time of the error, in milliseconds since 1970, or 0 if there was no error.
  package var errorTime: UInt64 = 0

  /// The `replica` file, whose magic number is "HEARTREP".
  package static let file = AtomicFile(
    "replica", magic: 0x5045_5254_5241_4548, advice: "Create the replica again.")
  /// The maximum length of the message in bytes.
  package static let maxMessageByteCount = 4096

  package init() {}

  package static func exists(
    in directory: String, _ fileSystem: any FileSystem
  ) throws(StorageError) -> Bool {
    try fileSystem.identity(of: directory + "/" + file.name) != nil
  }

  /// Reads the record, or returns `nil` if the store is not a replica.
  package static func read(_ log: LogFiles) throws(StorageError) -> ReplicaRecord? {
    func lengths(_ fields: Bytes) -> ClosedRange<UInt64> {
      let count = min(fields.load32(AtomicFileLayout.rowCount.offset), UInt32(maxMessageByteCount))
      let length = UInt64(byteCount(messageByteCount: Int(count)))
      return length...length
    }
    return try file.read(
      log, fieldByteCount: ReplicaLayout.message, lengths: lengths, decode: decode)
  }

  package func encoded(for identity: StoreIdentity) -> ByteBlock {
    let text = Array(message.utf8.prefix(Self.maxMessageByteCount))
    let block = ByteBlock(count: Self.byteCount(messageByteCount: text.count))
    block.bytes.store64(errorTime, ReplicaLayout.errorTime.offset)
    text.withBytes { block.bytes.copy($0, to: ReplicaLayout.message) }
    Self.file.stamp(block.bytes, rowCount: text.count, for: identity)
    return block
  }

  private static func byteCount(messageByteCount: Int) -> Int {
    ReplicaLayout.message + (messageByteCount + 7) / 8 * 8 + AtomicFileLayout.hashByteCount
  }

  package static func decode(
    _ bytes: Bytes, of identity: StoreIdentity
  ) throws(StorageError) -> ReplicaRecord {
    let count = try file.check(bytes, atLeast: ReplicaLayout.message, of: identity)
    guard count <= maxMessageByteCount, bytes.count == byteCount(messageByteCount: count) else {
      throw file.damaged("its length does not match the length of its message")
    }
    var record = ReplicaRecord()
    record.errorTime = bytes.load64(ReplicaLayout.errorTime.offset)
    let text = bytes.slice(ReplicaLayout.message, count).copied()
    record.message = String(decoding: text, as: UTF8.self)
    return record
  }
}
