/// The layout of a group header, which is the frame before a group of page images.
///
///     0      8       16     20     24     28       32       40            48        56
///     ┌──────┬───────┬──────┬──────┬──────┬────────┬────────┬─────────────┬─────────┬──────┐
///     │ hash │ frame │magic │bytes │flags │ordinal │lineage │ transaction │previous │ base │
///     └──────┴───────┴──────┴──────┴──────┴────────┴────────┴─────────────┴─────────┴──────┘
///     64            72         76         80        84        88     96
///     ┌─────────────┬──────────┬──────────┬─────────┬─────────┬──────┬──────────────────────┐
///     │ durableUpTo │pageCount │imageCount│voidCount│reserved │ time │ hashes, voids, pages │
///     └─────────────┴──────────┴──────────┴─────────┴─────────┴──────┴──────────────────────┘
///
/// The fixed fields are followed by an 8-byte hash for each image, 16 bytes (first frame, last
/// frame) for each void range, and a 4-byte page number for each image. The hash, seeded with the
/// store's identity, covers the bytes from offset 8 up to the offset in `bytes`. This hash is also
/// the digest of the group. Because `previous` contains the preceding group's digest, the digest
/// depends on every earlier group.
package enum GroupLayout {
  package static let hash = Field("hash", at: 0, 8)
  package static let frame = Field("frame", at: 8, 8)
  package static let magic = Field("magic", at: 16, 4)
  package static let byteCount = Field("bytes", at: 20, 4)
  package static let flags = Field("flags", at: 24, 4)
  package static let ordinal = Field("ordinal", at: 28, 4)
  package static let lineage = Field("lineage", at: 32, 8)
  package static let transaction = Field("transaction", at: 40, 8)
  package static let previous = Field("previous", at: 48, 8)
  package static let base = Field("base", at: 56, 8)
  package static let durableUpTo = Field("durableUpTo", at: 64, 8)
  package static let pageCount = Field("pageCount", at: 72, 4)
  package static let imageCount = Field("imageCount", at: 76, 4)
  package static let voidCount = Field("voidCount", at: 80, 4)
  package static let reserved = Field("reserved", at: 84, 4)
  package static let time = Field("time", at: 88, 8)
  package static let fields = [
    hash, frame, magic, byteCount, flags, ordinal, lineage, transaction, previous, base,
    durableUpTo, pageCount, imageCount, voidCount, reserved, time,
  ]
  package static let entries = 96
  /// "HWGR" as a little-endian number.
  package static let magicNumber: UInt32 = 0x5247_5748
  /// The flag that marks the last group of a transaction.
  ///
  /// A group with this flag commits all groups of the transaction.
  package static let commitMark: UInt32 = 1

  /// Returns the maximum number of images that a header without void ranges can describe.
  package static func maxImageCount(pageByteCount: Int) -> Int { (pageByteCount - entries) / 12 }

  /// Returns the number of void ranges that fit in the header of a group with `imageCount` images.
  package static func maxVoidCount(pageByteCount: Int, imageCount: Int) -> Int {
    (pageByteCount - entries - imageCount * 12) / 16
  }
}

/// A range of frames that a transaction wrote after a savepoint and then rolled back.
package struct VoidRange: Hashable, Sendable {
  package let first: FrameNumber
  package let last: FrameNumber

  package init(first: FrameNumber, last: FrameNumber) {
    self.first = first
    self.last = last
  }

  /// Returns the ranges in ascending order, with overlapping and adjacent ranges merged.
  ///
  /// Ranges that are separated only by header and footer slots are treated as adjacent.
  package static func coalesced(_ ranges: [VoidRange], _ geometry: Geometry) -> [VoidRange] {
    var result: [VoidRange] = []
    for range in ranges.sorted(by: { $0.first < $1.first }) {
      if let before = result.last, range.first <= geometry.next(after: before.last) {
        result[result.count - 1] = VoidRange(
          first: before.first, last: max(before.last, range.last))
      } else {
        result.append(range)
      }
    }
    return result
  }
}

package struct GroupHeader: Hashable, Sendable {
  package struct Image: Hashable, Sendable {
    package let page: PageNumber
    package let hash: UInt64
  }

  /// The header fields that are used only in the last group of a transaction.
  package struct Commit: Hashable, Sendable {
    package let pageCount: PageNumber
    package let time: UInt64
  }

  package var frame: FrameNumber
  package var ordinal: UInt32
  package var lineage: UInt64
  package var transaction: UInt64
  package var previous: UInt64
  package var base: FrameNumber
  package var durableUpTo: FrameNumber
  /// The commit fields, or `nil` if this is not the last group of its transaction.
  package var commit: Commit?
  package var images: [Image]
  package var voids: [VoidRange]

  /// Writes the header into a zeroed frame, and returns the digest of the group.
  package func encode(to target: MutableBytes, seed: UInt64) -> UInt64 {
    typealias Layout = GroupLayout
    let end = Layout.entries + images.count * 12 + voids.count * 16
    target.store64(frame, Layout.frame.offset)
    target.store32(Layout.magicNumber, Layout.magic.offset)
    target.store32(UInt32(end), Layout.byteCount.offset)
    target.store32(commit == nil ? 0 : Layout.commitMark, Layout.flags.offset)
    target.store32(ordinal, Layout.ordinal.offset)
    target.store64(lineage, Layout.lineage.offset)
    target.store64(transaction, Layout.transaction.offset)
    target.store64(previous, Layout.previous.offset)
    target.store64(base, Layout.base.offset)
    target.store64(durableUpTo, Layout.durableUpTo.offset)
    target.store32(commit?.pageCount ?? 0, Layout.pageCount.offset)
    target.store32(UInt32(images.count), Layout.imageCount.offset)
    target.store32(UInt32(voids.count), Layout.voidCount.offset)
    target.store64(commit?.time ?? 0, Layout.time.offset)
    var offset = Layout.entries
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
    let digest = XXH64.hash(target.bytes.slice(8, end - 8), seed: seed)
    target.store64(digest, Layout.hash.offset)
    return digest
  }

  /// Decodes a header and its digest, or returns `nil` if `frame` contains no intact header.
  package static func decode(
    _ bytes: Bytes, at frame: FrameNumber, seed: UInt64
  ) -> (header: GroupHeader, digest: UInt64)? {
    typealias Layout = GroupLayout
    guard bytes.count >= Layout.entries,
      bytes.load32(Layout.magic.offset) == Layout.magicNumber,
      bytes.load64(Layout.frame.offset) == frame
    else { return nil }
    let end = Int(bytes.load32(Layout.byteCount.offset))
    let imageCount = Int(bytes.load32(Layout.imageCount.offset))
    let voidCount = Int(bytes.load32(Layout.voidCount.offset))
    let digest = bytes.load64(Layout.hash.offset)
    guard end <= bytes.count, end == Layout.entries + imageCount * 12 + voidCount * 16,
      XXH64.hash(bytes.slice(8, end - 8), seed: seed) == digest
    else { return nil }
    let voidStart = Layout.entries + imageCount * 8
    let pageStart = voidStart + voidCount * 16
    let flags = bytes.load32(Layout.flags.offset)
    let header = GroupHeader(
      frame: frame, ordinal: bytes.load32(Layout.ordinal.offset),
      lineage: bytes.load64(Layout.lineage.offset),
      transaction: bytes.load64(Layout.transaction.offset),
      previous: bytes.load64(Layout.previous.offset), base: bytes.load64(Layout.base.offset),
      durableUpTo: bytes.load64(Layout.durableUpTo.offset),
      commit: flags & Layout.commitMark == 0
        ? nil
        : Commit(
          pageCount: bytes.load32(Layout.pageCount.offset),
          time: bytes.load64(Layout.time.offset)),
      images: (0..<imageCount).map {
        Image(page: bytes.load32(pageStart + $0 * 4), hash: bytes.load64(Layout.entries + $0 * 8))
      },
      voids: (0..<voidCount).map {
        VoidRange(
          first: bytes.load64(voidStart + $0 * 16), last: bytes.load64(voidStart + $0 * 16 + 8))
      })
    return (header, digest)
  }
}
