/// An operation that removes generations from a backup directory by merging files.
struct BackupThinning {
  private let directory: BackupDirectory

  init(_ directory: BackupDirectory) { self.directory = directory }

  /// Removes all generations except those in `frames`, which must be in ascending order.
  func run(keeping frames: [FrameNumber]) throws(StorageError) {
    var kept: Set<BackupName> = []
    var before: FrameNumber?
    for frame in frames {
      kept.insert(try merge(to: frame, after: before))
      before = frame
    }
    // Keep files whose base is missing, because an upload of the base may still be in progress.
    try directory.remove(
      directory.names.filter { !kept.contains($0) && directory.canRestore(with: $0) })
  }

  /// Returns the single file that leads from one generation to another.
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
    let images = try chain.newestImages()
    header.imageCount = images.count
    let block = ByteBlock(count: header.geometry.pageByteCount)
    defer { block.keep() }
    try BackupFile.write(header, in: directory.path, directory.fileSystem) {
      write throws(StorageError) in
      for image in images {
        try chain.read(image, into: block.bytes)
        try write(block.bytes.bytes)
      }
    }
    return header.name
  }
}
