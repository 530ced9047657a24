import Foundation

/// The directory of the package, found from the path of this file.
enum Package {
  static let path = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// Returns the text of a file, given its path in the package.
  static func text(of path: String) throws -> String {
    try String(contentsOfFile: Self.path + "/" + path, encoding: .utf8)
  }

  /// Returns whether the package has a file or directory with this path.
  static func contains(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: Self.path + "/" + path)
  }

  /// Returns the sorted paths of all files in some directories and their subdirectories whose names
  /// end with `ending`.
  static func files(under directories: [String], ending: String) throws -> [String] {
    try directories.flatMap { directory in
      try FileManager.default.subpathsOfDirectory(atPath: path + "/" + directory)
        .filter { $0.hasSuffix(ending) }.map { directory + "/" + $0 }
    }
    .sorted()
  }
}
