import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

// README begins
func trackOrders(at path: String) throws -> [String] {
  let store = try Store(at: path)
  try store.write { transaction in
    let orders = try transaction.keyspace("orders")
    try orders.put(1871, Array("open".utf8))
    try orders.put(1872, Array("paid".utf8))
  }

  let before = try store.snapshot()
  try store.write { transaction in
    try transaction.keyspace("orders").put(1872, Array("shipped".utf8))
  }

  // The old snapshot still reads its generation; a new snapshot reads the newest.
  var lines: [String] = []
  for snapshot in [before, try store.snapshot()] {
    try snapshot.keyspace("orders")?.forEach(from: 1872) { key, value in
      let order = try Key.decode(key, as: Int.self)
      let status = String(decoding: value.withUnsafeBytes(Array.init), as: UTF8.self)
      lines.append("\(order): \(status)")
      return true
    }
  }
  try store.close()
  return lines
}
// README ends

/// Tests that the code in `README.md` is equal to the code above, and behaves as described.
@Suite("The code in the README")
struct ReadmeTests {
  @Test func `runs and shows both generations`() throws {
    let directory = try ScratchDirectory()
    #expect(
      try trackOrders(at: directory.path(of: "store")) == ["1872: paid", "1872: shipped"])
  }

  @Test func `is the same as in this file`() throws {
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

  /// Returns the text between the first `start` and the `end` that follows it.
  private func between(_ start: String, _ end: String, in text: String) -> String? {
    guard let first = text.range(of: start),
      let last = text.range(of: end, range: first.upperBound..<text.endIndex)
    else { return nil }
    return String(text[first.upperBound..<last.lowerBound])
  }
}
