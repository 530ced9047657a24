/// A reader that moves through the page images of a backup file, in page order.
///
/// The reader verifies each image that it reads. After the last image, the reader verifies the
/// digest of the file.
struct BackupImageReader {
  private let file: BackupFile
  private let pageByteCount: Int
  /// A buffer for images that are read together.
  private let block: ByteBlock
  private let imagesPerBlock: Int
  /// The index in the file of the first image in `block`.
  private var blockStart = 0
  private var blockImageCount = 0
  /// The index of the current image in the file, or -1 before the first image.
  private var position = -1
  private var digest: UInt64 = 0
  /// The smallest page number that the next image can have.
  private var leastPage: UInt64 = 0
  /// The page number of the current image.
  private(set) var page: PageNumber = 0

  /// Creates a reader positioned before the first image.
  ///
  /// - Parameter byteCount: The number of bytes to read at a time. The reader reads at least one
  ///   image at a time.
  init(_ file: BackupFile, byteCount: Int) {
    self.file = file
    pageByteCount = file.header.geometry.pageByteCount
    imagesPerBlock = max(min(byteCount / pageByteCount, file.header.imageCount), 1)
    block = ByteBlock(count: imagesPerBlock * pageByteCount)
  }

  /// The bytes of the current image.
  ///
  /// The bytes are valid until the reader moves or is released.
  var image: Bytes {
    block.bytes.bytes.slice((position - blockStart) * pageByteCount, pageByteCount)
  }

  /// Ensures that the reader's buffer is not freed before this call.
  func keep() { block.keep() }

  /// Moves to the next image, or returns `false` after the last image.
  ///
  /// - Throws: `corrupt` if the image or the digest is damaged, or `io`.
  mutating func moveToNext() throws(StorageError) -> Bool {
    position += 1
    guard position < file.header.imageCount else {
      try requireDigest()
      return false
    }
    if position == blockStart + blockImageCount { try readBlock() }
    page = try file.page(of: image, from: leastPage)
    leastPage = UInt64(page) + 1
    digest = BackupLayout.digest(digest, image.load64(PageLayout.hash.offset))
    return true
  }

  private mutating func readBlock() throws(StorageError) {
    blockStart = position
    blockImageCount = min(imagesPerBlock, file.header.imageCount - position)
    let target = MutableBytes(block.bytes.base, count: blockImageCount * pageByteCount)
    guard try file.read(into: target, at: offset) == target.count else {
      throw BackupHeader.damaged(
        "it was truncated while it was being read", file.header.name.text)
    }
  }

  private func requireDigest() throws(StorageError) {
    let found = ByteBlock(count: BackupLayout.digestByteCount)
    defer { found.keep() }
    guard try file.read(into: found.bytes, at: offset) == found.bytes.count,
      found.bytes.bytes.load64(0) == digest
    else {
      throw BackupHeader.damaged(
        "its digest does not match its pages", file.header.name.text)
    }
  }

  /// The offset of the current image in the file.
  private var offset: UInt64 {
    UInt64(file.header.byteCount) + UInt64(position) << UInt64(file.header.geometry.pageShift)
  }
}
