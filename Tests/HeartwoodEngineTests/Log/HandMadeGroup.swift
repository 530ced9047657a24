import HeartwoodEngine

/// A group header that is written field by field from the tables of the file format.
///
/// This type uses no code of the engine. Tests can therefore write headers that the engine never
/// writes, and check the headers that the engine writes.
struct HandMadeGroup {
  var frame: FrameNumber
  var ordinal: UInt32 = 0
  var lineage: UInt64 = 7
  var transaction: UInt64 = 4711
  var previous: UInt64 = 0
  var base: FrameNumber
  var durableUpTo: FrameNumber = 0
  var isCommit = true
  var pageCount: PageNumber = 9
  var time: UInt64 = 1_750_000_000_000
  var images: [(page: PageNumber, hash: UInt64)] = []
  var voids: [(first: FrameNumber, last: FrameNumber)] = []

  /// Returns the bytes of the complete frame.
  func bytes(pageByteCount: Int, seed: UInt64) -> [UInt8] {
    let block = ByteBlock(count: pageByteCount)
    defer { block.keep() }
    let target = block.bytes
    let end = 96 + images.count * 12 + voids.count * 16
    target.store64(frame, 8)
    target.store32(0x5247_5748, 16)
    target.store32(UInt32(end), 20)
    target.store32(isCommit ? 1 : 0, 24)
    target.store32(ordinal, 28)
    target.store64(lineage, 32)
    target.store64(transaction, 40)
    target.store64(previous, 48)
    target.store64(base, 56)
    target.store64(durableUpTo, 64)
    target.store32(isCommit ? pageCount : 0, 72)
    target.store32(UInt32(images.count), 76)
    target.store32(UInt32(voids.count), 80)
    target.store64(isCommit ? time : 0, 88)
    var offset = 96
    for image in images {
      target.store64(image.hash, offset)
      offset += 8
    }
    for range in voids {
      target.store64(range.first, offset)
      target.store64(range.last, offset + 8)
      offset += 16
    }
    for image in images {
      target.store32(image.page, offset)
      offset += 4
    }
    target.store64(XXH64.hash(target.bytes.slice(8, end - 8), seed: seed), 0)
    return target.bytes.copied()
  }

  /// Returns the digest of a frame, which consists of its first eight bytes.
  static func digest(of bytes: [UInt8]) -> UInt64 { bytes.withBytes { $0.load64(0) } }
}
