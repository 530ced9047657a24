/// A file system in the memory of this process.
///
/// Nothing in this file system is durable, so syncing has no effect. An open file remains usable
/// after it has been removed.
///
/// - Note: `@unchecked` is safe because all mutable state is accessed only under `lock`.
package final class MemoryFileSystem: FileSystem, @unchecked Sendable {
  package let bootIdentity: UInt64? = UInt64.random(in: .min ... .max)
  private let device = UInt64.random(in: .min ... .max)
  private let lock = Lock()
  private var files: [MemoryPath: MemoryContent] = [:]
  private var directories: Set<MemoryPath> = [MemoryPath("")]
  private var lastNumber: UInt64 = 0

  package init() {}

  package func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    try lock.withLock { () throws(StorageError) in
      let location = MemoryPath(path)
      guard !directories.contains(location) else {
        throw StorageError(
          .notAStore,
          "The item at this path is not a regular file. Check the path of the store.", file: path)
      }
      let content: MemoryContent
      if let existing = files[location] {
        content = existing
      } else if access == .create {
        try requireDirectory(location.parent, for: path)
        lastNumber += 1
        content = MemoryContent(FileIdentity(device: device, inode: lastNumber))
        files[location] = content
      } else if files[location.parent] != nil {
        throw MemoryPath.isNoDirectory(path)
      } else {
        return nil
      }
      return MemoryFile(content, path: path, isWritable: access != .read)
    }
  }

  package func createDirectory(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      let location = MemoryPath(path)
      guard files[location] == nil else { throw MemoryPath.isNoDirectory(path) }
      guard !directories.contains(location) else { return }
      try requireDirectory(location.parent, for: path)
      directories.insert(location)
    }
  }

  package func list(_ path: String) throws(StorageError) -> [String]? {
    try lock.withLock { () throws(StorageError) in
      let location = MemoryPath(path)
      guard files[location] == nil else { throw MemoryPath.isNoDirectory(path) }
      guard directories.contains(location) else { return nil }
      return
        (files.keys.filter { $0.lies(in: location) } + directories.filter { $0.lies(in: location) })
        .map(\.name)
    }
  }

  package func remove(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      let location = MemoryPath(path)
      guard !directories.contains(location) else {
        throw MemoryPath.isNoFile("remove the file", path)
      }
      files[location] = nil
    }
  }

  package func removeDirectory(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      let location = MemoryPath(path)
      let names = [files.keys.map(\.self), Array(directories)].joined()
      guard files[location] == nil, !names.contains(where: { $0.rest(below: location) != nil })
      else { throw MemoryPath.isTaken(path) }
      directories.remove(location)
    }
  }

  package func rename(_ source: String, to target: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      let (old, new) = (MemoryPath(source), MemoryPath(target))
      if directories.contains(old) { return try renameDirectory(old, to: new, target) }
      guard let content = files[old] else { throw MemoryPath.isNoFile("rename the file", source) }
      guard !directories.contains(new) else { throw MemoryPath.isTaken(target) }
      try requireDirectory(new.parent, for: target)
      files[old] = nil
      files[new] = content
    }
  }

  private func renameDirectory(
    _ old: MemoryPath, to new: MemoryPath, _ target: String
  ) throws(StorageError) {
    guard files[new] == nil, !directories.contains(new), !old.isRoot, new.rest(below: old) == nil
    else { throw MemoryPath.isTaken(target) }
    try requireDirectory(new.parent, for: target)
    for (location, content) in files {
      guard let rest = location.rest(below: old) else { continue }
      files[location] = nil
      files[MemoryPath(new.text + "/" + rest)] = content
    }
    for location in directories {
      guard let rest = location == old ? "" : location.rest(below: old) else { continue }
      directories.remove(location)
      directories.insert(MemoryPath(new.text + "/" + rest))
    }
  }

  package func watch(_ path: String) -> (any FileWatch)? {
    lock.withLock { files[MemoryPath(path)] }?.watch()
  }

  package func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    lock.withLock { directories.contains(MemoryPath(path)) ? .memory : nil }
  }

  package func syncDirectory(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requireDirectory(MemoryPath(path), for: path)
    }
  }

  package var wallClockMilliseconds: UInt64 { SystemThread.wallClockMilliseconds }

  package func random() -> UInt64 { UInt64.random(in: .min ... .max) }

  private func requireDirectory(_ location: MemoryPath, for path: String) throws(StorageError) {
    guard files[location] == nil else { throw MemoryPath.isNoDirectory(path) }
    guard directories.contains(location) else { throw MemoryPath.missingDirectory(path) }
  }
}

/// The bytes and locks of one file in memory, independent of the file's name.
///
/// - Note: `@unchecked` is safe because all mutable state is accessed only under `lock`.
private final class MemoryContent: @unchecked Sendable {
  /// The size of a chunk in bytes.
  ///
  /// Storing a file in chunks lets the file grow without copying bytes.
  private static let chunkByteCount = 64 << 10

  let identity: FileIdentity
  private let lock = Lock()
  private var chunks: [ByteBlock?] = []
  private var byteCount = 0
  private var locks = RangeLocks()
  private var sharedMemory: ByteBlock?
  private var watches = MemoryWatches()

  init(_ identity: FileIdentity) { self.identity = identity }

  func watch() -> MemoryWatch { lock.withLock { watches.add() } }

  func touch() { lock.withLock { watches.wakeAll() } }

  /// Splits a range at chunk boundaries, and calls `body` with each piece.
  private func forEachChunk(
    _ offset: Int, _ byteCount: Int, _ body: (_ chunk: Int, _ start: Int, _ length: Int) -> Void
  ) {
    var position = offset
    let end = offset + byteCount
    while position < end {
      let start = position % Self.chunkByteCount
      let length = min(end - position, Self.chunkByteCount - start)
      body(position / Self.chunkByteCount, start, length)
      position += length
    }
  }

  func read(into target: MutableBytes, at offset: UInt64) -> Int {
    lock.withLock { readLocked(into: target, at: offset) }
  }

  private func readLocked(into target: MutableBytes, at offset: UInt64) -> Int {
    guard offset < UInt64(byteCount) else { return 0 }
    let count = min(target.count, byteCount - Int(offset))
    var done = 0
    forEachChunk(Int(offset), count) { chunk, start, length in
      if let block = chunks[chunk] {
        target.copy(block.bytes.bytes.slice(start, length), to: done)
      } else {
        target.clear(done, length)
      }
      done += length
    }
    return count
  }

  func write(_ parts: [Bytes], at offset: Int) {
    lock.withLock {
      let total = parts.reduce(0) { $0 + $1.count }
      if total > 0, offset + total > byteCount { resize(offset + total) }
      var position = offset
      for part in parts {
        var done = 0
        forEachChunk(position, part.count) { chunk, start, length in
          block(chunk).bytes.copy(part.slice(done, length), to: start)
          done += length
        }
        position += part.count
      }
    }
  }

  private func block(_ chunk: Int) -> ByteBlock {
    if let block = chunks[chunk] { return block }
    let block = ByteBlock(count: Self.chunkByteCount)
    chunks[chunk] = block
    return block
  }

  func setByteCount(_ count: Int) { lock.withLock { resize(count) } }

  /// Changes the file's length, and clears the bytes past the end so that they later read as zeros.
  private func resize(_ count: Int) {
    let chunkCount = (count + Self.chunkByteCount - 1) / Self.chunkByteCount
    if chunkCount < chunks.count {
      chunks.removeLast(chunks.count - chunkCount)
    } else {
      chunks.append(contentsOf: repeatElement(nil, count: chunkCount - chunks.count))
    }
    let tail = count % Self.chunkByteCount
    if count < byteCount, tail > 0, let last = chunks[chunkCount - 1] {
      last.bytes.clear(tail, Self.chunkByteCount - tail)
    }
    byteCount = count
  }

  func length() -> UInt64 { lock.withLock { UInt64(byteCount) } }

  func allocatedByteCount() -> UInt64 {
    lock.withLock { UInt64(chunks.count { $0 != nil } * Self.chunkByteCount) }
  }

  /// Zeros a range, and frees the chunks that then contain only zeros.
  func punch(_ offset: Int, _ count: Int) {
    lock.withLock {
      let end = min(offset + count, byteCount)
      guard offset < end else { return }
      forEachChunk(offset, end - offset) { chunk, start, length in
        guard let block = chunks[chunk] else { return }
        block.bytes.clear(start, length)
        let words = stride(from: 0, to: Self.chunkByteCount, by: 8)
        if words.allSatisfy({ block.bytes.bytes.load64($0) == 0 }) { chunks[chunk] = nil }
      }
    }
  }

  /// Returns the memory that all mappings of this file share, or `nil` if the file is too short.
  ///
  /// The memory begins as a copy of the file. Later changes are not copied in either direction,
  /// because code that maps a file does not also read or write it.
  func shared(_ count: Int) -> ByteBlock? {
    lock.withLock {
      if sharedMemory == nil, count <= byteCount {
        let block = ByteBlock(count: byteCount)
        _ = readLocked(into: block.bytes, at: 0)
        sharedMemory = block
      }
      return sharedMemory.flatMap { count <= $0.bytes.count ? $0 : nil }
    }
  }

  func withLocks<R>(_ body: (inout RangeLocks) -> R) -> R { lock.withLock { body(&locks) } }
}

/// An open file in memory.
///
/// Closing the file releases its locks.
private final class MemoryFile: File {
  let path: String
  private let content: MemoryContent
  private let isWritable: Bool

  init(_ content: MemoryContent, path: String, isWritable: Bool) {
    self.content = content
    self.path = path
    self.isWritable = isWritable
  }

  deinit {
    let owner = ObjectIdentifier(self)
    content.withLocks { $0.releaseAll(of: owner) }
  }

  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    content.read(into: target, at: offset)
  }

  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    try requireWritable()
    content.write(parts, at: Int(offset))
  }

  func byteCount() throws(StorageError) -> UInt64 { content.length() }

  func reserve(byteCount: UInt64) throws(StorageError) {
    if content.length() < byteCount { try setByteCount(byteCount) }
  }

  func setByteCount(_ count: UInt64) throws(StorageError) {
    try requireWritable()
    content.setByteCount(Int(count))
  }

  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool {
    try requireWritable()
    content.punch(Int(range.lowerBound), range.count)
    return true
  }

  func allocatedByteCount() throws(StorageError) -> UInt64 { content.allocatedByteCount() }

  func sync() throws(StorageError) {}

  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping? { nil }

  func mapShared(byteCount: Int) throws(StorageError) -> Mapping {
    guard let memory = content.shared(byteCount) else {
      throw StorageError(
        .io,
        "Cannot map the file, because it is shorter than the mapping. Open the store again.",
        file: path)
    }
    // Let the mapping retain the memory, because a mapping may outlive the last reference to the
    // file.
    return Mapping(memory.bytes.slice(0, byteCount)) { _ in withExtendedLifetime(memory) {} }
  }

  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool {
    if kind == .exclusive { try requireWritable() }
    return content.withLocks { $0.set(kind, range, owner: ObjectIdentifier(self)) }
  }

  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>? {
    content.withLocks { $0.lockedByOthers(than: ObjectIdentifier(self), in: range) }
  }

  func identity() throws(StorageError) -> FileIdentity { content.identity }

  func touch() throws(StorageError) {
    try requireWritable()
    content.touch()
  }

  private func requireWritable() throws(StorageError) {
    guard !isWritable else { return }
    throw StorageError(
      .io,
      "Cannot write to the file, because it was opened for reading only. Open the store for "
        + "writing.", file: path)
  }
}
