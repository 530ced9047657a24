import Foundation

/// Access to the files of the package, whose directory is derived from the path of this file.
enum Package {
  static let path = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// Returns the text of the file at the given path within the package.
  static func text(of path: String) throws -> String {
    try String(contentsOfFile: Self.path + "/" + path, encoding: .utf8)
  }

  /// Returns whether the package contains a file or directory at the given path.
  static func contains(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: Self.path + "/" + path)
  }

  /// Returns the sorted paths of all files whose names end with `ending`, in the given directories
  /// and their subdirectories.
  static func files(under directories: [String], ending: String) throws -> [String] {
    try directories.flatMap { directory in
      try FileManager.default.subpathsOfDirectory(atPath: path + "/" + directory)
        .filter { $0.hasSuffix(ending) }.map { directory + "/" + $0 }
    }
    .sorted()
  }
}
