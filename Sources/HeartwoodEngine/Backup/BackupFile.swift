/// A complete file in a backup directory.
///
/// The file is open only while it is being read, because a chain may contain more files than a
/// process can have open.
package struct BackupFile {
  package let header: BackupHeader
  private let directory: String
  private let fileSystem: any FileSystem
  private let name: String

  /// The number of bytes to read or write at a time.
  static let chunkByteCount = 1 << 20

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

  /// Calls `body` with the number and bytes of each page image, in page order.
  ///
  /// - Throws: `corrupt` if an image or the digest is damaged, or any error that `body` throws.
  package func forEachImage(
    _ body: (PageNumber, Bytes) throws(StorageError) -> Void
  ) throws(StorageError) {
    var reader = BackupImageReader(self, byteCount: Self.chunkByteCount)
    defer { reader.keep() }
    while try reader.moveToNext() { try body(reader.page, reader.image) }
  }

  /// Reads bytes at an offset, and returns the number of bytes read.
  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    try Self.opened(name, in: directory, fileSystem).read(into: target, at: offset)
  }

  /// Returns an image's page number, or throws `corrupt` if the image is damaged or its page number
  /// is less than `least`.
  func page(of image: Bytes, from least: UInt64) throws(StorageError) -> PageNumber {
    let page = image.load32(PageLayout.page.offset)
    let frame = image.load64(PageLayout.frame.offset)
    guard
      PageChecks.hash(image, seed: header.identity.seed) == image.load64(PageLayout.hash.offset),
      page >= least, page < header.point.pageCount, frame > header.base?.frame ?? 0,
      frame <= header.point.frame
    else {
      throw BackupHeader.damaged("the contents of a page do not match its hash", name)
    }
    return page
  }

  /// Writes a file under a temporary name, and renames it when it is complete and synced.
  ///
  /// The caller must first have removed all incomplete files from the directory.
  ///
  /// - Parameters:
  ///   - header: The header to write. The method sets the header's image count.
  ///   - images: A closure that passes the images to its argument one at a time, in page order.
  /// - Complexity: One sync of the file, and one of the directory.
  static func write(
    _ header: BackupHeader, in directory: String, _ fileSystem: any FileSystem,
    _ images: (_ write: (Bytes) throws(StorageError) -> Void) throws(StorageError) -> Void
  ) throws(StorageError) {
    var header = header
    header.imageCount = 0
    let path = directory + "/" + header.name.text
    let file = try fileSystem.create(path + BackupDirectory.partialSuffix)
    let pageByteCount = header.geometry.pageByteCount
    let block = ByteBlock(count: max(chunkByteCount / pageByteCount, 1) * pageByteCount)
    defer { block.keep() }
    var offset = UInt64(header.byteCount)
    var (digest, filled) = (UInt64(0), 0)
    func flush() throws(StorageError) {
      guard filled > 0 else { return }
      try file.write([block.bytes.bytes.slice(0, filled)], at: offset)
      offset += UInt64(filled)
      filled = 0
    }
    try images { image throws(StorageError) in
      header.imageCount += 1
      digest = BackupLayout.digest(digest, image.load64(PageLayout.hash.offset))
      block.bytes.copy(image, to: filled)
      filled += pageByteCount
      if filled == block.bytes.count { try flush() }
    }
    try flush()
    block.bytes.store64(digest, 0)
    try file.write([block.bytes.bytes.slice(0, BackupLayout.digestByteCount)], at: offset)
    let head = header.encoded()
    defer { head.keep() }
    try file.write([head.bytes.bytes], at: 0)
    try file.sync()
    try fileSystem.rename(path + BackupDirectory.partialSuffix, to: path)
    try fileSystem.syncDirectory(directory)
  }
}
