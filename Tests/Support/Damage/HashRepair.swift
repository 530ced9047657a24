import HeartwoodEngine

/// Recomputes the hashes of changed bytes, and updates every copy of these hashes.
///
/// The copies must be updated because the log is a chain of hashes. If a changed page broke the
/// chain, the log after that page would never be read.
struct HashRepair {
  private let pageByteCount: Int
  /// The seed of all hashes except the hashes of headers.
  private let seed: UInt64
  private let originals: [String: [UInt8]]
  private let given: [String: [UInt8]]
  private var files: [(name: String, bytes: MutableBytes, block: ByteBlock)] = []
  /// The new value of each recomputed hash, keyed by its old value.
  private var renamed: [UInt64: UInt64] = [:]

  init(_ image: StoreImage) {
    pageByteCount = image.pageByteCount
    originals = image.originals
    given = image.files
    let pages = image.originals["pages"] ?? []
    seed = pages.withBytes { bytes in
      bytes.count < HeaderSlotLayout.byteCount ? 0 : bytes.load64(HeaderSlotLayout.storeLow.offset)
    }
    // The names are sorted, so segments are visited in frame order.
    for name in image.names where name != "counters" {
      guard let bytes = image.files[name] else { continue }
      let block = ByteBlock(count: bytes.count)
      bytes.withBytes { block.bytes.copy($0, to: 0) }
      files.append((name, block.bytes, block))
    }
  }

  /// Returns whether `bytes` differ from the bytes of the original file at the same offset.
  private func isChanged(_ name: String, _ offset: Int, _ bytes: MutableBytes) -> Bool {
    (originals[name] ?? []).withBytes { before in
      offset + bytes.count > before.count
        || !before.slice(offset, bytes.count).isSame(as: bytes.bytes)
    }
  }

  /// Repairs all files, and returns those that the repair has changed, keyed by name.
  ///
  /// The pages are repaired before the structures that contain their hashes, so that each hash is
  /// final before it is copied.
  mutating func run() -> [String: [UInt8]] {
    for (name, bytes, _) in files where name == "pages" || name.hasPrefix("wal-") {
      repairPages(name, bytes)
    }
    let segments = files.filter { $0.name.hasPrefix("wal-") }
    for (_, bytes, _) in segments { repairGroups(bytes) }
    for (name, bytes, _) in segments where bytes.count >= pageByteCount {
      repairSegment(name, bytes)
    }
    for (name, bytes, _) in files {
      switch name {
      case "pages": repairHeaderSlots(name, bytes)
      case "map": repairMap(bytes)
      case "kept": repairEnd(bytes)
      default: break
      }
    }
    var changed: [String: [UInt8]] = [:]
    for (name, bytes, block) in files {
      let isSame = given[name]?.withBytes { $0.isSame(as: bytes.bytes) } ?? false
      if !isSame { changed[name] = bytes.bytes.copied() }
      block.keep()
    }
    return changed
  }

  // MARK: Pages and groups

  private func isGroup(_ frame: Bytes) -> Bool {
    frame.load32(GroupLayout.magic.offset) == GroupLayout.magicNumber
  }

  private func isFooter(_ frame: Bytes) -> Bool {
    frame.load32(SegmentFooterLayout.magic.offset) == SegmentFooterLayout.magicNumber
  }

  private mutating func repairPages(_ name: String, _ bytes: MutableBytes) {
    var offset = name == "pages" ? Int(Geometry.firstPageOffset) : pageByteCount
    while offset + pageByteCount <= bytes.count {
      let page = bytes.slice(offset, pageByteCount)
      if isChanged(name, offset, page), !isGroup(page.bytes), !isFooter(page.bytes) {
        rename(page, PageLayout.hash.offset, PageChecks.hash(page.bytes, seed: seed))
      }
      offset += pageByteCount
    }
  }

  private mutating func repairGroups(_ segment: MutableBytes) {
    typealias Layout = GroupLayout
    var offset = pageByteCount
    while offset + pageByteCount <= segment.count {
      let header = segment.slice(offset, pageByteCount)
      offset += pageByteCount
      guard isGroup(header.bytes) else { continue }
      follow(header, Layout.previous.offset)
      let imageCount = Int(header.bytes.load32(Layout.imageCount.offset))
      for index in 0..<min(imageCount, (pageByteCount - Layout.entries) / 8) {
        follow(header, Layout.entries + index * 8)
      }
      let end = min(max(Int(header.bytes.load32(Layout.byteCount.offset)), 8), pageByteCount)
      let hash = XXH64.hash(header.bytes.slice(8, end - 8), seed: seed)
      rename(header, Layout.hash.offset, hash)
    }
  }

  /// Repairs the header of a segment and, if there is one, its footer.
  private func repairSegment(_ name: String, _ segment: MutableBytes) {
    // Skip an unchanged header. If it was punched out, it has no hash and must not get one.
    let header = segment.slice(0, SegmentLayout.byteCount)
    if isChanged(name, 0, header) { repair(header, upTo: SegmentLayout.hash.offset) }
    typealias Layout = SegmentFooterLayout
    var offset = pageByteCount
    while offset + pageByteCount <= segment.count {
      let footer = segment.slice(offset, segment.count - offset)
      offset += pageByteCount
      guard isFooter(footer.bytes) else { continue }
      follow(footer, Layout.digest.offset)
      let rowCount = min(
        Int(footer.bytes.load32(Layout.count.offset)),
        (footer.count - Layout.rows) / Layout.rowByteCount)
      for row in 0..<rowCount { follow(footer, Layout.rows + row * Layout.rowByteCount + 8) }
      let covered = Layout.firstFrame.offset
      let end = Layout.rows + rowCount * Layout.rowByteCount
      let hash = XXH64.hash(footer.bytes.slice(covered, end - covered), seed: seed)
      footer.store64(hash, Layout.hash.offset)
      return
    }
  }

  // MARK: The other files

  private func repairHeaderSlots(_ name: String, _ pages: MutableBytes) {
    for offset in HeaderSlotLayout.offsets
    where Int(offset) + HeaderSlotLayout.byteCount <= pages.count {
      let slot = pages.slice(Int(offset), HeaderSlotLayout.byteCount)
      follow(slot, HeaderSlotLayout.digest.offset)
      // Skip unchanged slots, because a slot that was never written has no hash and must not get
      // one.
      if isChanged(name, Int(offset), slot) { repair(slot, upTo: HeaderSlotLayout.hash.offset) }
    }
  }

  private func repairMap(_ map: MutableBytes) {
    typealias Layout = MapLayout
    guard map.count >= Layout.rows else { return }
    let count = min(
      Int(map.bytes.load32(AtomicFileLayout.rowCount.offset)),
      (map.count - Layout.rows) / Layout.retainedGenerationByteCount)
    for index in 0..<count {
      follow(map, Layout.rows + index * Layout.retainedGenerationByteCount + Layout.digest.offset)
    }
    repairEnd(map)
  }

  /// Repairs a map or a list of named generations, both of which end with the hash of all preceding
  /// bytes.
  private func repairEnd(_ bytes: MutableBytes) {
    guard bytes.count >= 8 else { return }
    let end = bytes.count - 8
    bytes.store64(XXH64.hash(bytes.bytes.slice(0, end), seed: seed), end)
  }

  /// Repairs a header.
  ///
  /// Its hash is computed without a seed and follows the bytes that it covers.
  private func repair(_ header: MutableBytes, upTo end: Int) {
    header.store64(XXH64.hash(header.bytes.slice(0, end), seed: 0), end)
  }

  // MARK: Renaming

  /// Replaces a hash, and records the replacement unless the old value is 0, as it is in a hole.
  private mutating func rename(_ bytes: MutableBytes, _ offset: Int, _ hash: UInt64) {
    let old = bytes.bytes.load64(offset)
    guard old != hash else { return }
    if old != 0 { renamed[old] = hash }
    bytes.store64(hash, offset)
  }

  /// Replaces a copy of a hash with the new value of that hash.
  private func follow(_ bytes: MutableBytes, _ offset: Int) {
    guard let new = renamed[bytes.bytes.load64(offset)] else { return }
    bytes.store64(new, offset)
  }
}

extension StoreImage {
  /// Recomputes the hash of every changed page, group and header.
  package mutating func repairHashes() {
    var repair = HashRepair(self)
    for (name, bytes) in repair.run() { files[name] = bytes }
  }
}
