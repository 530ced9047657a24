/// The layout of a segment header.
///
/// The header occupies slot 0 of its segment, and is padded with zeros.
///
/// The hash, computed with seed 0, covers the preceding 72 bytes.
package enum SegmentLayout {
  package static let magic = Field("magic", at: 0, 8)
  package static let version = Field("version", at: 8, 4)
  package static let pageByteCount = Field("pageByteCount", at: 12, 4)
  package static let framesPerSegment = Field("framesPerSegment", at: 16, 4)
  package static let footerFrames = Field("footerFrames", at: 20, 4)
  package static let storeHigh = Field("storeHigh", at: 24, 8)
  package static let storeLow = Field("storeLow", at: 32, 8)
  package static let lineage = Field("lineage", at: 40, 8)
  package static let firstFrame = Field("firstFrame", at: 48, 8)
  package static let time = Field("time", at: 56, 8)
  package static let reserved = Field("reserved", at: 64, 8)
  package static let hash = Field("hash", at: 72, 8)
  package static let fields = [
    magic, version, pageByteCount, framesPerSegment, footerFrames, storeHigh, storeLow, lineage,
    firstFrame, time, reserved, hash,
  ]
  package static let byteCount = 80
  /// "HEARTLOG" as a little-endian number.
  package static let magicNumber: UInt64 = 0x474F_4C54_5241_4548
}

package struct SegmentHeader: Hashable, Sendable {
  package let geometry: Geometry
  package let identity: StoreIdentity
  package let lineage: UInt64
  package let firstFrame: FrameNumber
  package let time: UInt64

  package func encode(to target: MutableBytes) {
    typealias Layout = SegmentLayout
    target.clear(0, Layout.byteCount)
    target.store64(Layout.magicNumber, Layout.magic.offset)
    target.store32(HeaderSlotLayout.currentVersion, Layout.version.offset)
    target.store32(UInt32(geometry.pageByteCount), Layout.pageByteCount.offset)
    target.store32(UInt32(geometry.framesPerSegment), Layout.framesPerSegment.offset)
    target.store32(UInt32(geometry.footerFrames), Layout.footerFrames.offset)
    target.store64(identity.high, Layout.storeHigh.offset)
    target.store64(identity.low, Layout.storeLow.offset)
    target.store64(lineage, Layout.lineage.offset)
    target.store64(firstFrame, Layout.firstFrame.offset)
    target.store64(time, Layout.time.offset)
    let hash = XXH64.hash(target.bytes.slice(0, Layout.hash.offset), seed: 0)
    target.store64(hash, Layout.hash.offset)
  }

  package static func decode(_ bytes: Bytes) -> SegmentHeader? {
    typealias Layout = SegmentLayout
    guard bytes.count >= Layout.byteCount,
      bytes.load64(Layout.magic.offset) == Layout.magicNumber,
      bytes.load32(Layout.version.offset) == HeaderSlotLayout.currentVersion,
      XXH64.hash(bytes.slice(0, Layout.hash.offset), seed: 0) == bytes.load64(Layout.hash.offset),
      let geometry = Geometry(
        pageByteCount: Int(bytes.load32(Layout.pageByteCount.offset)),
        framesPerSegment: Int(bytes.load32(Layout.framesPerSegment.offset)),
        footerFrames: Int(bytes.load32(Layout.footerFrames.offset)))
    else { return nil }
    return SegmentHeader(
      geometry: geometry,
      identity: StoreIdentity(
        high: bytes.load64(Layout.storeHigh.offset), low: bytes.load64(Layout.storeLow.offset)),
      lineage: bytes.load64(Layout.lineage.offset),
      firstFrame: bytes.load64(Layout.firstFrame.offset), time: bytes.load64(Layout.time.offset))
  }
}
