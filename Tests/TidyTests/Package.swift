import Foundation

/// The directory of the package, relative to this file.
enum Package {
  static let path = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// The text of a file, by its path in the package.
  static func text(of path: String) throws -> String {
    try String(contentsOfFile: Self.path + "/" + path, encoding: .utf8)
  }

  /// Returns whether there is a file or directory with this path in the package.
  static func contains(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: Self.path + "/" + path)
  }

  /// Returns the paths of all files below some directories whose names have this ending, in order.
  static func files(under directories: [String], ending: String) throws -> [String] {
    try directories.flatMap { directory in
      try FileManager.default.subpathsOfDirectory(atPath: path + "/" + directory)
        .filter { $0.hasSuffix(ending) }.map { directory + "/" + $0 }
    }
    .sorted()
  }
}
