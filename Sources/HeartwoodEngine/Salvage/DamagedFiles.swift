/// A read-only view of a file system, for reading a damaged store.
///
/// Every operation that would change a file throws `readOnly`, so no code that uses the view can
/// change the damaged store. Unreadable blocks of the medium read as zeros, so the pages that
/// contain them fail their hash check, like other damaged pages.
final class DamagedFiles: FileSystem {
  private let base: any FileSystem
  /// The names of files that ``list(_:)`` omits.
  private let hidden: Set<String>
  let unreadable: UnreadableBlocks

  init(
    _ base: any FileSystem, hiding hidden: Set<String> = [],
    _ unreadable: UnreadableBlocks = UnreadableBlocks()
  ) {
    self.base = base
    self.hidden = hidden
    self.unreadable = unreadable
  }

  /// Returns a view that also omits the given files from listings.
  func hiding(_ names: Set<String>) -> DamagedFiles {
    DamagedFiles(base, hiding: hidden.union(names), unreadable)
  }

  func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    guard access == .read else { throw Self.refusal(path) }
    return try base.open(path, .read).map { DamagedFile($0, unreadable) }
  }

  func list(_ path: String) throws(StorageError) -> [String]? {
    try base.list(path)?.filter { !hidden.contains($0) }
  }

  func mode(of path: String) throws(StorageError) -> UInt16? { try base.mode(of: path) }

  func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    try base.volumeType(of: path)
  }

  func createDirectory(_ path: String) throws(StorageError) { throw Self.refusal(path) }
  func remove(_ path: String) throws(StorageError) { throw Self.refusal(path) }
  func removeDirectory(_ path: String) throws(StorageError) { throw Self.refusal(path) }
  func syncDirectory(_ path: String) throws(StorageError) { throw Self.refusal(path) }
  func rename(_ source: String, to target: String) throws(StorageError) {
    throw Self.refusal(source)
  }

  var bootIdentity: UInt64? { base.bootIdentity }
  var wallClockMilliseconds: UInt64 { base.wallClockMilliseconds }
  func random() -> UInt64 { base.random() }

  static func refusal(_ path: String) -> StorageError {
    StorageError(
      .readOnly, "A damaged store cannot be changed. Write to the new store instead.", file: path)
  }
}

/// The blocks that could not be read.
final class UnreadableBlocks: @unchecked Sendable {
  // `@unchecked` is safe because `blocks` is accessed only under `lock`.
  private let lock = Lock()
  private var blocks: Set<Block> = []

  private struct Block: Hashable {
    let path: String
    let offset: UInt64
  }

  func insert(_ path: String, _ offset: UInt64) {
    lock.withLock { _ = blocks.insert(Block(path: path, offset: offset)) }
  }

  var count: Int { lock.withLock { blocks.count } }
}

/// A file of a damaged store.
private final class DamagedFile: File {
  private let base: any File
  private let unreadable: UnreadableBlocks

  /// The size of the blocks in which a file is read after a read has failed.
  private static let blockByteCount = 4096

  init(_ base: any File, _ unreadable: UnreadableBlocks) {
    self.base = base
    self.unreadable = unreadable
  }

  var path: String { base.path }

  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    do throws(StorageError) {
      return try base.read(into: target, at: offset)
    } catch {
      guard error.kind == .io else { throw error }
    }
    // The read failed at an unknown block, so read the blocks one by one.
    let length = try base.byteCount()
    let available = length > offset ? Int(clamping: length - offset) : 0
    let count = min(target.count, available)
    var done = 0
    while done < count {
      let step = min(Self.blockByteCount, count - done)
      let block = target.slice(done, step)
      do throws(StorageError) {
        guard try base.read(into: block, at: offset + UInt64(done)) == step else { return done }
      } catch {
        guard error.kind == .io else { throw error }
        block.clear(0, step)
        unreadable.insert(path, offset + UInt64(done))
      }
      done += step
    }
    return count
  }

  func byteCount() throws(StorageError) -> UInt64 { try base.byteCount() }
  func allocatedByteCount() throws(StorageError) -> UInt64 { try base.allocatedByteCount() }
  func identity() throws(StorageError) -> FileIdentity { try base.identity() }
  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>? {
    try base.lockedByOthers(in: range)
  }

  // Do not map the file. Reading an unreadable block through a mapping would end the process.
  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping? { nil }

  func mapShared(byteCount: Int) throws(StorageError) -> Mapping {
    throw DamagedFiles.refusal(path)
  }
  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    throw DamagedFiles.refusal(path)
  }
  func setByteCount(_ count: UInt64) throws(StorageError) { throw DamagedFiles.refusal(path) }
  func reserve(byteCount: UInt64) throws(StorageError) { throw DamagedFiles.refusal(path) }
  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool {
    throw DamagedFiles.refusal(path)
  }
  func sync() throws(StorageError) { throw DamagedFiles.refusal(path) }
  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool {
    throw DamagedFiles.refusal(path)
  }
}
