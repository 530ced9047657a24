/// A small file of a store that is replaced as a whole: at any moment the old one or the new one is
/// there.
package enum WholeFile {
  /// All bytes of the file, or `nil` if there is none.
  package static func read(
    _ name: String, _ log: LogFiles
  ) throws(StorageError) -> ByteBlock? {
    guard let file = try log.fileSystem.open(log.directory + "/" + name, .read) else { return nil }
    let count = try file.byteCount()
    guard count < 1 << 34 else {
      throw .corrupt("The file is longer than any store can make it.", file: name)
    }
    let block = ByteBlock(count: Int(count))
    guard try file.read(into: block.bytes, at: 0) == block.bytes.count else {
      throw .corrupt("The file became shorter while it was read.", file: name)
    }
    return block
  }

  /// Puts these bytes in the place of the file; durable when this returns.
  ///
  /// - Throws: `full`, and then the old file is still the one that counts; `io`, and then either
  ///   may.
  /// - Complexity: One write, one sync, one sync of the folder.
  package static func replace(
    _ name: String, with block: ByteBlock, _ log: LogFiles
  ) throws(StorageError) {
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

  /// Tells a newer version from damage; the hash was right.
  package static func requireVersion(_ version: UInt32, _ name: String) throws(StorageError) {
    guard version == 1 else {
      throw StorageError(
        .incompatibleFormat,
        "The file has version \(version); this program knows version 1. Open the store with a "
          + "newer program.", file: name)
    }
  }
}
