/// The header of a backup file.
package struct BackupHeader: Hashable, Sendable {
  package var geometry: Geometry
  package var identity: StoreIdentity
  /// A random number shared by all files in a directory.
  ///
  /// A new series of backups gets a new number.
  package var series: UInt64
  /// The commit that this file builds on, or `nil` if the file contains all pages.
  package var base: BackupStart?
  /// The commit whose state can be restored from the file.
  package var point: CommitPoint
  /// The lineages that ended before the backed-up commit.
  package var lineages: [EndedLineage]
  /// The store's named generations at the time of the backup.
  ///
  /// A full backup also contains the names that earlier files record for restorable generations.
  package var names: [String: FrameNumber]
  package var imageCount: Int

  package init(
    geometry: Geometry, identity: StoreIdentity, series: UInt64, base: BackupStart?,
    point: CommitPoint, lineages: [EndedLineage], names: [String: FrameNumber], imageCount: Int
  ) {
    self.geometry = geometry
    self.identity = identity
    self.series = series
    self.base = base
    self.point = point
    self.lineages = lineages.suffix(Limits.maxLineageCount)
    self.names = names
    self.imageCount = imageCount
  }

  package var name: BackupName { BackupName(base: base?.frame, frame: point.frame) }

  private var nameByteCount: Int { names.keys.reduce(0) { $0 + 9 + $1.utf8.count } }

  /// The length of the header in bytes.
  package var byteCount: Int { Self.byteCount(nameByteCount) }

  private static func byteCount(_ nameByteCount: Int) -> Int {
    BackupLayout.byteCount + (nameByteCount + 7) / 8 * 8 + 8
  }

  /// The size of the complete file in bytes.
  package var fileByteCount: UInt64 {
    UInt64(byteCount) + UInt64(imageCount) << UInt64(geometry.pageShift)
      + UInt64(BackupLayout.digestByteCount)
  }

  // MARK: Bytes

  package func encoded() -> ByteBlock {
    typealias Layout = BackupLayout
    let block = ByteBlock(count: byteCount)
    let target = block.bytes
    target.store64(Layout.magicNumber, Layout.magic.offset)
    target.store32(Layout.currentVersion, Layout.version.offset)
    target.store32(UInt32(geometry.pageByteCount), Layout.pageByteCount.offset)
    target.store32(UInt32(geometry.framesPerSegment), Layout.framesPerSegment.offset)
    target.store32(UInt32(geometry.footerFrames), Layout.footerFrames.offset)
    target.store64(identity.high, Layout.storeHigh.offset)
    target.store64(identity.low, Layout.storeLow.offset)
    target.store64(series, Layout.series.offset)
    target.store64(base?.frame ?? 0, Layout.baseFrame.offset)
    target.store64(base?.digest ?? 0, Layout.baseDigest.offset)
    target.store64(base?.lineage ?? 0, Layout.baseLineage.offset)
    target.store64(point.frame, Layout.frame.offset)
    target.store64(point.digest, Layout.digest.offset)
    target.store64(point.lineage, Layout.lineage.offset)
    target.store64(point.time, Layout.time.offset)
    target.store32(point.pageCount, Layout.pageCount.offset)
    target.store32(UInt32(imageCount), Layout.imageCount.offset)
    target.store32(UInt32(lineages.count), Layout.lineageCount.offset)
    target.store32(UInt32(nameByteCount), Layout.nameByteCount.offset)
    lineages.store(to: target, at: Layout.lineages.offset)
    var offset = Layout.byteCount
    for (name, frame) in names.sorted(by: { $0.key < $1.key }) {
      target.store64(frame, offset)
      let text = [UInt8(name.utf8.count)] + name.utf8
      text.withBytes { target.copy($0, to: offset + 8) }
      offset += 8 + text.count
    }
    let end = target.count - 8
    target.store64(XXH64.hash(target.bytes.slice(0, end), seed: 0), end)
    return block
  }

  /// Reads the header of a backup file.
  ///
  /// - Throws: `corrupt` if the file is damaged, or `incompatibleFormat` if a newer program wrote
  ///   it.
  package static func read(_ file: any File, _ name: String) throws(StorageError) -> BackupHeader {
    let fields = ByteBlock(count: BackupLayout.byteCount)
    defer { fields.keep() }
    let bytes = fields.bytes.bytes
    guard try file.read(into: fields.bytes, at: 0) == bytes.count,
      bytes.load64(BackupLayout.magic.offset) == BackupLayout.magicNumber
    else { throw damaged("it is too short, or has the wrong signature", name) }
    let version = bytes.load32(BackupLayout.version.offset)
    guard version == BackupLayout.currentVersion else {
      throw StorageError(
        .incompatibleFormat,
        "The backup file has format version \(version), but this program supports only version "
          + "\(BackupLayout.currentVersion). Use a newer version of the program.", file: name)
    }
    let nameByteCount = Int(bytes.load32(BackupLayout.nameByteCount.offset))
    // Reject a damaged length that exceeds the file's size, because it could cause a huge
    // allocation.
    guard UInt64(nameByteCount) <= (try file.byteCount()) else {
      throw damaged("its header is invalid", name)
    }
    let whole = ByteBlock(count: byteCount(nameByteCount))
    defer { whole.keep() }
    guard try file.read(into: whole.bytes, at: 0) == whole.bytes.count,
      let header = decoded(whole.bytes.bytes, nameByteCount)
    else { throw damaged("its header is invalid", name) }
    guard try file.byteCount() == header.fileByteCount else {
      throw damaged(
        "its length does not match its page count (\(header.imageCount))", name)
    }
    guard header.name.text == name else {
      throw damaged("its header belongs to another backup file, \(header.name.text)", name)
    }
    return header
  }

  private static func decoded(_ bytes: Bytes, _ nameByteCount: Int) -> BackupHeader? {
    typealias Layout = BackupLayout
    let end = bytes.count - 8
    let lineageCount = Int(bytes.load32(Layout.lineageCount.offset))
    let frames = [Layout.baseFrame, Layout.frame].map { bytes.load64($0.offset) }
    guard bytes.load64(end) == XXH64.hash(bytes.slice(0, end), seed: 0),
      let geometry = Geometry(
        pageByteCount: Int(bytes.load32(Layout.pageByteCount.offset)),
        framesPerSegment: Int(bytes.load32(Layout.framesPerSegment.offset)),
        footerFrames: Int(bytes.load32(Layout.footerFrames.offset))),
      lineageCount <= Limits.maxLineageCount, frames[0] < frames[1], frames[1] <= Limits.maxFrame,
      geometry.isFrame(frames[1]),
      bytes.load32(Layout.imageCount.offset) <= bytes.load32(Layout.pageCount.offset),
      let names = names(bytes.slice(Layout.byteCount, nameByteCount))
    else { return nil }
    return BackupHeader(
      geometry: geometry,
      identity: StoreIdentity(
        high: bytes.load64(Layout.storeHigh.offset), low: bytes.load64(Layout.storeLow.offset)),
      series: bytes.load64(Layout.series.offset),
      base: frames[0] == 0
        ? nil
        : BackupStart(
          frame: frames[0], digest: bytes.load64(Layout.baseDigest.offset),
          lineage: bytes.load64(Layout.baseLineage.offset)),
      point: CommitPoint(
        frame: frames[1], digest: bytes.load64(Layout.digest.offset),
        lineage: bytes.load64(Layout.lineage.offset),
        pageCount: bytes.load32(Layout.pageCount.offset), time: bytes.load64(Layout.time.offset)),
      lineages: [EndedLineage](bytes, at: Layout.lineages.offset, count: lineageCount),
      names: names, imageCount: Int(bytes.load32(Layout.imageCount.offset)))
  }

  private static func names(_ bytes: Bytes) -> [String: FrameNumber]? {
    var names: [String: FrameNumber] = [:]
    var offset = 0
    while offset < bytes.count {
      guard offset + 9 <= bytes.count else { return nil }
      let end = offset + 9 + Int(bytes.load8(offset + 8))
      guard end <= bytes.count,
        let name = String(
          validating: bytes.slice(offset + 9, end - offset - 9).copied(), as: UTF8.self)
      else { return nil }
      names[name] = bytes.load64(offset)
      offset = end
    }
    return names
  }

  /// Returns an error that reports damage in the backup file `name`.
  ///
  /// - Parameter finding: A clause that describes the damage.
  static func damaged(_ finding: String, _ name: String) -> StorageError {
    .corrupt("The backup file is corrupt: \(finding).", file: name)
  }
}

extension [BackupHeader] {
  /// The named generations recorded in the headers.
  ///
  /// The headers must be in generation order. If several generations have had the same name, the
  /// last header takes precedence.
  var names: [String: FrameNumber] { reduce(into: [:]) { $0.merge($1.names) { $1 } } }
}
