import HeartwoodEngine

/// An unsynced change to a file.
struct FileChange {
  /// The sequence number of this change among all changes to the disk.
  let order: Int
  /// The range of bytes that were written or, for a truncation, removed.
  let range: Range<Int>
  /// The content of the page cache after the change, in complete sectors, starting at the sector
  /// that contains the first byte of `range`.
  ///
  /// Disks write complete sectors, so a sector that survives a crash also contains the bytes of
  /// earlier writes to it.
  let images: [UInt8]
  /// The new length of the file, or `nil` if the change did not affect the length.
  let byteCount: Int?
  let isCut: Bool

  static let sectorByteCount = 512

  var firstSector: Int { range.lowerBound / Self.sectorByteCount }
  var sectorCount: Int { images.count / Self.sectorByteCount }
}

/// The contents of a file, both on disk and in the page cache, and the changes between these two
/// states.
struct FileHistory {
  private(set) var durable = ChunkedBytes()
  private(set) var newest = ChunkedBytes()
  private(set) var changes: [FileChange] = []
  /// A Boolean value that indicates whether a failed sync left bytes in the page cache that no
  /// later sync will write.
  private var hasDropped = false
  /// The memory that all mappings of the file share, or `nil` before the first mapping.
  private(set) var shared: ByteBlock?

  init() {}

  /// Creates a file with the given bytes and no unsynced changes.
  init(_ bytes: ChunkedBytes) {
    durable = bytes
    newest = bytes
  }

  mutating func write(_ source: Bytes, at offset: Int, order: Int) {
    guard source.count > 0 else { return }
    let before = newest.count
    newest.write(source, at: offset)
    let size = FileChange.sectorByteCount
    let end = offset + source.count
    let sectors = offset / size * size..<(end + size - 1) / size * size
    changes.append(
      FileChange(
        order: order, range: offset..<end, images: newest.bytes(sectors),
        byteCount: newest.count == before ? nil : newest.count, isCut: false))
  }

  mutating func setByteCount(_ count: Int, order: Int) {
    let before = newest.count
    guard count != before else { return }
    newest.setCount(count)
    changes.append(
      FileChange(
        order: order, range: count..<max(count, before), images: [], byteCount: count,
        isCut: count < before))
  }

  mutating func sync() {
    durable = withEverything()
    changes = []
  }

  /// Marks all bytes as synced without making them durable, as a kernel may do after a failed sync.
  ///
  /// Changes to the length remain unsynced, because the file system's journal records the length.
  mutating func dropUnsynced() {
    hasDropped = hasDropped || changes.contains { !$0.images.isEmpty }
    changes = changes.compactMap { change in
      guard change.byteCount != nil else { return nil }
      let range = change.isCut ? change.range : change.range.upperBound..<change.range.upperBound
      return FileChange(
        order: change.order, range: range, images: [], byteCount: change.byteCount,
        isCut: change.isCut)
    }
  }

  /// Returns whether the current bytes in `range`, which must be within the file, survive every
  /// crash.
  func isDurable(_ range: Range<Int>) -> Bool {
    guard durable.count >= range.upperBound, newest.count >= range.upperBound,
      changes.allSatisfy({ change in
        !change.range.overlaps(range) && (change.byteCount ?? .max) >= range.upperBound
      })
    else { return false }
    return !hasDropped || durable.bytes(range) == newest.bytes(range)
  }

  /// Returns memory that is shared by all mappings of this file.
  ///
  /// The memory is initialised with the bytes of the file. Later changes are not copied in either
  /// direction.
  ///
  /// - Returns: The memory, or `nil` if the file is shorter than `byteCount`.
  mutating func share(_ byteCount: Int) -> ByteBlock? {
    if shared == nil, byteCount <= newest.count {
      let block = ByteBlock(count: newest.count)
      _ = newest.read(into: block.bytes, at: 0)
      shared = block
    }
    return shared.flatMap { byteCount <= $0.bytes.count ? $0 : nil }
  }

  /// Returns the file as seen by the next process, with separate shared memory.
  func afterProcessDeath() -> FileHistory {
    var copy = self
    if let shared {
      copy.shared = ByteBlock(count: shared.bytes.count)
      copy.shared?.bytes.copy(shared.bytes.bytes, to: 0)
    }
    return copy
  }
}

// MARK: - State after a crash

extension FileHistory {
  /// The number of changes that affect the length; a crash keeps a prefix of these changes.
  var lengthChangeCount: Int { changes.count { $0.byteCount != nil } }

  func withEverything() -> ChunkedBytes {
    hasDropped
      ? kept(lengths: lengthChangeCount, onto: durable) { _, _ in true } : newest
  }

  /// Returns the contents of the file after a crash that keeps the first `lengths` changes to the
  /// length, and the sectors for which `keeps` returns `true`.
  ///
  /// `keeps` is called with the index of a change and the index of a sector within that change.
  func kept(lengths: Int, onto base: ChunkedBytes, _ keeps: (Int, Int) -> Bool) -> ChunkedBytes {
    var bytes = base
    var byteCount = durable.count
    var lengthsSeen = 0
    for (index, change) in changes.enumerated() {
      if let count = change.byteCount {
        lengthsSeen += 1
        if lengthsSeen <= lengths {
          byteCount = count
          // A truncation that survives the crash has freed the bytes after the new end, so their
          // old contents must not reappear.
          if change.isCut { bytes.setCount(min(bytes.count, count)) }
        }
      }
      change.images.withBytes { images in
        let size = FileChange.sectorByteCount
        var start = 0
        // Copy each run of adjacent surviving sectors in one step.
        for sector in 0...change.sectorCount {
          if sector < change.sectorCount, keeps(index, sector) { continue }
          let run = images.slice(start * size, (sector - start) * size)
          bytes.write(run, at: (change.firstSector + start) * size)
          start = sector + 1
        }
      }
    }
    bytes.setCount(byteCount)
    return bytes
  }

  /// Returns the contents of the file after a simulated crash that keeps a random selection of the
  /// unsynced changes.
  ///
  /// - Parameter newestOrder: The sequence number of the most recent change to any file.
  func kept(by dice: inout CrashDice, newestOrder: Int) -> ChunkedBytes {
    guard !changes.isEmpty else { return durable }
    var lengths = dice.prefix(of: lengthChangeCount)
    if dice.mode == .tornNewest, let last = changes.last, last.order == newestOrder,
      last.byteCount != nil, !dice.keeps()
    {
      lengths -= 1
    }
    let base = dice.options.contains(.staleGarbage) ? withGarbage(&dice) : durable
    switch dice.mode {
    case .completeWrites:
      let complete = changes.map { _ in dice.keeps() }
      return kept(lengths: lengths, onto: base) { change, _ in complete[change] }
    case .tornNewest:
      let newest = changes.lastIndex { $0.order == newestOrder }
      let survivors = SectorSurvivors(changes, &dice, only: newest)
      return kept(lengths: lengths, onto: base) { change, sector in
        change != newest || survivors.contains(change, sector)
      }
    case .mostlyOld, .mostlyNew, .uniform:
      let survivors = SectorSurvivors(changes, &dice)
      return kept(lengths: lengths, onto: base) { survivors.contains($0, $1) }
    }
  }

  /// The sectors that survive a crash, chosen at random.
  private struct SectorSurvivors {
    private var choices: [[Bool]]

    /// - Parameter only: The index of the one change whose sectors are needed, or `nil` if the
    ///   sectors of all changes are needed.
    init(_ changes: [FileChange], _ dice: inout CrashDice, only: Int? = nil) {
      choices = []
      // The number of adjacent sectors that survive or are lost together.
      let size = dice.options.contains(.largeSectors) ? 8 : 1
      for (index, change) in changes.enumerated() {
        guard only == nil || only == index else {
          choices.append([])
          continue
        }
        var own: [Bool] = []
        var isEnded = false
        for sector in 0..<change.sectorCount {
          if let last = own.last, (change.firstSector + sector) % size != 0 {
            own.append(last)
          } else {
            let keeps = !isEnded && dice.keeps()
            isEnded = dice.options.contains(.tornEnds) && !keeps
            own.append(keeps)
          }
        }
        choices.append(own)
      }
    }

    func contains(_ change: Int, _ sector: Int) -> Bool { choices[change][sector] }
  }

  /// Returns the durable bytes, followed by random bytes in every sector that was added to the
  /// file.
  private func withGarbage(_ dice: inout CrashDice) -> ChunkedBytes {
    let size = FileChange.sectorByteCount
    let start = (durable.count + size - 1) / size * size
    let end = changes.compactMap(\.byteCount).max() ?? 0
    guard start < end else { return durable }
    var bytes = durable
    dice.generator.bytes(end - start).withBytes { bytes.write($0, at: start) }
    return bytes
  }

  /// Returns every state that a crash can leave if each write is kept either completely or not at
  /// all.
  ///
  /// - Returns: The states, or `nil` if there are more than `limit` of them.
  func allKept(limit: Int) -> [ChunkedBytes]? {
    var states: [ChunkedBytes] = []
    let byteCounts = [durable.count] + changes.compactMap(\.byteCount)
    for (lengths, byteCount) in byteCounts.enumerated() {
      // A write past the end of the file is invisible whether or not it survives, so it does not
      // add states.
      let visible = changes.indices.filter {
        !changes[$0].images.isEmpty && changes[$0].range.lowerBound < byteCount
      }
      guard visible.count < 30, states.count + 1 << visible.count <= limit else { return nil }
      for subset in 0..<1 << visible.count {
        let chosen = Set(visible.indices.filter { subset >> $0 & 1 == 1 }.map { visible[$0] })
        states.append(
          kept(lengths: lengths, onto: durable) { change, _ in chosen.contains(change) })
      }
    }
    return states
  }
}
