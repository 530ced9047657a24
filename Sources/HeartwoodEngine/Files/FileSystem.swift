/// The interface to the operating system: names, files, identities, time and randomness.
///
/// All input and output goes through this protocol and ``File``; code above this directory has no
/// other way. A test can therefore act as the disk: count the calls, make one fail, or choose the
/// state that a power cut leaves behind.
///
/// Thread-safe. Paths are absolute or relative to the process's working directory.
package protocol FileSystem: AnyObject, Sendable {
  /// Opens the file at `path`; `nil` if there is none and `access` does not create it.
  ///
  /// A name created here is durable only after ``syncDirectory(_:)``.
  func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)?

  /// Creates the directory if it does not exist; its parent must exist.
  func createDirectory(_ path: String) throws(StorageError)

  /// Creates a directory that users with read permission by a file's mode can list; the same as
  /// ``createDirectory(_:)`` if the mode is `nil`.
  func createDirectory(_ path: String, forFilesOf mode: UInt16?) throws(StorageError)

  /// Returns the same file system with one directory held open: it resolves the names in it
  /// relative to the open directory, even if its path changes, and follows no links.
  ///
  /// - Parameter newFileMode: The mode of files created there while the directory has no file
  ///   `pages`: later files take mode and group from that file. `nil` uses the default of the
  ///   process.
  func entering(_ path: String, newFileMode: UInt16?) throws(StorageError) -> any FileSystem

  /// Returns the identity of the file at a path, without following a link; `nil` if it is not a
  /// regular file.
  func identity(of path: String) throws(StorageError) -> FileIdentity?

  /// Returns the permissions of a file; `nil` if it does not exist or the file system has no
  /// permissions.
  func mode(of path: String) throws(StorageError) -> UInt16?

  /// Returns a stamp of the names in a directory: if two stamps are equal, no name has changed in
  /// between.
  ///
  /// `nil` while that is undecidable, because the last change was a moment ago.
  func stamp(of path: String) throws(StorageError) -> DirectoryStamp?

  /// Returns the names in a directory, in no particular order; `nil` if it does not exist.
  func list(_ path: String) throws(StorageError) -> [String]?

  /// Removes a file; it is no error if it does not exist.
  func remove(_ path: String) throws(StorageError)

  /// Renames a file atomically, replacing any file with the new name; or renames a directory, if
  /// the new name is not in use.
  func rename(_ source: String, to target: String) throws(StorageError)

  /// Returns the type of the volume with a directory; `nil` if the directory does not exist.
  func volumeType(of path: String) throws(StorageError) -> VolumeType?

  /// Makes the names in a directory durable: all creations, renames and removals so far.
  func syncDirectory(_ path: String) throws(StorageError)

  /// Watches the file at `path` while the result exists; `nil` if watching is not possible.
  func watch(_ path: String) -> (any FileWatch)?

  /// The identity of the file system: two open files are the same only if their domains are.
  var domain: ObjectIdentifier { get }

  /// A number that differs between two boots of a machine; `nil` if the platform provides none.
  var bootIdentity: UInt64? { get }

  /// Milliseconds since 1970, by a clock that may jump.
  var wallClockMilliseconds: UInt64 { get }

  /// Returns an unpredictable number.
  func random() -> UInt64
}

extension FileSystem {
  /// Opens the file at `path`, and creates it if there is none.
  package func create(_ path: String) throws(StorageError) -> any File {
    guard let file = try open(path, .create) else {
      throw StorageError(.io, "The file disappeared while it was created.", file: path)
    }
    return file
  }

  package var domain: ObjectIdentifier { ObjectIdentifier(self) }

  package func watch(_ path: String) -> (any FileWatch)? { nil }

  // For file systems without permissions.
  package func createDirectory(_ path: String, forFilesOf mode: UInt16?) throws(StorageError) {
    try createDirectory(path)
  }

  package func mode(of path: String) throws(StorageError) -> UInt16? { nil }

  // For file systems that only this process can change.
  package func entering(
    _ path: String, newFileMode: UInt16?
  ) throws(StorageError) -> any FileSystem { self }

  package func identity(of path: String) throws(StorageError) -> FileIdentity? {
    try open(path, .read)?.identity()
  }

  package func stamp(of path: String) throws(StorageError) -> DirectoryStamp? { .constant }
}

/// The time of the last change of the names in a directory.
package struct DirectoryStamp: Hashable, Sendable {
  let nanoseconds: Int64

  /// The stamp of directories whose names only this process changes.
  package static let constant = DirectoryStamp(nanoseconds: .min)
}

/// The mode in which a file is opened.
package enum FileAccess: Sendable {
  case read
  case write
  /// Reading and writing; creates the file if it does not exist.
  case create
}

/// An open file.
///
/// Thread-safe: every transfer states its offset. The descriptor closes with the last reference.
package protocol File: AnyObject, Sendable {
  /// The path it was opened with, for error messages.
  var path: String { get }

  /// Reads up to `target.count` bytes; returns the number of bytes before the end of the file.
  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int

  /// Writes all `parts` contiguously and completely, or throws.
  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError)

  /// The length in bytes.
  func byteCount() throws(StorageError) -> UInt64

  /// Truncates or extends the file; an extension reads as zeros.
  func setByteCount(_ count: UInt64) throws(StorageError)

  /// Extends the file to `byteCount` bytes if it is shorter, and allocates disk space for the
  /// extension, which reads as zeros.
  func reserve(byteCount: UInt64) throws(StorageError)

  /// Deallocates the disk space of a range of complete 4,096-byte blocks; the range then reads as
  /// zeros and the length stays.
  ///
  /// Returns false, and changes nothing, if the file system does not support it.
  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool

  /// Returns the number of bytes this file occupies on the file system, without holes.
  func allocatedByteCount() throws(StorageError) -> UInt64

  /// Makes the length and all earlier writes durable, with the strongest means of the platform.
  func sync() throws(StorageError)

  /// Maps `byteCount` bytes read-only while the result exists; `nil` if the file system cannot.
  ///
  /// The range may extend past the end of the file; touching bytes there is fatal.
  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping?

  /// Maps the first `byteCount` bytes, shared with every process that does the same, for reading
  /// and, unless the file was opened for reading only, for writing.
  ///
  /// The file must be at least that long.
  func mapShared(byteCount: Int) throws(StorageError) -> Mapping

  /// Tries to set, convert or release a lock on a range of bytes; false if a lock of another owner
  /// conflicts.
  ///
  /// The owner is this open file, and the lock ends with the process.
  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool

  /// Sets a lock on a range of bytes, and waits for conflicting ones to be released.
  func waitForLock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError)

  /// Returns the part in `range` of a lock of another owner; not necessarily of the lowest one.
  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>?

  /// Returns the identity of this file, which does not depend on its name.
  func identity() throws(StorageError) -> FileIdentity

  /// Wakes the watchers of the file by updating its modification time.
  func touch() throws(StorageError)
}

extension File {
  // For files that cannot be watched.
  package func touch() throws(StorageError) {}

  /// Polls, for files whose locks have no queue.
  package func waitForLock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) {
    while try !lock(kind, range) { SystemThread.sleep(milliseconds: 1) }
  }
}

/// The kind of lock that a call requests.
package enum LockKind: Sendable {
  case shared
  case exclusive
  case none
}

/// The device and the inode number of a file.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

/// Memory mapped to a file; unmapped with its last reference.
///
/// - Note: `@unchecked` because the memory is raw: nothing in this process writes read-only
///   mappings, and shared ones are accessed through atomic words only.
package final class Mapping: @unchecked Sendable {
  package let bytes: MutableBytes
  /// A callback before each access to shared memory: the offset, and whether it may change the
  /// memory.
  ///
  /// Words that processes share are input and output like calls, so a test file system may
  /// intercept them.
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
