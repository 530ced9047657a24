/// A chain of backup files, in which each file builds on the generation of the previous file.
struct BackupChain {
  /// The header of the last file.
  let newest: BackupHeader
  /// The total number of images in the files.
  let imageCount: Int
  private let directory: BackupDirectory
  /// The files, in generation order.
  private let files: [BackupFile]

  /// Creates a chain by opening the files needed to restore the generation `frame`.
  ///
  /// - Parameter base: The generation after which the chain starts, or `nil` to start with a full
  ///   backup. Files up to `base` are not opened; see ``BackupDirectory/chain(to:after:)``.
  /// - Throws: `generationExpired` if the directory does not contain the generation, or `corrupt`
  ///   if a file is missing or damaged.
  init(
    _ directory: BackupDirectory, to frame: FrameNumber, after base: FrameNumber? = nil
  ) throws(StorageError) {
    var files: [BackupFile] = []
    for name in try directory.chain(to: frame, after: base) {
      do throws(StorageError) {
        let file = try directory.file(name)
        if name.base == nil || name.base != base {
          try file.header.requireBase(files.last?.header)
        }
        files.append(file)
      } catch { throw directory.explained(error, name, frame) }
    }
    self.directory = directory
    self.files = files
    newest = files[files.count - 1].header
    imageCount = files.reduce(0) { $0 + $1.header.imageCount }
  }

  /// The named generations recorded in the files.
  var names: [String: FrameNumber] { files.map(\.header).names }

  /// The commit that the first file builds on, or `nil` if the first file contains all pages.
  var base: BackupStart? { files.first?.header.base }

  /// Calls `body` with every image.
  ///
  /// The images are ordered from the last file to the first, and by page number within each file.
  func forEachImage(
    _ body: (PageNumber, Bytes) throws(StorageError) -> Void
  ) throws(StorageError) {
    for file in files.reversed() {
      do throws(StorageError) {
        try file.forEachImage(body)
      } catch { throw directory.explained(error, file.header.name, newest.point.frame) }
    }
  }

  // MARK: Merging

  /// Calls `body` with the newest image of each page that exists in the last generation, in page
  /// order.
  ///
  /// - Complexity: O(n log k) for n images in k files. Uses about 8 MB of memory, or one page for
  ///   each file if that is more, regardless of the number of images.
  func forEachNewestImage(
    _ body: (Bytes) throws(StorageError) -> Void
  ) throws(StorageError) {
    let byteCount = BackupFile.chunkByteCount * 8 / files.count
    // Begin with the newest file, so that the newest image of a page comes first.
    var readers = files.reversed().map { BackupImageReader($0, byteCount: byteCount) }
    defer { for reader in readers { reader.keep() } }
    var queue = ReaderQueue()
    for reader in readers.indices {
      if let page = try moveToNext(&readers, reader) { queue.add(page, of: reader) }
    }
    var last: PageNumber?
    while let (page, reader) = queue.first {
      if page != last, page < newest.point.pageCount { try body(readers[reader].image) }
      last = page
      queue.replaceFirst(with: try moveToNext(&readers, reader))
    }
  }

  /// Moves a reader to its next image, and returns the page number of that image, or `nil` if there
  /// is none.
  private func moveToNext(
    _ readers: inout [BackupImageReader], _ index: Int
  ) throws(StorageError) -> PageNumber? {
    do throws(StorageError) {
      return try readers[index].moveToNext() ? readers[index].page : nil
    } catch {
      let file = files[files.count - 1 - index]
      throw directory.explained(error, file.header.name, newest.point.frame)
    }
  }
}

/// The readers of several files, ordered by the page numbers of their current images.
private struct ReaderQueue {
  /// A binary heap whose elements combine a page number with the index of a reader.
  private var heap: [UInt64] = []

  /// The reader with the lowest page number.
  ///
  /// If several readers have this page number, the one with the lowest index comes first.
  var first: (page: PageNumber, reader: Int)? {
    heap.first.map { (PageNumber($0 >> 32), Int($0 & 0xFFFF_FFFF)) }
  }

  mutating func add(_ page: PageNumber, of reader: Int) {
    heap.append(UInt64(page) << 32 | UInt64(reader))
    var child = heap.count - 1
    while child > 0, heap[child] < heap[(child - 1) / 2] {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Changes the first reader's page number to `page`, or removes the reader from the queue if
  /// `page` is `nil`.
  mutating func replaceFirst(with page: PageNumber?) {
    guard let first else { return }
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    moveFirstDown()
    if let page { add(page, of: first.reader) }
  }

  private mutating func moveFirstDown() {
    var parent = 0
    while 2 * parent + 1 < heap.count {
      let (left, right) = (2 * parent + 1, 2 * parent + 2)
      let least = right < heap.count && heap[right] < heap[left] ? right : left
      guard heap[least] < heap[parent] else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}

extension BackupHeader {
  /// Throws an error unless this file builds directly on the file `other` or, if `other` is `nil`,
  /// on no file.
  fileprivate func requireBase(_ other: BackupHeader?) throws(StorageError) {
    guard base == other.map({ BackupStart($0.point) }),
      other.map({ $0.identity == identity && $0.geometry == geometry }) ?? true
    else {
      throw Self.damaged("it is not based on the previous backup file", name.text)
    }
  }
}

extension BackupDirectory {
  /// Returns the error with an additional sentence about what can be restored without the damaged
  /// file.
  fileprivate func explained(
    _ error: StorageError, _ name: BackupName, _ frame: FrameNumber
  ) -> StorageError {
    guard error.kind == .corrupt, error.file == name.text else { return error }
    var explained = error
    explained.message += " " + restorable(upTo: frame, without: name)
    return explained
  }
}
