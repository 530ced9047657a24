import Foundation
import HeartwoodEngine

/// Information about a store that the engine's public API does not provide.
struct StoreFacts {
  /// The version of the file format that this tool reads and writes.
  static let formatVersion = Int(HeaderSlotLayout.currentVersion)

  /// The random number that identifies the store, in hexadecimal.
  ///
  /// Every file of the store contains this number.
  let identity: String
  /// The lineage of the newest generation, in hexadecimal.
  let lineage: String
  /// The commit time of the newest generation, in milliseconds since 1970.
  let time: UInt64
  let pageByteCount: Int
  let segmentByteCount: Int
  /// The total number of pages in the newest generation, including free pages.
  let pageCount: Int
  let freePageCount: Int
  /// The length of the page file, in bytes.
  let fileByteCount: Int
  /// The disk space occupied by the page file, in bytes, not counting holes.
  let fileAllocatedByteCount: Int

  /// Creates the information from the store's files and from a snapshot of the newest generation.
  init(of store: Store, _ snapshot: Snapshot) throws {
    let files = store.files
    identity = JSONText.digits(files.identity.high) + JSONText.digits(files.identity.low)
    lineage = JSONText.digits(snapshot.state.point.lineage)
    time = snapshot.state.point.time
    pageByteCount = files.geometry.pageByteCount
    segmentByteCount = files.geometry.segmentByteCount
    pageCount = Int(snapshot.state.point.pageCount)
    let used = UsedPages(view: snapshot.state.view, geometry: files.geometry)
    freePageCount = pageCount - (try used.count())
    fileByteCount = Int(clamping: try files.pageFile.file.byteCount())
    fileAllocatedByteCount = Int(clamping: try files.pageFile.file.allocatedByteCount())
    withExtendedLifetime(snapshot) {}
  }

  /// Returns whether any process, including this process, has the store open.
  ///
  /// To find out whether another process has the store open, call this method before this process
  /// opens the store. Once this process has opened the store, the result is always `true`.
  static func isOpenElsewhere(_ path: String) throws -> Bool {
    let presence = LockByte.presenceReadWrite..<LockByte.presenceReadOnly + 1
    guard let file = try PosixFileSystem().open(path + "/locks", .read) else { return false }
    return try file.lockedByOthers(in: presence) != nil
  }
}
