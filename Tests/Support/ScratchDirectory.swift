import Foundation

/// A new, empty directory in the system's temporary directory; removed with its last reference.
package final class ScratchDirectory: Sendable {
  package let path: String

  package init() throws {
    let name = "heartwood-\(UUID().uuidString)"
    path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: nil)
  }

  // Remains are left for the system to clean up; no test depends on that.
  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of `name` in this directory.
  package func path(of name: String) -> String { path + "/" + name }
}
