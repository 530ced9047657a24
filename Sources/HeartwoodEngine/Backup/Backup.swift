/// A store's backup directory, from which each backed-up generation can be restored.
///
/// ``Store/backup(to:progress:)`` adds generations. `Docs/Reference/FileFormat.md` specifies the
/// files.
public struct Backup: Sendable {
  /// A generation that can be restored.
  public struct RestorePoint: Hashable, Sendable {
    /// The generation itself.
    public var generation: Generation
    /// The commit time of the generation, in milliseconds since 1970 (UTC).
    public var time: UInt64
    /// The names that the generation had in the store when this backup or a later one was made.
    public var names: [String]
    /// The size in bytes of the file that the backup added.
    public var byteCount: Int
    /// A Boolean value that indicates whether the file contains all pages instead of only the pages
    /// changed since an earlier generation.
    public var isFull: Bool

    init(_ header: BackupHeader) {
      generation = Generation(frame: header.point.frame)
      time = header.point.time
      names = header.names.filter { $0.value == header.point.frame }.keys.sorted()
      byteCount = Int(clamping: header.fileByteCount)
      isFull = header.base == nil
    }
  }

  let path: String
  let fileSystem: any FileSystem

  /// Creates a reference to the backup directory at the given path.
  public init(at path: String) { self.init(at: path, on: PosixFileSystem()) }

  package init(at path: String, on fileSystem: any FileSystem) {
    (self.path, self.fileSystem) = (path, fileSystem)
  }

  /// Returns the generations that can be restored, oldest first.
  ///
  /// The method skips files with damaged headers. It does not read the page images.
  ///
  /// - Throws: `notAStore` if the directory contains no backups. Also throws `incompatibleFormat`
  ///   or `io`.
  /// - Complexity: Reads the header of each file.
  public func restorePoints() throws -> [RestorePoint] {
    try restorePoints(in: BackupDirectory(path, on: fileSystem))
  }

  private func restorePoints(in directory: BackupDirectory) throws -> [RestorePoint] {
    let headers = try directory.readableHeaders()
    var names: [FrameNumber: [String]] = [:]
    for (name, frame) in headers.names {
      names[frame, default: []].append(name)
    }
    return headers.map { header in
      var point = RestorePoint(header)
      point.names = names[header.point.frame, default: []].sorted()
      return point
    }
  }

  /// Restores a generation as a new store.
  ///
  /// The new store keeps the identity of the original, so tokens for the generation stay valid. The
  /// next commit in the new store begins a new lineage. The method writes the store to `target`
  /// with the suffix `.partial`, and renames it to `target` when it is complete and synced.
  ///
  /// - Parameters:
  ///   - generation: The generation to restore, or `nil` for the newest one. It must belong to one
  ///     of the ``restorePoints()``.
  ///   - target: A path that does not exist yet. Its parent directory must exist.
  ///   - asFork: Whether to give the new store a new identity, like that of a copied store. A fork
  ///     rejects tokens and backup directories of the original.
  ///   - progress: A closure called on this thread each time another 1% of the pages has been read.
  /// - Returns: The restored generation.
  /// - Throws: `generationExpired` if the directory does not contain the generation, or `corrupt`
  ///   if a file is missing or damaged. The message of a `corrupt` error describes what can still
  ///   be restored. Throws `invalidArgument` if `target` exists. Also throws `busy`, `notAStore`,
  ///   `incompatibleFormat`, `io` or `diskFull`. If an error is thrown, either `target` does not
  ///   exist, or it contains the complete store. The latter is possible only if the sync of the
  ///   parent directory failed.
  /// - Complexity: Reads the files that contain the generation's pages, verifies each page in them,
  ///   and writes each page of the generation once. Performs three syncs, plus directory syncs.
  @discardableResult
  public func restore(
    _ generation: Generation? = nil, to target: String, asFork: Bool = false,
    progress: ((StoreProgress) -> Void)? = nil
  ) throws -> Generation {
    try restore(generation, to: target, as: asFork ? .fork : .original, progress)
  }

  func restore(
    _ generation: Generation?, to target: String, as kind: BackupRestore.Kind,
    _ progress: ((StoreProgress) -> Void)?
  ) throws -> Generation {
    let directory = try BackupDirectory(path, on: fileSystem)
    // Choose the newest file even if it is unusable, because the method must not silently restore
    // an older state.
    guard let frame = generation?.frame ?? directory.names.last?.frame else {
      throw StorageError(
        .notAStore, "The directory contains no backup. Check the path.", file: path)
    }
    try BackupRestore(directory, to: target, kind, progress).run(frame)
    return Generation(frame: frame)
  }

  /// Removes the restore points for which `isKept` returns `false`.
  ///
  /// If a later restore point depends on a removed one, the method merges their files.
  ///
  /// The method never removes the newest restore point or a file with a damaged or incomplete
  /// header. It also keeps the restore points on which such a file builds.
  ///
  /// - Parameter isKept: A closure that returns whether to keep a restore point. While it runs, no
  ///   backup can be added.
  /// - Returns: The number of removed restore points.
  /// - Throws: `busy` while a backup is in progress, or `corrupt` if a file to be merged is
  ///   damaged. Also throws `notAStore`, `incompatibleFormat`, `io` or `diskFull`. An error never
  ///   causes the loss of a restore point that `isKept` accepted.
  /// - Complexity: For each run of adjacent removed points, reads the files of these points and the
  ///   next file once, and writes one file that replaces them. Memory use does not depend on the
  ///   number of pages.
  @discardableResult
  public func thin(keeping isKept: (RestorePoint) throws -> Bool) throws -> Int {
    try BackupDirectory(path, on: fileSystem).withLock { directory in
      let points = try restorePoints(in: directory)
      guard let newest = points.last else { return 0 }
      let readable = Set(points.map(\.generation.frame))
      // A file without a readable header may still be uploading. Keep every file that it builds on,
      // so that its generation can be restored once the upload has ended.
      var needed: Set<FrameNumber> = []
      for frame in directory.frames where !readable.contains(frame) {
        needed.formUnion(try directory.chain(to: frame).map(\.frame))
      }
      let removed = try points.filter { point in
        try point != newest && !isKept(point) && !needed.contains(point.generation.frame)
      }.map(\.generation.frame)
      try BackupThinning(directory).run(
        keeping: readable.union(needed).subtracting(removed), removing: Set(removed))
      return removed.count
    }
  }
}
