import Foundation

/// Functions that open the input file of a command.
enum InputFile {
  /// Opens a file, or returns standard input for `-`.
  static func handle(_ path: String) throws -> FileHandle {
    if path == "-" { return .standardInput }
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw ToolFailure.refused(
        "\(path) cannot be read. Check that the file exists and is readable.")
    }
    return handle
  }

  /// Returns a handle from which the content of the given handle can be read repeatedly.
  ///
  /// If the content comes from a pipe or a terminal, this method copies all of it to a temporary
  /// file, and returns a handle to that file.
  static func rewindable(_ handle: FileHandle) throws -> FileHandle {
    if lseek(handle.fileDescriptor, 0, SEEK_CUR) >= 0 { return handle }
    let path = NSTemporaryDirectory() + "/heartwoodctl-\(UUID().uuidString)"
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw ToolFailure.refused(
        "The input could not be copied to \(path) (\(String(cString: strerror(errno)))). Set "
          + "TMPDIR to a writable directory, or read the input from a file.")
    }
    unlink(path)
    let copy = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    while let chunk = try handle.read(upToCount: 1 << 16), !chunk.isEmpty {
      try copy.write(contentsOf: chunk)
    }
    try copy.seek(toOffset: 0)
    return copy
  }
}
