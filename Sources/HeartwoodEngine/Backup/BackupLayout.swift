/// The layout of a backup file's header.
///
/// The fields are followed by the names. Each name is preceded by its generation and its one-byte
/// length. Zeros pad the names to a multiple of 8 bytes. After the padding come the hash of all
/// previous bytes (seed 0), the page images in page order, and the digest. To compute the digest, 0
/// is hashed with the first image's hash, the result is hashed with the next image's hash, and so
/// on.
package enum BackupLayout {
  package static let magic = Field("magic", at: 0, 8)
  package static let version = Field("version", at: 8, 4)
  package static let pageByteCount = Field("pageByteCount", at: 12, 4)
  package static let framesPerSegment = Field("framesPerSegment", at: 16, 4)
  package static let footerFrames = Field("footerFrames", at: 20, 4)
  package static let storeHigh = Field("storeHigh", at: 24, 8)
  package static let storeLow = Field("storeLow", at: 32, 8)
  package static let series = Field("series", at: 40, 8)
  package static let baseFrame = Field("baseFrame", at: 48, 8)
  package static let baseDigest = Field("baseDigest", at: 56, 8)
  package static let baseLineage = Field("baseLineage", at: 64, 8)
  package static let frame = Field("frame", at: 72, 8)
  package static let digest = Field("digest", at: 80, 8)
  package static let lineage = Field("lineage", at: 88, 8)
  package static let time = Field("time", at: 96, 8)
  package static let pageCount = Field("pageCount", at: 104, 4)
  package static let imageCount = Field("imageCount", at: 108, 4)
  package static let lineageCount = Field("lineageCount", at: 112, 4)
  package static let nameByteCount = Field("nameByteCount", at: 116, 4)
  package static let lineages = Field("lineages", at: 120, 64 * 16)
  package static let fields = [
    magic, version, pageByteCount, framesPerSegment, footerFrames, storeHigh, storeLow, series,
    baseFrame, baseDigest, baseLineage, frame, digest, lineage, time, pageCount, imageCount,
    lineageCount, nameByteCount, lineages,
  ]
  package static let byteCount = 1144
  package static let digestByteCount = 8
  /// "HEARTBAK" as a little-endian number.
  package static let magicNumber: UInt64 = 0x4B41_4254_5241_4548
  package static let currentVersion: UInt32 = 1

  /// Returns the digest `before`, updated with the hash of one more image.
  package static func digest(_ before: UInt64, _ imageHash: UInt64) -> UInt64 {
    let block = ByteBlock(count: 16)
    defer { block.keep() }
    block.bytes.store64(before, 0)
    block.bytes.store64(imageHash, 8)
    return XXH64.hash(block.bytes.bytes, seed: 0)
  }
}

extension CommitPoint {
  /// Returns whether this commit is `point` or descends from it.
  ///
  /// - Parameter lineages: The lineages that ended before this commit.
  func descends(from point: CommitPoint, _ lineages: [EndedLineage]) -> Bool {
    guard point.frame <= frame else { return false }
    return point.lineage == lineage
      || lineages.contains { $0.lineage == point.lineage && $0.end >= point.frame }
  }
}

/// A commit that a backup file builds on.
package struct BackupStart: Hashable, Sendable {
  package let frame: FrameNumber
  package let digest: UInt64
  package let lineage: UInt64

  package init(frame: FrameNumber, digest: UInt64, lineage: UInt64) {
    (self.frame, self.digest, self.lineage) = (frame, digest, lineage)
  }

  package init(_ point: CommitPoint) {
    self.init(frame: point.frame, digest: point.digest, lineage: point.lineage)
  }
}
