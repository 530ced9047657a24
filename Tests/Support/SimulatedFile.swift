import HeartwoodEngine

/// An open file on a simulated disk, which owns the locks that are set through it.
final class SimulatedFile: File {
  let path: String
  /// The number of the file on its disk.
  let number: Int
  private let disk: SimulatedDisk
  private let isWritable: Bool

  init(_ disk: SimulatedDisk, number: Int, path: String, isWritable: Bool) {
    self.disk = disk
    self.number = number
    self.path = path
    self.isWritable = isWritable
  }

  deinit { disk.close(number: number, owner: ObjectIdentifier(self)) }

  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    try disk.read(self, target, at: offset)
  }

  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    try requireWritable()
    try disk.write(self, parts, at: offset)
  }

  func byteCount() throws(StorageError) -> UInt64 { try disk.byteCount(self) }

  func reserve(byteCount: UInt64) throws(StorageError) {
    if try disk.byteCount(self) < byteCount { try setByteCount(byteCount) }
  }

  func setByteCount(_ count: UInt64) throws(StorageError) {
    try requireWritable()
    try disk.setByteCount(self, count)
  }

  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool {
    try requireWritable()
    return try disk.punch(self, range)
  }

  func allocatedByteCount() throws(StorageError) -> UInt64 { try disk.allocatedByteCount(self) }

  func sync() throws(StorageError) { try disk.sync(self) }

  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping? { nil }

  func mapShared(byteCount: Int) throws(StorageError) -> Mapping {
    return try disk.mapShared(self, byteCount)
  }

  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool {
    if kind == .exclusive { try requireWritable() }
    return try disk.lock(self, kind, range)
  }

  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>? {
    try disk.lockedByOthers(self, in: range)
  }

  func identity() throws(StorageError) -> FileIdentity {
    FileIdentity(device: 1, inode: UInt64(number))
  }

  private func requireWritable() throws(StorageError) {
    guard !isWritable else { return }
    throw StorageError(.io, "The file was opened read-only and cannot be written to.", file: path)
  }
}
