import Foundation

/// A temporary file that collects bytes and is removed when this object is deallocated.
final class TemporaryFile {
  private let url: URL
  private let handle: FileHandle
  private var buffer = Data()

  /// Creates an empty file in the directory for temporary files.
  ///
  /// - Throws: `CocoaError` if the file cannot be created.
  init() throws {
    url = FileManager.default.temporaryDirectory
      .appending(path: "heartwood-import-\(UUID().uuidString)")
    try Data().write(to: url, options: .withoutOverwriting)
    handle = try FileHandle(forWritingTo: url)
  }

  deinit {
    try? handle.close()
    try? FileManager.default.removeItem(at: url)
  }

  /// Appends bytes to the file.
  func append(_ bytes: some Sequence<UInt8>) throws {
    buffer.append(contentsOf: bytes)
    if buffer.count >= FileHandle.chunkByteCount { try flush() }
  }

  /// Returns a function that reads the file from the beginning, one chunk per call.
  ///
  /// At the end of the file, the function returns no bytes.
  func reader() throws -> () throws -> [UInt8] {
    try flush()
    let input = try FileHandle(forReadingFrom: url)
    return { try withExtendedLifetime(self) { try input.readChunk() } }
  }

  private func flush() throws {
    try handle.write(contentsOf: buffer)
    buffer.removeAll(keepingCapacity: true)
  }
}

extension FileHandle {
  static var chunkByteCount: Int { 1 << 18 }

  /// Returns the file's next bytes, or an empty array at the end of the file.
  func readChunk() throws -> [UInt8] {
    [UInt8](try read(upToCount: Self.chunkByteCount) ?? Data())
  }
}
