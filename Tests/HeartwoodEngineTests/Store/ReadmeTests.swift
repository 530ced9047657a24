import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

// README begins
func keepRings(at path: String) throws -> [String] {
  let store = try Store(at: path)
  try store.write { transaction in
    let rings = try transaction.keyspace("rings")
    try rings.put(1871, Array("dry".utf8))
    try rings.put(1872, Array("wet".utf8))
  }

  let before = try store.snapshot()
  try store.write { transaction in
    try transaction.keyspace("rings").put(1872, Array("frost in May".utf8))
  }

  // The snapshot goes on showing its own generation; a new one shows the newest.
  var lines: [String] = []
  for snapshot in [before, try store.snapshot()] {
    try snapshot.keyspace("rings")?.forEach(from: 1872) { key, value in
      let year = try Key.decode(key, as: Int.self)
      lines.append("\(year): \(String(decoding: value.withUnsafeBytes(Array.init), as: UTF8.self))")
      return true
    }
  }
  try store.close()
  return lines
}
// README ends

/// The code of `README.md`: it is what stands above, and it does what it says.
@Suite("The code in the README")
struct ReadmeTests {
  @Test func `runs and shows both generations`() throws {
    let directory = try ScratchDirectory()
    #expect(try keepRings(at: directory.path(of: "store")) == ["1872: wet", "1872: frost in May"])
  }

  @Test func `is the code of this file`() throws {
    let readme = try text(of: "README.md")
    let block = try #require(
      between("```swift\nimport HeartwoodEngine\n\n", "```", in: readme))
    let code = between("// README begins\n", "// README ends", in: try text(of: relativePath))
    #expect(block == code)
  }

  private let relativePath = "Tests/HeartwoodEngineTests/Store/ReadmeTests.swift"

  private func text(of path: String) throws -> String {
    let package = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: package.appendingPathComponent(path), encoding: .utf8)
  }

  /// What stands between the first `start` and the next `end`.
  private func between(_ start: String, _ end: String, in text: String) -> String? {
    guard let first = text.range(of: start),
      let last = text.range(of: end, range: first.upperBound..<text.endIndex)
    else { return nil }
    return String(text[first.upperBound..<last.lowerBound])
  }
}
