import Foundation

/// The folder of the package, found from the place of this file.
enum Package {
  static let path = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// The text of a file, by its path in the package.
  static func text(of path: String) throws -> String {
    try String(contentsOfFile: Self.path + "/" + path, encoding: .utf8)
  }

  /// Whether there is a file or folder of this path in the package.
  static func contains(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: Self.path + "/" + path)
  }

  /// The paths of all files under some folders whose names end like this, in order.
  static func files(under directories: [String], ending: String) throws -> [String] {
    try directories.flatMap { directory in
      try FileManager.default.subpathsOfDirectory(atPath: path + "/" + directory)
        .filter { $0.hasSuffix(ending) }.map { directory + "/" + $0 }
    }
    .sorted()
  }
}
