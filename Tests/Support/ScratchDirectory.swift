import Foundation

/// A new, empty directory in the system's temporary directory, removed when the object is released.
package final class ScratchDirectory: Sendable {
  package let path: String

  package init() throws {
    let name = "heartwood-\(UUID().uuidString)"
    path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: nil)
  }

  // If the removal fails, the system cleans up later. No test depends on the removal.
  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Returns the path of the file `name` in this directory.
  package func path(of name: String) -> String { path + "/" + name }
}
