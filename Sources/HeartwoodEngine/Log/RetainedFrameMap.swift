/// The layout of the `map` file.
///
/// These fields are followed by the retained generations, the ended lineages, and the retained
/// frames.
package enum MapLayout {
  package static let lineageCount = Field("lineageCount", at: 32, 4)
  package static let retainedFrameCount = Field("retainedFrameCount", at: 36, 4)
  package static let serial = Field("serial", at: 40, 8)
  package static let start = Field("start", at: 48, 8)
  package static let fields = [lineageCount, retainedFrameCount, serial, start]
  package static let rows = 56

  package static let frame = Field("frame", at: 0, 8)
  package static let digest = Field("digest", at: 8, 8)
  package static let lineage = Field("lineage", at: 16, 8)
  package static let time = Field("time", at: 24, 8)
  package static let pageCount = Field("pageCount", at: 32, 4)
  package static let reserved = Field("reserved", at: 36, 4)
  package static let retainedGenerationFields = [frame, digest, lineage, time, pageCount, reserved]
  package static let retainedGenerationByteCount = 40

  package static let retainedFrame = Field("frame", at: 0, 8)
  package static let retainedPage = Field("page", at: 8, 4)
  package static let retainedReserved = Field("reserved", at: 12, 4)
  package static let retainedFrameFields = [retainedFrame, retainedPage, retainedReserved]
  package static let retainedFrameByteCount = 16

  package static let lineageByteCount = 16
}

/// The frames that can still be read in a partly reclaimed section of the log, and the generations
/// that need them.
///
/// The map covers the log from the state of the page file to the newest retained generation.
/// Unlisted frames in that section may have been reclaimed, so readers use the map instead of the
/// group headers.
package struct RetainedFrameMap: Hashable, Sendable {
  /// A frame with a page image that belongs to at least one retained generation.
  package struct RetainedFrame: Hashable, Sendable {
    package let frame: FrameNumber
    package let page: PageNumber

    package init(frame: FrameNumber, page: PageNumber) {
      self.frame = frame
      self.page = page
    }
  }

  /// A random number that identifies this map.
  package var serial: UInt64
  /// The last frame that the page file contained when the map was created.
  ///
  /// The map lists only later frames.
  package var start: FrameNumber
  /// The retained generations in ascending order.
  ///
  /// There is at least one retained generation, and all pages of these generations are still
  /// readable.
  package var retainedGenerations: [CommitPoint]
  /// The lineages that ended at or before the newest retained generation.
  package var lineages: [EndedLineage]
  /// The retained frames, in ascending order.
  package var retainedFrames: [RetainedFrame]
  package let end: CommitPoint

  /// The `map` file, whose magic number is "HEARTMAP".
  package static let file = AtomicFile(
    "map", magic: 0x5041_4D54_5241_4548, advice: "Restore a backup.")

  /// Creates a map from its contents.
  ///
  /// - Precondition: There is at least one retained generation.
  package init(
    serial: UInt64, start: FrameNumber, retainedGenerations: [CommitPoint],
    lineages: [EndedLineage],
    retainedFrames: [RetainedFrame]
  ) {
    precondition(!retainedGenerations.isEmpty)
    self.serial = serial
    self.start = start
    self.retainedGenerations = retainedGenerations
    self.lineages = lineages
    self.retainedFrames = retainedFrames
    end = retainedGenerations[retainedGenerations.count - 1]
  }

  package func encoded(for identity: StoreIdentity) -> ByteBlock {
    typealias Layout = MapLayout
    let lineages = lineages.suffix(Limits.maxLineageCount)
    let end =
      Layout.rows + retainedGenerations.count * Layout.retainedGenerationByteCount
      + lineages.count * Layout.lineageByteCount + retainedFrames.count
      * Layout.retainedFrameByteCount
    let block = ByteBlock(count: end + AtomicFileLayout.hashByteCount)
    let target = block.bytes
    target.store32(UInt32(lineages.count), Layout.lineageCount.offset)
    target.store32(UInt32(retainedFrames.count), Layout.retainedFrameCount.offset)
    target.store64(serial, Layout.serial.offset)
    target.store64(start, Layout.start.offset)
    var offset = Layout.rows
    for point in retainedGenerations {
      target.store64(point.frame, offset + Layout.frame.offset)
      target.store64(point.digest, offset + Layout.digest.offset)
      target.store64(point.lineage, offset + Layout.lineage.offset)
      target.store64(point.time, offset + Layout.time.offset)
      target.store32(point.pageCount, offset + Layout.pageCount.offset)
      offset += Layout.retainedGenerationByteCount
    }
    Array(lineages).store(to: target, at: offset)
    offset += lineages.count * Layout.lineageByteCount
    for retained in retainedFrames {
      target.store64(retained.frame, offset + Layout.retainedFrame.offset)
      target.store32(retained.page, offset + Layout.retainedPage.offset)
      offset += Layout.retainedFrameByteCount
    }
    Self.file.stamp(target, rowCount: retainedGenerations.count, for: identity)
    return block
  }

  package static func read(_ log: LogFiles) throws(StorageError) -> RetainedFrameMap? {
    func lengths(_ fields: Bytes) -> ClosedRange<UInt64> {
      func bytes(_ count: Field, _ rowByteCount: Int) -> UInt64 {
        UInt64(fields.load32(count.offset)) * UInt64(rowByteCount)
      }
      let length =
        UInt64(MapLayout.rows + AtomicFileLayout.hashByteCount)
        + bytes(AtomicFileLayout.rowCount, MapLayout.retainedGenerationByteCount)
        + bytes(MapLayout.lineageCount, MapLayout.lineageByteCount)
        + bytes(MapLayout.retainedFrameCount, MapLayout.retainedFrameByteCount)
      return length...length
    }
    return try file.read(log, fieldByteCount: MapLayout.rows, lengths: lengths, decode: decode)
  }

  /// Decodes the map.
  ///
  /// - Throws: `corrupt` if the bytes are damaged. This method does not ignore a damaged map,
  ///   because only the map shows which frames may be missing.
  package static func decode(
    _ bytes: Bytes, of identity: StoreIdentity
  ) throws(StorageError) -> RetainedFrameMap {
    typealias Layout = MapLayout
    let retainedGenerationCount = try file.check(bytes, atLeast: Layout.rows, of: identity)
    let end = bytes.count - AtomicFileLayout.hashByteCount
    let lineageCount = Int(bytes.load32(Layout.lineageCount.offset))
    let retainedFrameCount = Int(bytes.load32(Layout.retainedFrameCount.offset))
    let lineageStart = Layout.rows + retainedGenerationCount * Layout.retainedGenerationByteCount
    let retainedFrameStart = lineageStart + lineageCount * Layout.lineageByteCount
    guard retainedGenerationCount > 0, lineageCount <= Limits.maxLineageCount,
      end == retainedFrameStart + retainedFrameCount * Layout.retainedFrameByteCount
    else { throw file.damaged("the counts in the file do not match its length") }
    let map = RetainedFrameMap(
      serial: bytes.load64(Layout.serial.offset), start: bytes.load64(Layout.start.offset),
      retainedGenerations: (0..<retainedGenerationCount).map {
        retainedGeneration(bytes, Layout.rows, $0)
      },
      lineages: [EndedLineage](bytes, at: lineageStart, count: lineageCount),
      retainedFrames: (0..<retainedFrameCount).map {
        let offset = retainedFrameStart + $0 * Layout.retainedFrameByteCount
        return RetainedFrame(
          frame: bytes.load64(offset + Layout.retainedFrame.offset),
          page: bytes.load32(offset + Layout.retainedPage.offset))
      })
    guard map.isOrdered else { throw file.damaged("its rows are out of order") }
    return map
  }

  private static func retainedGeneration(_ bytes: Bytes, _ start: Int, _ index: Int) -> CommitPoint
  {
    let offset = start + index * MapLayout.retainedGenerationByteCount
    return CommitPoint(
      frame: bytes.load64(offset + MapLayout.frame.offset),
      digest: bytes.load64(offset + MapLayout.digest.offset),
      lineage: bytes.load64(offset + MapLayout.lineage.offset),
      pageCount: bytes.load32(offset + MapLayout.pageCount.offset),
      time: bytes.load64(offset + MapLayout.time.offset))
  }

  private var isOrdered: Bool {
    let frames = retainedFrames.lazy.map(\.frame)
    return zip(retainedGenerations, retainedGenerations.dropFirst()).allSatisfy {
      $0.frame < $1.frame
    }
      && zip(frames, frames.dropFirst()).allSatisfy { $0 < $1 }
      && (retainedFrames.last?.frame ?? 0) <= end.frame
      && (retainedFrames.first?.frame ?? .max) > start && end.frame <= Limits.maxFrame
  }
}
