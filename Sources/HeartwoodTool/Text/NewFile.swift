import Foundation

/// A file that replaces another one when it is complete.
///
/// If it is not completed, the other one does not change.
final class NewFile {
  private let path: String
  private let temporaryPath: String
  private let handle: FileHandle
  private var isFinished = false

  /// Creates the file beside the one that it will replace.
  init(replacing path: String) throws(ToolFailure) {
    self.path = path
    temporaryPath = Self.temporaryPath(beside: path)
    do {
      try Data().write(to: URL(filePath: temporaryPath), options: .withoutOverwriting)
      handle = try FileHandle(forWritingTo: URL(filePath: temporaryPath))
    } catch {
      throw Self.failure(path, error)
    }
  }

  deinit {
    if !isFinished { try? FileManager.default.removeItem(atPath: temporaryPath) }
  }

  private static func failure(_ path: String, _ error: any Error) -> ToolFailure {
    .refused(
      "\(path) could not be written: \(error.localizedDescription) Use another path.")
  }

  func write(_ data: Data) throws(ToolFailure) {
    do { try handle.write(contentsOf: data) } catch { throw Self.failure(path, error) }
  }

  /// Replaces the other file.
  func finish() throws(ToolFailure) {
    do {
      try handle.synchronize()
      try handle.close()
    } catch {
      throw Self.failure(path, error)
    }
    try Self.replace(path, with: temporaryPath)
    isFinished = true
  }

  /// Returns the path of a file that can be renamed to another one.
  static func temporaryPath(beside path: String) -> String {
    let url = URL(filePath: path)
    return url.deletingLastPathComponent()
      .appending(path: ".\(url.lastPathComponent).heartwoodctl-\(UUID().uuidString)")
      .path(percentEncoded: false)
  }

  /// Renames a complete file, which replaces another one, or removes it if that fails.
  static func replace(_ path: String, with file: String) throws(ToolFailure) {
    guard rename(file, path) == 0 else {
      let reason = String(cString: strerror(errno))
      try? FileManager.default.removeItem(atPath: file)
      throw .refused("\(path) could not be replaced (\(reason)). Use another path.")
    }
  }
}
