/// The bytes of the file `map` after the fields common to all atomically replaced files: its own
/// fields, then retained generations, ended lineages, and retained frames.
package enum MapLayout {
  package static let lineageCount = Field("lineageCount", at: 32, 4)
  package static let survivorCount = Field("survivorCount", at: 36, 4)
  package static let serial = Field("serial", at: 40, 8)
  package static let start = Field("start", at: 48, 8)
  package static let fields = [lineageCount, survivorCount, serial, start]
  package static let rows = 56

  package static let frame = Field("frame", at: 0, 8)
  package static let digest = Field("digest", at: 8, 8)
  package static let lineage = Field("lineage", at: 16, 8)
  package static let time = Field("time", at: 24, 8)
  package static let pageCount = Field("pageCount", at: 32, 4)
  package static let reserved = Field("reserved", at: 36, 4)
  package static let boundaryFields = [frame, digest, lineage, time, pageCount, reserved]
  package static let boundaryByteCount = 40

  package static let survivorFrame = Field("frame", at: 0, 8)
  package static let survivorPage = Field("page", at: 8, 4)
  package static let survivorReserved = Field("reserved", at: 12, 4)
  package static let survivorFields = [survivorFrame, survivorPage, survivorReserved]
  package static let survivorByteCount = 16

  package static let lineageByteCount = 16
}

/// The remainder of the log between the page file's state and some commit: the frames that can
/// still be read, and the generations at which they can be read.
///
/// It replaces the group headers up to its newest retained generation. Every other frame up to
/// there may have been reclaimed.
package struct SurvivorMap: Hashable, Sendable {
  /// A frame that holds the version of its page at one of the retained generations.
  package struct Survivor: Hashable, Sendable {
    package let frame: FrameNumber
    package let page: PageNumber

    package init(frame: FrameNumber, page: PageNumber) {
      self.frame = frame
      self.page = page
    }
  }

  /// The unique number of this map.
  package var serial: UInt64
  /// The page file's state when the map was made: frames up to it are not listed.
  package var start: FrameNumber
  /// The retained generations, whose pages are all available, ascending; never empty.
  package var boundaries: [CommitPoint]
  /// The lineages that ended up to the newest retained generation.
  package var lineages: [EndedLineage]
  /// Ascending by frame.
  package var survivors: [Survivor]
  /// The last commit that the map covers.
  package let end: CommitPoint

  /// Its magic is "HEARTMAP".
  package static let file = WholeFile(
    "map", magic: 0x5041_4D54_5241_4548, advice: "Restore a backup.")

  /// - Precondition: There is a retained generation.
  package init(
    serial: UInt64, start: FrameNumber, boundaries: [CommitPoint], lineages: [EndedLineage],
    survivors: [Survivor]
  ) {
    precondition(!boundaries.isEmpty)
    self.serial = serial
    self.start = start
    self.boundaries = boundaries
    self.lineages = lineages
    self.survivors = survivors
    end = boundaries[boundaries.count - 1]
  }

  /// The bytes of the file.
  package func encoded(for identity: StoreIdentity) -> ByteBlock {
    typealias Layout = MapLayout
    let lineages = lineages.suffix(Limits.maxLineageCount)
    let end =
      Layout.rows + boundaries.count * Layout.boundaryByteCount
      + lineages.count * Layout.lineageByteCount + survivors.count * Layout.survivorByteCount
    let block = ByteBlock(count: end + WholeFileLayout.hashByteCount)
    let target = block.bytes
    target.store32(UInt32(lineages.count), Layout.lineageCount.offset)
    target.store32(UInt32(survivors.count), Layout.survivorCount.offset)
    target.store64(serial, Layout.serial.offset)
    target.store64(start, Layout.start.offset)
    var offset = Layout.rows
    for point in boundaries {
      target.store64(point.frame, offset + Layout.frame.offset)
      target.store64(point.digest, offset + Layout.digest.offset)
      target.store64(point.lineage, offset + Layout.lineage.offset)
      target.store64(point.time, offset + Layout.time.offset)
      target.store32(point.pageCount, offset + Layout.pageCount.offset)
      offset += Layout.boundaryByteCount
    }
    for ended in lineages {
      target.store64(ended.lineage, offset)
      target.store64(ended.end, offset + 8)
      offset += Layout.lineageByteCount
    }
    for survivor in survivors {
      target.store64(survivor.frame, offset + Layout.survivorFrame.offset)
      target.store32(survivor.page, offset + Layout.survivorPage.offset)
      offset += Layout.survivorByteCount
    }
    Self.file.seal(target, rowCount: boundaries.count, for: identity)
    return block
  }

  /// Reads the map; `nil` if there is none.
  package static func read(_ log: LogFiles) throws(StorageError) -> SurvivorMap? {
    func lengths(_ fields: Bytes) -> ClosedRange<UInt64> {
      func bytes(_ count: Field, _ rowByteCount: Int) -> UInt64 {
        UInt64(fields.load32(count.offset)) * UInt64(rowByteCount)
      }
      let length =
        UInt64(MapLayout.rows + WholeFileLayout.hashByteCount)
        + bytes(WholeFileLayout.rowCount, MapLayout.boundaryByteCount)
        + bytes(MapLayout.lineageCount, MapLayout.lineageByteCount)
        + bytes(MapLayout.survivorCount, MapLayout.survivorByteCount)
      return length...length
    }
    return try file.read(log, fieldByteCount: MapLayout.rows, lengths: lengths, decode: decode)
  }

  /// Decodes the map.
  ///
  /// - Throws: `corrupt` if the bytes are not as written: without the map it is unknown which
  ///   frames may be missing.
  package static func decode(
    _ bytes: Bytes, of identity: StoreIdentity
  ) throws(StorageError) -> SurvivorMap {
    typealias Layout = MapLayout
    let boundaryCount = try file.check(bytes, atLeast: Layout.rows, of: identity)
    let end = bytes.count - WholeFileLayout.hashByteCount
    let lineageCount = Int(bytes.load32(Layout.lineageCount.offset))
    let survivorCount = Int(bytes.load32(Layout.survivorCount.offset))
    let lineageStart = Layout.rows + boundaryCount * Layout.boundaryByteCount
    let survivorStart = lineageStart + lineageCount * Layout.lineageByteCount
    guard boundaryCount > 0, lineageCount <= Limits.maxLineageCount,
      end == survivorStart + survivorCount * Layout.survivorByteCount
    else { throw file.damaged("The counts of the map do not match its length.") }
    let map = SurvivorMap(
      serial: bytes.load64(Layout.serial.offset), start: bytes.load64(Layout.start.offset),
      boundaries: (0..<boundaryCount).map { boundary(bytes, Layout.rows, $0) },
      lineages: (0..<lineageCount).map {
        EndedLineage(
          lineage: bytes.load64(lineageStart + $0 * Layout.lineageByteCount),
          end: bytes.load64(lineageStart + $0 * Layout.lineageByteCount + 8))
      },
      survivors: (0..<survivorCount).map {
        let offset = survivorStart + $0 * Layout.survivorByteCount
        return Survivor(
          frame: bytes.load64(offset + Layout.survivorFrame.offset),
          page: bytes.load32(offset + Layout.survivorPage.offset))
      })
    guard map.isOrdered else { throw file.damaged("The rows of the map are not in order.") }
    return map
  }

  private static func boundary(_ bytes: Bytes, _ start: Int, _ index: Int) -> CommitPoint {
    let offset = start + index * MapLayout.boundaryByteCount
    return CommitPoint(
      frame: bytes.load64(offset + MapLayout.frame.offset),
      digest: bytes.load64(offset + MapLayout.digest.offset),
      lineage: bytes.load64(offset + MapLayout.lineage.offset),
      pageCount: bytes.load32(offset + MapLayout.pageCount.offset),
      time: bytes.load64(offset + MapLayout.time.offset))
  }

  private var isOrdered: Bool {
    let frames = survivors.lazy.map(\.frame)
    return zip(boundaries, boundaries.dropFirst()).allSatisfy { $0.frame < $1.frame }
      && zip(frames, frames.dropFirst()).allSatisfy { $0 < $1 }
      && (survivors.last?.frame ?? 0) <= end.frame
      && (survivors.first?.frame ?? .max) > start && end.frame <= Limits.maxFrame
  }
}
