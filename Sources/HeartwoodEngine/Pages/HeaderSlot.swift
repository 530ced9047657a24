/// The layout of a header slot in the page file.
///
/// Two slots are written alternately, so that one of them is always intact. The hash, computed with
/// seed 0, covers the preceding 4,088 bytes.
package enum HeaderSlotLayout {
  package static let magic = Field("magic", at: 0, 8)
  package static let version = Field("version", at: 8, 4)
  package static let features = Field("features", at: 12, 4)
  package static let pageByteCount = Field("pageByteCount", at: 16, 4)
  package static let framesPerSegment = Field("framesPerSegment", at: 20, 4)
  package static let footerFrames = Field("footerFrames", at: 24, 4)
  package static let lineageCount = Field("lineageCount", at: 28, 4)
  package static let storeHigh = Field("storeHigh", at: 32, 8)
  package static let storeLow = Field("storeLow", at: 40, 8)
  package static let sequence = Field("sequence", at: 48, 8)
  package static let checkpointed = Field("checkpointed", at: 56, 8)
  package static let digest = Field("digest", at: 64, 8)
  package static let lineage = Field("lineage", at: 72, 8)
  package static let durableUpTo = Field("durableUpTo", at: 80, 8)
  package static let time = Field("time", at: 88, 8)
  package static let pageCount = Field("pageCount", at: 96, 4)
  package static let reserved = Field("reserved", at: 100, 4)
  package static let lineages = Field("lineages", at: 104, 64 * 16)
  package static let hash = Field("hash", at: 4088, 8)
  package static let fields = [
    magic, version, features, pageByteCount, framesPerSegment, footerFrames, lineageCount,
    storeHigh, storeLow, sequence, checkpointed, digest, lineage, durableUpTo, time, pageCount,
    reserved, lineages, hash,
  ]
  package static let byteCount = 4096
  package static let offsets: [UInt64] = [0, 65_536]
  /// "HEARTWD1" as a little-endian number.
  package static let magicNumber: UInt64 = 0x3144_5754_5241_4548
  package static let currentVersion: UInt32 = 1
  /// The largest sequence number, which no store ever reaches.
  package static let maxSequence: UInt64 = 1 << 62
}

/// The identity of a store.
///
/// The identity is stored in the store's page file and in every log segment.
package struct StoreIdentity: Hashable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The seed for page and frame hashes.
  ///
  /// Each store has a different seed, so that a page from another store fails verification.
  package var seed: UInt64 { low }
}

/// The point in the log where a commit ends, together with the values that the next commit needs.
package struct CommitPoint: Hashable, Sendable {
  /// The number of the commit's last frame, which is also the commit's generation.
  package var frame: FrameNumber
  /// The digest of the commit's last group.
  package var digest: UInt64
  package var lineage: UInt64
  /// The number of pages in the page file after the commit, including free pages.
  package var pageCount: PageNumber
  /// The time of the commit, in milliseconds since 1970.
  package var time: UInt64

  package init(
    frame: FrameNumber, digest: UInt64, lineage: UInt64, pageCount: PageNumber, time: UInt64
  ) {
    self.frame = frame
    self.digest = digest
    self.lineage = lineage
    self.pageCount = pageCount
    self.time = time
  }

  package static let empty = CommitPoint(frame: 0, digest: 0, lineage: 0, pageCount: 0, time: 0)
}

/// A lineage that has ended, and its last generation.
package struct EndedLineage: Hashable, Sendable {
  package let lineage: UInt64
  package let end: FrameNumber

  package init(lineage: UInt64, end: FrameNumber) {
    self.lineage = lineage
    self.end = end
  }
}

extension [EndedLineage] {
  /// Creates an array of ended lineages from its encoded form.
  ///
  /// Each lineage is stored as two 64-bit numbers: the lineage number and the lineage's last
  /// generation.
  package init(_ bytes: Bytes, at offset: Int, count: Int) {
    self = (0..<count).map { position in
      EndedLineage(
        lineage: bytes.load64(offset + position * 16),
        end: bytes.load64(offset + position * 16 + 8))
    }
  }

  package func store(to target: MutableBytes, at offset: Int) {
    for (position, ended) in enumerated() {
      target.store64(ended.lineage, offset + position * 16)
      target.store64(ended.end, offset + position * 16 + 8)
    }
  }
}

/// The contents of a header slot.
///
/// The slot describes the state of the page file and the generation that is known to be synced.
package struct HeaderSlot: Hashable, Sendable {
  package var geometry: Geometry
  package var identity: StoreIdentity
  package var sequence: UInt64
  /// The commit whose state is stored in the page file.
  package var checkpointed: CommitPoint
  /// The durable watermark: a generation that had been synced when this slot was written.
  package var durableUpTo: FrameNumber
  package var lineages: [EndedLineage]

  package init(
    geometry: Geometry, identity: StoreIdentity, sequence: UInt64, checkpointed: CommitPoint,
    durableUpTo: FrameNumber, lineages: [EndedLineage]
  ) {
    self.geometry = geometry
    self.identity = identity
    self.sequence = sequence
    self.checkpointed = checkpointed
    self.durableUpTo = durableUpTo
    self.lineages = lineages
  }

  /// Encodes the slot as 4,096 bytes.
  package func encode(to target: MutableBytes) {
    typealias Layout = HeaderSlotLayout
    target.clear(0, Layout.byteCount)
    target.store64(Layout.magicNumber, Layout.magic.offset)
    target.store32(Layout.currentVersion, Layout.version.offset)
    target.store32(UInt32(geometry.pageByteCount), Layout.pageByteCount.offset)
    target.store32(UInt32(geometry.framesPerSegment), Layout.framesPerSegment.offset)
    target.store32(UInt32(geometry.footerFrames), Layout.footerFrames.offset)
    target.store64(identity.high, Layout.storeHigh.offset)
    target.store64(identity.low, Layout.storeLow.offset)
    target.store64(sequence, Layout.sequence.offset)
    target.store64(checkpointed.frame, Layout.checkpointed.offset)
    target.store64(checkpointed.digest, Layout.digest.offset)
    target.store64(checkpointed.lineage, Layout.lineage.offset)
    target.store64(durableUpTo, Layout.durableUpTo.offset)
    target.store64(checkpointed.time, Layout.time.offset)
    target.store32(checkpointed.pageCount, Layout.pageCount.offset)
    let kept = Array(lineages.suffix(Limits.maxLineageCount))
    target.store32(UInt32(kept.count), Layout.lineageCount.offset)
    kept.store(to: target, at: Layout.lineages.offset)
    let hash = XXH64.hash(target.bytes.slice(0, Layout.hash.offset), seed: 0)
    target.store64(hash, Layout.hash.offset)
  }

  /// Decodes a slot, or returns `nil` if the bytes are not an intact slot of any version.
  ///
  /// - Throws: `corrupt` if a frame number or the sequence number is impossible, or
  ///   `incompatibleFormat` if the slot is intact but has an unsupported version, an unknown
  ///   feature or an impossible geometry.
  package static func decode(_ bytes: Bytes) throws(StorageError) -> HeaderSlot? {
    typealias Layout = HeaderSlotLayout
    guard bytes.count >= Layout.byteCount,
      bytes.load64(Layout.magic.offset) == Layout.magicNumber,
      XXH64.hash(bytes.slice(0, Layout.hash.offset), seed: 0) == bytes.load64(Layout.hash.offset)
    else { return nil }
    let version = bytes.load32(Layout.version.offset)
    guard version == Layout.currentVersion else {
      throw StorageError(
        .incompatibleFormat,
        "The store has format version \(version), but this program supports only version "
          + "\(Layout.currentVersion). Open the store with a newer version of the program.",
        file: "pages")
    }
    let features = bytes.load32(Layout.features.offset)
    guard features == 0 else {
      throw StorageError(
        .incompatibleFormat,
        "The store uses features that this program does not support (feature flags "
          + "\(String(features, radix: 2)) in binary). Open the store with a newer version of the "
          + "program.",
        file: "pages")
    }
    guard
      let geometry = Geometry(
        pageByteCount: Int(bytes.load32(Layout.pageByteCount.offset)),
        framesPerSegment: Int(bytes.load32(Layout.framesPerSegment.offset)),
        footerFrames: Int(bytes.load32(Layout.footerFrames.offset)))
    else {
      throw StorageError(
        .incompatibleFormat,
        "The page file is corrupt: its header contains an invalid page size or segment size. "
          + "Restore a backup.",
        file: "pages")
    }
    guard bytes.load64(Layout.checkpointed.offset) <= Limits.maxFrame,
      bytes.load64(Layout.durableUpTo.offset) <= Limits.maxFrame,
      bytes.load64(Layout.sequence.offset) <= Layout.maxSequence
    else {
      throw .corrupt(
        "The page file is corrupt: its header contains an invalid frame number or sequence number. "
          + "Restore a backup.", file: "pages")
    }
    let lineageCount = min(Int(bytes.load32(Layout.lineageCount.offset)), Limits.maxLineageCount)
    let lineages = [EndedLineage](bytes, at: Layout.lineages.offset, count: lineageCount)
    return HeaderSlot(
      geometry: geometry,
      identity: StoreIdentity(
        high: bytes.load64(Layout.storeHigh.offset), low: bytes.load64(Layout.storeLow.offset)),
      sequence: bytes.load64(Layout.sequence.offset),
      checkpointed: CommitPoint(
        frame: bytes.load64(Layout.checkpointed.offset),
        digest: bytes.load64(Layout.digest.offset),
        lineage: bytes.load64(Layout.lineage.offset),
        pageCount: bytes.load32(Layout.pageCount.offset),
        time: bytes.load64(Layout.time.offset)),
      durableUpTo: bytes.load64(Layout.durableUpTo.offset), lineages: lineages)
  }

  /// Reads both slots from the file.
  ///
  /// Slots that were read earlier may be outdated, because another process may have changed them.
  package static func readBoth(_ file: any File) throws(StorageError) -> [HeaderSlot?] {
    let block = ByteBlock(count: HeaderSlotLayout.byteCount)
    defer { block.keep() }
    var slots: [HeaderSlot?] = []
    for offset in HeaderSlotLayout.offsets {
      let count = try file.read(into: block.bytes, at: offset)
      slots.append(count == HeaderSlotLayout.byteCount ? try decode(block.bytes.bytes) : nil)
    }
    return slots
  }

  /// Returns the valid slot with the higher sequence number, or `nil` if neither is valid.
  package static func newest(_ slots: [HeaderSlot?]) -> HeaderSlot? {
    slots.compactMap { $0 }.max { $0.sequence < $1.sequence }
  }

  /// Returns the newest valid slot, or throws `corrupt` if neither is valid.
  package static func requireNewest(_ slots: [HeaderSlot?]) throws(StorageError) -> HeaderSlot {
    guard let newest = newest(slots) else {
      throw .corrupt(
        "The page file is corrupt: both of its header slots are damaged. Restore a backup.",
        file: "pages")
    }
    return newest
  }
}
