import Foundation

/// A new file that replaces an older file only once it is complete.
///
/// Until the new file is complete, it has a temporary name in the same directory.
final class ReplacementFile {
  private let path: String
  private let handle: FileHandle
  private var pending = Data()
  private var byteCount = 0
  private static let chunkByteCount = 256 << 10

  private init(_ path: String, _ handle: FileHandle) {
    (self.path, self.handle) = (path, handle)
  }

  /// Creates or replaces a file with the text that `body` writes.
  ///
  /// If `body` or a write fails, no new file remains, and any older file is unchanged.
  ///
  /// - Returns: The size of the file in bytes.
  static func write(
    to path: String, outside store: String, _ body: (ReplacementFile) throws -> Void
  ) throws -> Int {
    try replace(path, outside: store) { temporary in
      let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
      guard descriptor >= 0 else { throw failure(path, systemError) }
      let file = ReplacementFile(path, FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
      try body(file)
      try file.close()
      return file.byteCount
    }
  }

  /// Writes text to a new file, or directly to a pipe or device, which must not be replaced.
  static func write(_ text: String, to path: String, outside store: String) throws {
    var facts = stat()
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG else {
      _ = try write(to: path, outside: store) { file in try file.write(text) }
      return
    }
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    } catch {
      throw failure(path, error.localizedDescription)
    }
  }

  /// Replaces a file with a new file that `body` creates.
  ///
  /// `body` receives the temporary path at which to create the new file. If `body` fails, no new
  /// file remains, and any older file is unchanged.
  ///
  /// - Parameter store: The directory of a store, whose files must not be replaced.
  static func replace<R>(
    _ path: String, outside store: String, _ body: (String) throws -> R
  ) throws -> R {
    // Resolve symbolic links, because replacing a link would leave its target unchanged.
    let target = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    let mode = try replaceableMode(of: target.path)
    let directory = target.deletingLastPathComponent()
    guard directory.path != URL(fileURLWithPath: store).resolvingSymlinksInPath().path else {
      throw ToolFailure.refused(
        "\(path) is inside the store's directory. Use a file in another directory.")
    }
    let temporary = directory.appendingPathComponent(".heartwoodctl-\(UUID().uuidString)").path
    let interruption = Interruption(removing: temporary)
    defer { withExtendedLifetime(interruption) {} }
    do {
      let result = try body(temporary)
      // Copy the mode, because the new file must not be readable by more users than the file that
      // it replaces.
      if let mode { chmod(temporary, mode) }
      guard rename(temporary, target.path) == 0 else { throw failure(path, systemError) }
      return result
    } catch {
      unlink(temporary)
      throw error
    }
  }

  /// Appends text to the file.
  func write(_ text: String) throws(ToolFailure) { try write(Data(text.utf8)) }

  /// Appends UTF-8 text to the file.
  func write(_ text: Data) throws(ToolFailure) {
    pending.append(text)
    if pending.count >= Self.chunkByteCount { try flush() }
  }

  private func flush() throws(ToolFailure) {
    do {
      try handle.write(contentsOf: pending)
    } catch {
      throw Self.failure(path, error.localizedDescription)
    }
    byteCount += pending.count
    pending.removeAll(keepingCapacity: true)
  }

  private func close() throws(ToolFailure) {
    try flush()
    do {
      try handle.synchronize()
      try handle.close()
    } catch {
      throw Self.failure(path, error.localizedDescription)
    }
  }

  /// Returns the permissions of an existing file, or `nil` if the file does not exist.
  ///
  /// - Throws: A ``ToolFailure`` if the file is a directory or a device, because these must not be
  ///   replaced.
  private static func replaceableMode(of path: String) throws(ToolFailure) -> mode_t? {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return nil }
    guard facts.st_mode & S_IFMT == S_IFREG else {
      throw failure(path, "The path does not refer to a regular file.")
    }
    return facts.st_mode & 0o777
  }

  private static var systemError: String { String(cString: strerror(errno)) + "." }

  private static func failure(_ path: String, _ reason: String) -> ToolFailure {
    .refused("\(path) could not be written: \(reason) Write to a different file.")
  }
}
