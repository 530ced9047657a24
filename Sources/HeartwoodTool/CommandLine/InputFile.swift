import Foundation

/// The file that a command reads.
enum InputFile {
  /// Opens a file, or returns standard input for `-`.
  static func handle(_ path: String) throws -> FileHandle {
    if path == "-" { return .standardInput }
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw ToolFailure.refused("\(path) cannot be read. Use the path of a readable file.")
    }
    return handle
  }
}
