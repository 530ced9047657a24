/// A path without its accidents: `a//b/.` and `/a/b` are the same place.
package struct MemoryPath: Hashable, Sendable {
  package let text: String

  package init(_ path: String) {
    // By bytes: a slash is one, and walking characters was a fifth of the time of simulations.
    var names: [Substring] = []
    for part in path.utf8.split(separator: Self.slash) {
      let name = Substring(part)
      if name == "." { continue }
      if name == ".." { _ = names.popLast() } else { names.append(name) }
    }
    text = names.joined(separator: "/")
  }

  private init(normal text: Substring) { self.text = String(text) }

  private static let slash = UInt8(ascii: "/")

  package var isRoot: Bool { text.isEmpty }

  /// The last name; empty for the root.
  package var name: String {
    guard let end = text.utf8.lastIndex(of: Self.slash) else { return text }
    return String(text[text.utf8.index(after: end)...])
  }

  /// What follows the path of a directory it lies in, at any depth; `nil` if it does not.
  package func rest(below directory: MemoryPath) -> String? {
    guard text.hasPrefix(directory.text + "/") else { return nil }
    return String(Substring(text.utf8.dropFirst(directory.text.utf8.count + 1)))
  }

  /// The directory it lies in; the root's is the root.
  package var parent: MemoryPath {
    MemoryPath(normal: text[..<(text.utf8.lastIndex(of: Self.slash) ?? text.startIndex)])
  }

  /// Whether it lies in `directory` itself.
  package func lies(in directory: MemoryPath) -> Bool {
    guard let end = text.utf8.lastIndex(of: Self.slash) else {
      return directory.isRoot && !isRoot
    }
    return text.utf8[..<end].elementsEqual(directory.text.utf8)
  }

  package static func isNoDirectory(_ path: String) -> StorageError {
    StorageError(.notAStore, "A store is a folder; this is a file.", file: path)
  }

  package static func missingDirectory(_ path: String) -> StorageError {
    StorageError(.io, "The folder is missing.", file: path)
  }

  package static func isNoFile(_ action: String, _ path: String) -> StorageError {
    StorageError(.io, "Cannot \(action): there is no file with this name.", file: path)
  }
}
