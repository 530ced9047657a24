/// What the engine needs from an operating system: names, files, identity, time and chance.
///
/// Everything that leaves the process goes through this protocol and ``File``, and nothing above
/// this folder knows another way. So a test can be the disk: count the calls, make one fail, or
/// decide what a power cut leaves behind.
///
/// Thread-safe. Paths are absolute or relative to the process's working directory.
package protocol FileSystem: AnyObject, Sendable {
  /// Opens the file at `path`; `nil` if there is none and `access` does not create it.
  ///
  /// A name made here is durable only after ``syncDirectory(_:)``.
  func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)?

  /// Makes the directory if it does not exist; its parent must exist.
  func createDirectory(_ path: String) throws(StorageError)

  /// Makes a directory that users who may read files of a mode can list; as
  /// ``createDirectory(_:)`` if the mode is `nil`.
  func createDirectory(_ path: String, forFilesOf mode: UInt16?) throws(StorageError)

  /// The same files, with one directory held open: its names are reached through it from now on,
  /// whatever becomes of its path, and without following links.
  ///
  /// - Parameter newFileMode: The mode of files made there, until the directory has a file `pages`:
  ///   new files take the mode and group of that. `nil` leaves it to the process.
  func entering(_ path: String, newFileMode: UInt16?) throws(StorageError) -> any FileSystem

  /// The file that a path leads to, without following a link; `nil` if that is no regular file.
  func identity(of path: String) throws(StorageError) -> FileIdentity?

  /// The permissions of a file; `nil` if there is none, or where files have none.
  func mode(of path: String) throws(StorageError) -> UInt16?

  /// The state of the names in a directory: two that are equal say that no name has changed in
  /// between. `nil` while that cannot be told, because the last change was a moment ago.
  func stamp(of path: String) throws(StorageError) -> DirectoryStamp?

  /// The names in a directory, in no particular order; `nil` if there is no such directory.
  func list(_ path: String) throws(StorageError) -> [String]?

  /// Removes a file; no error if it is gone already.
  func remove(_ path: String) throws(StorageError)

  /// Gives a file another name, replacing the file that had it, in one step; or a folder a name
  /// that nothing has.
  func rename(_ source: String, to target: String) throws(StorageError)

  /// The type of the volume a directory is on; `nil` if there is no such directory.
  func volumeType(of path: String) throws(StorageError) -> VolumeType?

  /// Makes the names in a directory durable: creations, renames and removals until now.
  func syncDirectory(_ path: String) throws(StorageError)

  /// Watches the file at `path` until the result is gone; `nil` if there is nothing to watch by.
  func watch(_ path: String) -> (any FileWatch)?

  /// Tells file systems apart: two opened files are the same only if their file systems are.
  var domain: ObjectIdentifier { get }

  /// A number that differs between two boots of a machine; `nil` if the platform has none.
  var bootIdentity: UInt64? { get }

  /// Milliseconds since 1970, by a clock that may jump.
  var wallClockMilliseconds: UInt64 { get }

  /// A number nobody can predict.
  func random() -> UInt64
}

extension FileSystem {
  package var domain: ObjectIdentifier { ObjectIdentifier(self) }

  package func watch(_ path: String) -> (any FileWatch)? { nil }

  // For files without permissions.
  package func createDirectory(_ path: String, forFilesOf mode: UInt16?) throws(StorageError) {
    try createDirectory(path)
  }

  package func mode(of path: String) throws(StorageError) -> UInt16? { nil }

  // For names that only this process can change.
  package func entering(
    _ path: String, newFileMode: UInt16?
  ) throws(StorageError) -> any FileSystem { self }

  package func identity(of path: String) throws(StorageError) -> FileIdentity? {
    try open(path, .read)?.identity()
  }

  package func stamp(of path: String) throws(StorageError) -> DirectoryStamp? { .constant }
}

/// When the names in a directory last changed.
package struct DirectoryStamp: Hashable, Sendable {
  let nanoseconds: Int64

  /// The stamp of directories in which only this process changes names.
  package static let constant = DirectoryStamp(nanoseconds: .min)
}

/// How a file is opened.
package enum FileAccess: Sendable {
  case read
  case write
  /// Reading and writing; the file is made if it is missing.
  case create
}

/// An open file.
///
/// Thread-safe: transfers carry their own offset. The descriptor closes with the last reference.
package protocol File: AnyObject, Sendable {
  /// The path it was opened with, for messages.
  var path: String { get }

  /// Reads up to `target.count` bytes; returns how many there were before the end of the file.
  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int

  /// Writes all parts one after the other, completely, or throws.
  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError)

  /// The length in bytes.
  func byteCount() throws(StorageError) -> UInt64

  /// Cuts or extends the file; an extension reads as zeros.
  func setByteCount(_ count: UInt64) throws(StorageError)

  /// Makes the file `byteCount` bytes long if it is shorter, and takes the space for what is new
  /// from the file system; it reads as zeros.
  func reserve(byteCount: UInt64) throws(StorageError)

  /// Gives the space of a range of whole 4,096-byte blocks back to the file system; the range then
  /// reads as zeros and the length stays. False, with nothing changed, if the file system cannot.
  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool

  /// The bytes of the file system this file takes, holes left out.
  func allocatedByteCount() throws(StorageError) -> UInt64

  /// Makes what was written before this call durable, and the length, with the strongest means the
  /// platform has.
  func sync() throws(StorageError)

  /// Maps `byteCount` bytes read-only for as long as the result lives, or `nil` if this file system
  /// cannot. The range may reach past the end of the file; touching bytes there is fatal.
  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping?

  /// Maps the first `byteCount` bytes for reading and, unless the file was opened for reading only,
  /// writing, shared with every process that does the same. The file must be that long already.
  func mapShared(byteCount: Int) throws(StorageError) -> Mapping

  /// Tries to set, convert or release a lock on a range of bytes; false if somebody else's is in
  /// the way. The owner is this open file, and the lock goes when the process does.
  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool

  /// Sets a lock on a range of bytes, and waits for those in the way to go.
  func waitForLock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError)

  /// Some lock of another owner in `range`, as the part of it that lies in the range; not
  /// necessarily the lowest.
  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>?

  /// Which file this is, whatever its name.
  func identity() throws(StorageError) -> FileIdentity

  /// Wakes those who watch the file, by giving it another time of change.
  func touch() throws(StorageError)
}

extension File {
  // For files that nobody can watch.
  package func touch() throws(StorageError) {}

  /// Asks again and again, for files whose locks have no queue.
  package func waitForLock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) {
    while try !lock(kind, range) { SystemThread.sleep(milliseconds: 1) }
  }
}

/// What a lock call asks for.
package enum LockKind: Sendable {
  case shared
  case exclusive
  case none
}

/// The device and the number of a file on it.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

/// Memory that shows a file; unmapped with its last reference.
///
/// - Note: `@unchecked` because the memory is raw: read-only mappings are written by nobody in this
///   process, shared ones are used through atomic words only.
package final class Mapping: @unchecked Sendable {
  package let bytes: MutableBytes
  /// Told of accesses to shared memory before they happen: the place, and whether it may change.
  ///
  /// Words that processes share leave this one as calls do, so a file system may want to see them.
  package let onAccess: (@Sendable (_ offset: Int, _ isWrite: Bool) -> Void)?
  private let unmap: @Sendable (MutableBytes) -> Void

  package init(
    _ bytes: MutableBytes, onAccess: (@Sendable (Int, Bool) -> Void)? = nil,
    unmap: @escaping @Sendable (MutableBytes) -> Void
  ) {
    self.bytes = bytes
    self.onAccess = onAccess
    self.unmap = unmap
  }

  deinit { unmap(bytes) }
}
