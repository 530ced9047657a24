/// A path without its accidents: `a//b/.` and `/a/b` are the same place.
package struct MemoryPath: Hashable, Sendable {
  package let text: String

  package init(_ path: String) {
    // Nearly all are normal already; taking them apart was an eighth of the time of simulations.
    if Self.isNormal(path) {
      text = String(path.utf8.dropFirst()) ?? ""
      return
    }
    var names: [Substring] = []
    for part in path.utf8.split(separator: Self.slash) {
      let name = Substring(part)
      if name == "." { continue }
      if name == ".." { _ = names.popLast() } else { names.append(name) }
    }
    text = names.joined(separator: "/")
  }

  /// Whether a path is absolute and has no accidents; hidden names are not looked at closely.
  private static func isNormal(_ path: String) -> Bool {
    guard path.utf8.first == slash, path.utf8.last != slash else { return false }
    var before = UInt8(0)
    for byte in path.utf8 {
      if before == slash, byte == slash || byte == UInt8(ascii: ".") { return false }
      before = byte
    }
    return true
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
