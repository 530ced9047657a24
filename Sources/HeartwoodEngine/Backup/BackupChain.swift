/// A chain of backup files, in which each file builds on the generation of the previous file.
struct BackupChain {
  /// The header of the last file.
  let newest: BackupHeader
  /// The total number of images in the files.
  let imageCount: Int
  private let directory: BackupDirectory
  /// The files, in generation order.
  private let files: [BackupFile]

  /// Opens the files needed to restore a generation.
  ///
  /// - Parameter base: See ``BackupDirectory/chain(to:after:)``.
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

  /// The generations that the files record for names.
  var names: [String: FrameNumber] { files.map(\.header).names }

  /// The commit on which the first file builds, or `nil` if the first file contains all pages.
  var base: BackupStart? { files.first?.header.base }

  /// Calls `body` with every image.
  ///
  /// The images are ordered from the last file to the first, and by page number within each file.
  func forEachImage(
    _ body: (PageNumber, Bytes) throws(StorageError) -> Void
  ) throws(StorageError) {
    for file in files.reversed() {
      do throws(StorageError) {
        try file.forEachImage { page, image, _ throws(StorageError) in try body(page, image) }
      } catch { throw directory.explained(error, file.header.name, newest.point.frame) }
    }
  }

  // MARK: Merging

  /// The location of a page image.
  struct Image {
    let page: PageNumber
    fileprivate let file: Int
    fileprivate let position: Int
  }

  /// Returns the newest image of each page that exists in the last generation, in page order.
  func newestImages() throws(StorageError) -> [Image] {
    var images: [PageNumber: Image] = [:]
    for (index, file) in files.enumerated() {
      do throws(StorageError) {
        try file.forEachImage { page, _, position throws(StorageError) in
          images[page] = Image(page: page, file: index, position: position)
        }
      } catch { throw directory.explained(error, file.header.name, newest.point.frame) }
    }
    return images.values.filter { $0.page < newest.point.pageCount }.sorted { $0.page < $1.page }
  }

  /// Reads the image at a location.
  func read(_ image: Image, into target: MutableBytes) throws(StorageError) {
    try files[image.file].read(image.position, into: target, page: image.page)
  }
}

extension BackupHeader {
  /// Throws an error unless this file directly continues the given file.
  fileprivate func requireBase(_ other: BackupHeader?) throws(StorageError) {
    guard base == other.map({ BackupStart($0.point) }),
      other.map({ $0.identity == identity && $0.geometry == geometry }) ?? true
    else {
      throw Self.damaged("This file does not continue the previous backup file.", name.text)
    }
  }
}

extension BackupDirectory {
  /// Extends an error's message with a sentence about what can be restored without the damaged
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
