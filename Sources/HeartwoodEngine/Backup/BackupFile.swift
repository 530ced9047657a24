/// A complete file of a backup directory.
///
/// The file is open only during a read, because a chain may have more files than a process can
/// open.
package struct BackupFile {
  package let header: BackupHeader
  private let directory: String
  private let fileSystem: any FileSystem
  private let name: String

  /// The number of bytes to read or write at a time.
  private static let chunkByteCount = 1 << 20

  /// Opens a file and checks its header and its length.
  package init(
    _ name: BackupName, in directory: String, _ fileSystem: any FileSystem
  ) throws(StorageError) {
    self.name = name.text
    self.directory = directory
    self.fileSystem = fileSystem
    header = try BackupHeader.read(
      try Self.opened(name.text, in: directory, fileSystem), name.text)
  }

  private static func opened(
    _ name: String, in directory: String, _ fileSystem: any FileSystem
  ) throws(StorageError) -> any File {
    guard let file = try fileSystem.open(directory + "/" + name, .read) else {
      throw .corrupt("The backup file is missing.", file: name)
    }
    return file
  }

  /// Calls `body` with the number, bytes and position of each page image, in page order.
  ///
  /// - Throws: `corrupt` if an image or the digest is damaged, or any error that `body` throws.
  package func forEachImage(
    _ body: (PageNumber, Bytes, Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    let file = try Self.opened(name, in: directory, fileSystem)
    let pageByteCount = header.geometry.pageByteCount
    let perChunk = max(min(Self.chunkByteCount / pageByteCount, header.imageCount), 1)
    let block = ByteBlock(count: perChunk * pageByteCount)
    defer { block.keep() }
    var offset = UInt64(header.byteCount)
    var (digest, next, count) = (UInt64(0), UInt64(0), 0)
    while count < header.imageCount {
      let imageCount = min(perChunk, header.imageCount - count)
      let target = MutableBytes(block.bytes.base, count: imageCount * pageByteCount)
      guard try file.read(into: target, at: offset) == target.count else {
        throw BackupHeader.damaged("The file became shorter while it was being read.", name)
      }
      for position in 0..<imageCount {
        let image = target.bytes.slice(position * pageByteCount, pageByteCount)
        let page = try page(of: image, from: next)
        next = UInt64(page) + 1
        digest = BackupLayout.digest(digest, image.load64(PageLayout.hash.offset))
        try body(page, image, count + position)
      }
      offset += UInt64(target.count)
      count += imageCount
    }
    guard try file.read(into: MutableBytes(block.bytes.base, count: 8), at: offset) == 8,
      block.bytes.bytes.load64(0) == digest
    else { throw BackupHeader.damaged("The digest does not match the pages.", name) }
  }

  /// Reads the image at a position that ``forEachImage(_:)`` passed to its closure.
  func read(
    _ position: Int, into target: MutableBytes, page: PageNumber
  ) throws(StorageError) {
    let file = try Self.opened(name, in: directory, fileSystem)
    let offset = UInt64(header.byteCount) + UInt64(position) << UInt64(header.geometry.pageShift)
    guard try file.read(into: target, at: offset) == target.count,
      try self.page(of: target.bytes, from: UInt64(page)) == page
    else { throw BackupHeader.damaged("The file changed while it was being read.", name) }
  }

  /// Returns an image's page number, or throws an error if the image is damaged.
  private func page(of image: Bytes, from least: UInt64) throws(StorageError) -> PageNumber {
    let page = image.load32(PageLayout.page.offset)
    let frame = image.load64(PageLayout.frame.offset)
    guard
      PageChecks.hash(image, seed: header.identity.seed) == image.load64(PageLayout.hash.offset),
      page >= least, page < header.point.pageCount, frame > header.base?.frame ?? 0,
      frame <= header.point.frame
    else { throw BackupHeader.damaged("The bytes of a page do not match the page's hash.", name) }
    return page
  }

  /// Writes a file under a temporary name, and renames it when it is complete and synced.
  ///
  /// - Parameter images: A closure that calls its argument once for each image, in page order. The
  ///   number of images must equal the number in the header.
  /// - Complexity: One sync of the file, and one of the directory.
  static func write(
    _ header: BackupHeader, in directory: String, _ fileSystem: any FileSystem,
    _ images: (_ write: (Bytes) throws(StorageError) -> Void) throws(StorageError) -> Void
  ) throws(StorageError) {
    let path = directory + "/" + header.name.text
    let file = try fileSystem.create(path + BackupDirectory.partialSuffix)
    if try file.byteCount() > 0 { try file.setByteCount(0) }
    let head = header.encoded()
    defer { head.keep() }
    try file.write([head.bytes.bytes], at: 0)
    let pageByteCount = header.geometry.pageByteCount
    let block = ByteBlock(count: max(chunkByteCount / pageByteCount, 1) * pageByteCount)
    defer { block.keep() }
    var offset = UInt64(head.bytes.count)
    var (digest, filled) = (UInt64(0), 0)
    func flush() throws(StorageError) {
      guard filled > 0 else { return }
      try file.write([block.bytes.bytes.slice(0, filled)], at: offset)
      offset += UInt64(filled)
      filled = 0
    }
    try images { image throws(StorageError) in
      digest = BackupLayout.digest(digest, image.load64(PageLayout.hash.offset))
      block.bytes.copy(image, to: filled)
      filled += pageByteCount
      if filled == block.bytes.count { try flush() }
    }
    try flush()
    precondition(
      offset + UInt64(BackupLayout.digestByteCount) == header.fileByteCount,
      "The number of page images differs from the number in the header.")
    block.bytes.store64(digest, 0)
    try file.write([block.bytes.bytes.slice(0, BackupLayout.digestByteCount)], at: offset)
    try file.sync()
    try fileSystem.rename(path + BackupDirectory.partialSuffix, to: path)
    try fileSystem.syncDirectory(directory)
  }
}
