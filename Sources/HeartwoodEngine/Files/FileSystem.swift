/// The interface for all of the engine's input and output.
///
/// Tests use their own implementations to count calls, make a call fail, or choose the state that a
/// power cut leaves behind. Implementations are thread-safe. Paths are absolute or relative to the
/// working directory.
package protocol FileSystem: AnyObject, Sendable {
  /// Opens a file, or returns `nil` if it does not exist and `access` is not ``FileAccess/create``.
  ///
  /// The name of a new file is durable only after ``syncDirectory(_:)``.
  func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)?

  /// Creates a directory if it does not exist.
  ///
  /// The parent directory must exist.
  func createDirectory(_ path: String) throws(StorageError)

  /// Creates a directory for files with the given mode.
  ///
  /// Every user who may read the files can list and enter the directory. If `mode` is `nil`, the
  /// directory gets the process's default mode.
  func createDirectory(_ path: String, forFilesOf mode: UInt16?) throws(StorageError)

  /// Returns a view of this file system that holds the directory at `path` open.
  ///
  /// The view does not follow links. It resolves names relative to the open directory, even if the
  /// directory has been moved.
  ///
  /// - Parameter newFileMode: The mode of files that are created before the `pages` file exists, or
  ///   `nil` for the process's default. Files created later take their mode and group from `pages`.
  func entering(_ path: String, newFileMode: UInt16?) throws(StorageError) -> any FileSystem

  /// Returns the identity of a regular file, or `nil` if there is no such file.
  ///
  /// This method does not follow links.
  func identity(of path: String) throws(StorageError) -> FileIdentity?

  /// Returns a file's permission bits, or `nil` if the file does not exist or its file system does
  /// not support permissions.
  func mode(of path: String) throws(StorageError) -> UInt16?

  /// Returns a stamp that changes whenever the names in the directory at `path` change.
  ///
  /// The result is `nil` shortly after a change, because a second change might not alter the stamp.
  func stamp(of path: String) throws(StorageError) -> DirectoryStamp?

  /// Returns the names in a directory, in no particular order, or `nil` if the directory does not
  /// exist.
  func list(_ path: String) throws(StorageError) -> [String]?

  /// Removes a file if it exists.
  func remove(_ path: String) throws(StorageError)

  /// Removes a directory if it exists.
  ///
  /// The directory must be empty.
  func removeDirectory(_ path: String) throws(StorageError)

  /// Renames a file or a directory.
  ///
  /// Renaming a file atomically replaces any file that already has the new name. The new name of a
  /// directory must not be in use.
  func rename(_ source: String, to target: String) throws(StorageError)

  /// Returns the type of a directory's volume, or `nil` if the directory does not exist.
  func volumeType(of path: String) throws(StorageError) -> VolumeType?

  /// Makes all earlier file creations, renames and removals in a directory durable.
  func syncDirectory(_ path: String) throws(StorageError)

  /// Returns `path` with symbolic links resolved, even if the last link is dangling.
  func resolvingLinks(_ path: String) -> String

  /// Starts watching a file, or returns `nil` if the file cannot be watched.
  ///
  /// The watch ends when the returned object is released.
  func watch(_ path: String) -> (any FileWatch)?

  /// An identifier that two file systems share only if they can open the same files.
  var domain: ObjectIdentifier { get }

  /// A number that changes with every boot of the machine, or `nil` if the platform provides none.
  var bootIdentity: UInt64? { get }

  /// The wall-clock time in milliseconds since 1970.
  ///
  /// The time can jump when the clock is adjusted.
  var wallClockMilliseconds: UInt64 { get }

  /// Returns an unpredictable number.
  func random() -> UInt64
}

extension FileSystem {
  /// Opens the file at `path`, creating it if it does not exist.
  package func create(_ path: String) throws(StorageError) -> any File {
    guard let file = try open(path, .create) else {
      throw StorageError(
        .io, "The file disappeared while it was being created. Try again.", file: path)
    }
    return file
  }

  package var domain: ObjectIdentifier { ObjectIdentifier(self) }

  package func watch(_ path: String) -> (any FileWatch)? { nil }

  // This default implementation is for file systems without links, so there is nothing to resolve.
  package func resolvingLinks(_ path: String) -> String { path }

  // These default implementations are for file systems without permissions, so they ignore modes.
  package func createDirectory(_ path: String, forFilesOf mode: UInt16?) throws(StorageError) {
    try createDirectory(path)
  }

  package func mode(of path: String) throws(StorageError) -> UInt16? { nil }

  // These default implementations are for file systems that no other process can change.
  package func entering(
    _ path: String, newFileMode: UInt16?
  ) throws(StorageError) -> any FileSystem { self }

  package func identity(of path: String) throws(StorageError) -> FileIdentity? {
    try open(path, .read)?.identity()
  }

  package func stamp(of path: String) throws(StorageError) -> DirectoryStamp? { .constant }
}

/// The time at which the names in a directory last changed.
package struct DirectoryStamp: Hashable, Sendable {
  let nanoseconds: Int64

  /// The stamp of a directory whose changes need not be detected.
  package static let constant = DirectoryStamp(nanoseconds: .min)
}

/// The mode in which a file is opened.
package enum FileAccess: Sendable {
  case read
  case write
  /// Opens the file for reading and writing, creating it if it does not exist.
  case create
}

/// An open file, which is closed when its last reference is released.
///
/// Files are thread-safe, because every read and write specifies its offset.
package protocol File: AnyObject, Sendable {
  /// The path that was used to open the file, for error messages.
  var path: String { get }

  /// Reads bytes into `target`, and returns the number of bytes read.
  ///
  /// The method fills `target` unless it reaches the end of the file first.
  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int

  /// Writes `parts` consecutively, or throws an error if not all bytes can be written.
  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError)

  func byteCount() throws(StorageError) -> UInt64

  /// Truncates the file to `count` bytes, or extends it with zeros.
  func setByteCount(_ count: UInt64) throws(StorageError)

  /// Extends the file to `byteCount` bytes if it is shorter, allocating disk space for the added
  /// zeros.
  func reserve(byteCount: UInt64) throws(StorageError)

  /// Deallocates the disk space of the complete 4,096-byte blocks in a range.
  ///
  /// The blocks then read as zeros, and the file keeps its length. The method returns `false` if
  /// the file system cannot deallocate blocks.
  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool

  /// Returns the number of bytes that this file occupies on disk, not counting holes.
  func allocatedByteCount() throws(StorageError) -> UInt64

  /// Makes the file's length and all earlier writes durable with the platform's strongest sync.
  func sync() throws(StorageError)

  /// Maps a range as read-only memory, or returns `nil` if the file system does not support
  /// mappings.
  ///
  /// The range may extend past the end of the file, but accessing bytes past the end terminates the
  /// process.
  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping?

  /// Maps the first `byteCount` bytes as memory shared with other processes.
  ///
  /// The file must be at least that long. The memory is writable unless the file was opened for
  /// reading only.
  func mapShared(byteCount: Int) throws(StorageError) -> Mapping

  /// Sets, converts or releases a lock, or returns `false` if another open file holds a conflicting
  /// lock.
  ///
  /// The lock belongs to this open file. Closing the file releases the lock.
  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool

  /// Waits until all conflicting locks have been released, then sets a lock on a range of bytes.
  func waitForLock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError)

  /// Returns a part of `range` that another open file has locked, or `nil` if there is none.
  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>?

  /// Returns the identity of this file, which does not depend on the file's name.
  func identity() throws(StorageError) -> FileIdentity

  /// Wakes the watchers of the file by updating its modification time.
  func touch() throws(StorageError)
}

extension File {
  // This default implementation does nothing, because it is for files that cannot be watched.
  package func touch() throws(StorageError) {}

  /// Polls until the lock is acquired.
  ///
  /// This default implementation is for file systems whose locks have no queue.
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

/// The device number and the inode number of a file.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

/// A range of a file, mapped into memory until the last reference to this object is released.
///
/// - Note: `@unchecked` is needed because the memory is raw. It is safe because this process never
///   writes to read-only mappings, and uses only atomic operations on shared mappings.
package final class Mapping: @unchecked Sendable {
  package let bytes: MutableBytes
  /// An optional closure that is called before each access to shared memory.
  ///
  /// Test file systems use the closure to intercept the communication between processes.
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
