/// An operation that restores a generation from a backup directory as a new store.
struct BackupRestore {
  enum Kind {
    /// A store with the identity of the store that was backed up.
    case original
    /// A store with a new identity.
    case fork
    /// A store that has the original identity and keeps following the backup.
    case replica
  }

  private let directory: BackupDirectory
  private let target: String
  private let kind: Kind
  private let progress: ((StoreProgress) -> Void)?

  init(
    _ directory: BackupDirectory, to target: String, _ kind: Kind,
    _ progress: ((StoreProgress) -> Void)?
  ) {
    (self.directory, self.target, self.kind, self.progress) = (directory, target, kind, progress)
  }

  func run(_ frame: FrameNumber) throws {
    let files = try BackupChain(directory, to: frame)
    var partial = try PartialStore(at: target, on: directory.fileSystem, purpose: "restored store")
    // Copy the backup's file mode, because a restored store must not be readable by more users than
    // its backup.
    partial.fileMode = try directory.fileSystem.mode(
      of: directory.path + "/" + files.newest.name.text)
    let (path, mode) = (partial.partialPath, partial.fileMode)
    try partial.create {
      try fill(path, mode, from: files)
    }
  }

  private func fill(
    _ path: String, _ mode: UInt16?, from chain: BackupChain
  ) throws(StorageError) {
    let header = restored(chain.newest)
    let fileSystem = try directory.fileSystem.entering(path, newFileMode: mode)
    let locks = StoreLocks(file: try fileSystem.create(path + "/locks"))
    guard try locks.tryLock(.exclusive, byte: LockByte.presenceReadWrite) else {
      throw StorageError(
        .busy,
        "Another process is creating a store at this path. Wait until that process has finished, "
          + "and then try again.",
        file: path)
    }
    let file = try fileSystem.create(path + "/pages")
    try file.setByteCount(header.geometry.offset(ofPage: header.point.pageCount))
    var pages = RestoredPages(header, file, isFork: kind == .fork)
    let steps = ProgressReport(total: chain.imageCount, progress)
    var count = 0
    try chain.forEachImage { page, image throws(StorageError) in
      try pages.write(page, image)
      count += 1
      steps.reach(count)
    }
    try pages.finish()
    if kind == .replica {
      let log = LogFiles(
        fileSystem: fileSystem, directory: path, geometry: header.geometry,
        identity: header.identity, isMapped: false, isWritable: true)
      try ReplicaRecord.file.replace(with: ReplicaRecord().encoded(for: header.identity), log)
    }
    // Write the header slot last, so that a page file with missing pages is never mistaken for a
    // store.
    try file.sync()
    let slot = HeaderSlot(
      geometry: header.geometry, identity: header.identity, sequence: 1,
      checkpointed: header.point, durableUpTo: header.point.frame, lineages: header.lineages)
    let block = ByteBlock(count: HeaderSlotLayout.byteCount)
    defer { block.keep() }
    slot.encode(to: block.bytes)
    try file.write([block.bytes.bytes], at: HeaderSlotLayout.offsets[0])
    try file.sync()
    steps.finish()
  }

  /// Returns the last backup file's header, adapted to the new store's identity.
  private func restored(_ header: BackupHeader) -> BackupHeader {
    guard kind == .fork else { return header }
    let fileSystem = directory.fileSystem
    var fork = header
    fork.identity = StoreIdentity(high: fileSystem.random(), low: fileSystem.random())
    fork.point = CommitPoint(
      frame: header.point.frame, digest: header.point.digest, lineage: fileSystem.random(),
      pageCount: header.point.pageCount, time: header.point.time)
    fork.lineages = []
    return fork
  }
}

/// The pages of a store that is being restored.
///
/// The pages are written file by file, starting with the newest file.
private struct RestoredPages {
  private let pageCount: PageNumber
  private let geometry: Geometry
  private let file: any File
  /// The seed for a fork's page hashes, or `nil` if the hashes stay unchanged.
  private let seed: UInt64?
  /// A bit for each page, set once the page has been written.
  private var written: [UInt64]
  /// A buffer for adjacent pages that are written together.
  private let run: ByteBlock
  private var runStart: PageNumber = 0
  private var runByteCount = 0

  init(_ header: BackupHeader, _ file: any File, isFork: Bool) {
    pageCount = header.point.pageCount
    geometry = header.geometry
    self.file = file
    seed = isFork ? header.identity.seed : nil
    written = [UInt64](repeating: 0, count: (Int(pageCount) + 63) / 64)
    run = ByteBlock(count: max(1 << 20, geometry.pageByteCount))
  }

  private func isWritten(_ page: PageNumber) -> Bool {
    written[Int(page) / 64] >> UInt64(page % 64) & 1 != 0
  }

  /// Writes a page of the restored generation, unless a newer image has already been written.
  mutating func write(_ page: PageNumber, _ image: Bytes) throws(StorageError) {
    guard page < pageCount, !isWritten(page) else { return }
    written[Int(page) / 64] |= 1 << UInt64(page % 64)
    let next = Int(runStart) + runByteCount >> geometry.pageShift
    if Int(page) != next || runByteCount == run.bytes.count {
      try flush()
      runStart = page
    }
    run.bytes.copy(image, to: runByteCount)
    if let seed {
      let page = MutableBytes(run.bytes.base + runByteCount, count: image.count)
      _ = PageChecks.stamp(page, frame: image.load64(PageLayout.frame.offset), seed: seed)
    }
    runByteCount += image.count
  }

  private mutating func flush() throws(StorageError) {
    defer { run.keep() }
    guard runByteCount > 0 else { return }
    try file.write(
      [run.bytes.bytes.slice(0, runByteCount)], at: geometry.offset(ofPage: runStart))
    runByteCount = 0
  }

  /// Writes the buffered pages, and checks that every page in use has been written.
  mutating func finish() throws(StorageError) {
    try flush()
    let block = ByteBlock(count: geometry.pageByteCount)
    defer { block.keep() }
    let perBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: geometry.pageByteCount)
    for bitmap in stride(from: 0, to: Int(pageCount), by: perBitmap) {
      let number = PageNumber(bitmap)
      guard isWritten(number),
        try file.read(into: block.bytes, at: geometry.offset(ofPage: number)) == block.bytes.count,
        block.bytes.bytes.load8(PageLayout.kind.offset) == PageKind.bitmap.rawValue
      else { throw missing(number) }
      for page in bitmap..<min(bitmap + perBitmap, Int(pageCount))
      where Bitmap.bit(page - bitmap, in: block.bytes.bytes) && !isWritten(PageNumber(page)) {
        throw missing(PageNumber(page))
      }
    }
  }

  private func missing(_ page: PageNumber) -> StorageError {
    .corrupt(
      "The backup is corrupt: the generation uses a page that no backup file contains. Restore "
        + "another generation.",
      page: page)
  }
}
