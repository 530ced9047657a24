import HeartwoodEngine

/// The files of a store other than pages and log segments.
extension FuzzTarget {
  /// Header slots of the page file.
  static let headerSlot = FuzzTarget("header-slot", seeds: headerSlotInputs) { bytes in
    typealias Layout = HeaderSlotLayout
    let fields = HeaderFields(
      byteCount: Layout.byteCount, magicNumber: Layout.magicNumber,
      magicOffset: Layout.magic.offset, versionOffset: Layout.version.offset,
      hashOffset: Layout.hash.offset)
    let block = header(bytes, fields) { $0.store32(0, Layout.features.offset) }
    defer { block.keep() }
    guard let slot = try HeaderSlot.decode(block.bytes.bytes) else { return nil }
    let other = ByteBlock(count: Layout.byteCount)
    defer { other.keep() }
    slot.encode(to: other.bytes)
    return try HeaderSlot.decode(other.bytes.bytes) == slot
      ? nil : "The slot differs after encoding it again."
  }

  @Sendable private static func headerSlotInputs() -> [[UInt8]] {
    [0, 1, 3].compactMap { count in
      guard let geometry = Geometry(pageByteCount: 4096 << count, segmentByteCount: 1 << 20) else {
        return nil
      }
      let slot = HeaderSlot(
        geometry: geometry, identity: fuzzedStore, sequence: 4, checkpointed: points[0],
        durableUpTo: 12,
        lineages: (0..<count).map { EndedLineage(lineage: UInt64($0), end: UInt64($0 * 9)) })
      let block = ByteBlock(count: HeaderSlotLayout.byteCount)
      defer { block.keep() }
      slot.encode(to: block.bytes)
      let end = HeaderSlotLayout.lineages.offset + count * 16
      return [Repairs.all.rawValue] + block.bytes.bytes.slice(0, end).copied()
    }
  }

  private static let points = [9, 20, 31].map {
    CommitPoint(frame: $0, digest: $0 << 32, lineage: 3, pageCount: 60, time: 1_700_000_000_000)
  }

  /// Returns the content of an atomic file.
  ///
  /// The content consists of the fields that are the same in every file and the rest of the input.
  private static func content(
    _ file: AtomicFile, _ input: inout FuzzInput, _ repair: (MutableBytes) -> Void = { _ in }
  ) -> ByteBlock {
    let repairs = Repairs(rawValue: input.byte())
    let rowCount = input.number()
    let start = AtomicFileLayout.byteCount
    let block = block(
      input.rest, at: start, count: start + input.rest.count + AtomicFileLayout.hashByteCount)
    block.bytes.store32(UInt32(rowCount), AtomicFileLayout.rowCount.offset)
    if repairs.contains(.counts) { repair(block.bytes) }
    if repairs.contains(.hash) {
      let count = Int(block.bytes.bytes.load32(AtomicFileLayout.rowCount.offset))
      file.stamp(block.bytes, rowCount: count, for: fuzzedStore)
    }
    return block
  }

  private static func input(_ file: ByteBlock) -> [UInt8] {
    defer { file.keep() }
    let (start, bytes) = (AtomicFileLayout.byteCount, file.bytes.bytes)
    let count = bytes.load32(AtomicFileLayout.rowCount.offset)
    return [Repairs.all.rawValue, UInt8(count & 0xFF), UInt8(count >> 8 & 0xFF)]
      + bytes.slice(start, bytes.count - start - AtomicFileLayout.hashByteCount).copied()
  }

  /// The map of retained frames.
  static let retainedFrames = FuzzTarget("map", seeds: mapInputs) { bytes in
    var input = FuzzInput(bytes)
    let block = content(RetainedFrameMap.file, &input, repairMapCounts)
    defer { block.keep() }
    let map = try RetainedFrameMap.decode(block.bytes.bytes, of: fuzzedStore)
    let other = map.encoded(for: fuzzedStore)
    defer { other.keep() }
    return try RetainedFrameMap.decode(other.bytes.bytes, of: fuzzedStore) == map
      ? nil : "The map differs after encoding it again."
  }

  /// Sets the number of frames so that the counts agree with the length, if possible.
  private static func repairMapCounts(_ target: MutableBytes) {
    guard target.count >= MapLayout.rows + AtomicFileLayout.hashByteCount else { return }
    let generations = Int(target.bytes.load32(AtomicFileLayout.rowCount.offset))
    let lineages = Int(target.bytes.load32(MapLayout.lineageCount.offset)) % 66
    target.store32(UInt32(lineages), MapLayout.lineageCount.offset)
    let room =
      target.count - MapLayout.rows - AtomicFileLayout.hashByteCount
      - generations * MapLayout.retainedGenerationByteCount - lineages * MapLayout.lineageByteCount
    target.store32(
      UInt32(max(0, room) / MapLayout.retainedFrameByteCount), MapLayout.retainedFrameCount.offset)
  }

  @Sendable private static func mapInputs() -> [[UInt8]] {
    [(1, 0, 0), (2, 1, 3), (3, 2, 12)].map { generations, lineages, frames in
      let map = RetainedFrameMap(
        serial: 77, start: 2, retainedGenerations: Array(points.prefix(generations)),
        lineages: (0..<lineages).map { EndedLineage(lineage: UInt64($0), end: 4) },
        retainedFrames: (0..<frames).map {
          RetainedFrameMap.RetainedFrame(frame: FrameNumber($0 + 3), page: PageNumber($0))
        })
      return input(map.encoded(for: fuzzedStore))
    }
  }

  /// The list of named generations.
  static let namedGenerations = FuzzTarget("kept", words: ["daily", "é"], seeds: keptInputs) {
    bytes in
    var input = FuzzInput(bytes)
    let block = content(NamedGenerations.file, &input)
    defer { block.keep() }
    let named = try NamedGenerations.decode(block.bytes.bytes, of: fuzzedStore)
    let other = named.encoded(for: fuzzedStore)
    defer { other.keep() }
    return try NamedGenerations.decode(other.bytes.bytes, of: fuzzedStore) == named
      ? nil : "The names differ after encoding them again."
  }

  @Sendable private static func keptInputs() -> [[UInt8]] {
    [[], ["a"], ["daily", "0123456789abcdef", "Älteste"]].map { names in
      var named = NamedGenerations()
      for (index, name) in names.enumerated() {
        named.rows[name] = NamedGenerations.Row(
          lineage: 3, generation: FrameNumber(index * 9), time: 1_700_000_000_000)
      }
      return input(named.encoded(for: fuzzedStore))
    }
  }

  /// The record of a replica's last error.
  static let replicaRecord = FuzzTarget("replica", seeds: replicaInputs) { bytes in
    var input = FuzzInput(bytes)
    let block = content(ReplicaRecord.file, &input) { target in
      let most = max(0, target.count - ReplicaLayout.message - AtomicFileLayout.hashByteCount)
      let count = Int(target.bytes.load32(AtomicFileLayout.rowCount.offset))
      target.store32(UInt32(min(count, most)), AtomicFileLayout.rowCount.offset)
    }
    defer { block.keep() }
    let record = try ReplicaRecord.decode(block.bytes.bytes, of: fuzzedStore)
    let other = record.encoded(for: fuzzedStore)
    defer { other.keep() }
    let again = try ReplicaRecord.decode(other.bytes.bytes, of: fuzzedStore)
    // A long message is truncated, possibly within a character.
    return again.errorTime == record.errorTime
      && (again == record || record.message.utf8.count > ReplicaRecord.maxMessageByteCount)
      ? nil : "The record differs after encoding it again."
  }

  @Sendable private static func replicaInputs() -> [[UInt8]] {
    ["", "The backup is missing.", "Übung"].map { message in
      var record = ReplicaRecord()
      (record.message, record.errorTime) = (message, 1_700_000_000_000)
      return input(record.encoded(for: fuzzedStore))
    }
  }

  /// Rows of the list of processes that have the store open.
  static let holder = FuzzTarget("holder", seeds: holderInputs) { bytes in
    typealias Layout = HolderLayout
    var input = FuzzInput(bytes)
    let repairs = Repairs(rawValue: input.byte())
    let block = block(input.rest, at: Layout.process.offset, count: Layout.rowByteCount)
    defer { block.keep() }
    let target = block.bytes
    if repairs.contains(.identity) {
      target.store64(Layout.magicNumber, Layout.magic.offset)
      target.store32(1, Layout.version.offset)
    }
    if repairs.contains(.hash) {
      let hash = XXH64.hash(target.bytes.slice(0, Layout.hash.offset), seed: fuzzedStore.seed)
      target.store64(hash, Layout.hash.offset)
    }
    guard let row = HolderRow.decode(target.bytes, seed: fuzzedStore.seed) else { return nil }
    let shown = HolderRow(process: row.process, opened: row.opened, name: row.name)
    let other = shown.encoded(seed: fuzzedStore.seed)
    defer { other.keep() }
    return HolderRow.decode(other.bytes.bytes, seed: fuzzedStore.seed) == shown
      ? nil : "The row differs after encoding it again."
  }

  @Sendable private static func holderInputs() -> [[UInt8]] {
    ["", "shop", "Gästebuch"].map { name in
      let row = HolderRow(process: 4711, opened: 1_700_000_000_000, name: name)
      let block = row.encoded(seed: fuzzedStore.seed)
      defer { block.keep() }
      let start = HolderLayout.process.offset
      let content = block.bytes.bytes.slice(start, HolderLayout.hash.offset - start)
      return [Repairs.all.rawValue] + content.withoutFinalZeros.copied()
    }
  }
}
