/// An operation that removes generations from a backup directory by merging files.
struct BackupThinning {
  private let directory: BackupDirectory

  init(_ directory: BackupDirectory) { self.directory = directory }

  /// Removes the generations in `removed` from the directory.
  ///
  /// If a generation in `kept` builds on a removed generation, the method first merges the files of
  /// the two generations.
  ///
  /// A generation that is in neither set must not build on a generation in `removed`.
  func run(
    keeping kept: Set<FrameNumber>, removing removed: Set<FrameNumber>
  ) throws(StorageError) {
    // Remove incomplete files first. If a merge reused such a file, the file would keep its old
    // permissions.
    try directory.remove([])
    var names: Set<BackupName> = []
    for frame in kept.sorted() {
      names.insert(try merge(to: frame, after: directory.base(of: frame, among: kept)))
    }
    // Keep files whose base is missing or whose header is damaged, because an upload may still be
    // in progress.
    try directory.remove(
      directory.names.filter {
        !names.contains($0) && directory.canRestore(with: $0)
          && (kept.contains($0.frame) || removed.contains($0.frame))
      })
  }

  /// Returns the name of a single file that contains all changes from the generation `base` to the
  /// generation `frame`.
  ///
  /// If no such file exists, the method writes one by merging files. If any of the merged files is
  /// a full backup, the new file is also a full backup.
  private func merge(
    to frame: FrameNumber, after base: FrameNumber?
  ) throws(StorageError) -> BackupName {
    let names = try directory.chain(to: frame, after: base)
    if names.count == 1 { return names[0] }
    let chain = try BackupChain(directory, to: frame, after: base)
    var header = chain.newest
    header.base = chain.base
    header.names = chain.names
    // Copy the permissions of the generation's existing file, so that no additional users can read
    // the merged file.
    let mode = try directory.fileSystem.mode(of: directory.path + "/" + chain.newest.name.text)
    let fileSystem = try directory.fileSystem.entering(directory.path, newFileMode: mode)
    try BackupFile.write(header, in: directory.path, fileSystem) { write throws(StorageError) in
      try chain.forEachNewestImage(write)
    }
    return header.name
  }
}
