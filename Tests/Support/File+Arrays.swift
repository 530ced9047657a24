package import HeartwoodEngine

extension File {
  package func write(_ bytes: [UInt8], at offset: UInt64) throws(StorageError) {
    try bytes.withBytes { (bytes) throws(StorageError) in try write([bytes], at: offset) }
  }

  /// Reads up to `byteCount` bytes in one call.
  package func bytes(at offset: UInt64, _ byteCount: Int) throws(StorageError) -> [UInt8] {
    let block = ByteBlock(count: byteCount)
    let count = try read(into: block.bytes, at: offset)
    return block.bytes.bytes.slice(0, count).copied()
  }

  package func allBytes() throws(StorageError) -> [UInt8] {
    try bytes(at: 0, Int(try byteCount()))
  }
}
