import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("The elements of JSON text")
struct JSONElementsTests {
  private func split(
    _ text: String, keys: [String] = [], chunkByteCount: Int = 1 << 20
  ) throws -> [String] {
    var rest = Array(text.utf8)[...]
    var elements = JSONElements(keys: keys) {
      defer { rest = rest.dropFirst(chunkByteCount) }
      return Array(rest.prefix(chunkByteCount))
    }
    var result: [String] = []
    while let element = try elements.next() {
      result.append(String(decoding: element, as: UTF8.self))
    }
    #expect(try elements.next() == nil)
    return result
  }

  @Test(arguments: [1, 2, 3, 7, 1000])
  func `do not depend on the chunks that are read`(chunkByteCount: Int) throws {
    func split(_ text: String, _ keys: [String] = []) throws -> [String] {
      try self.split(text, keys: keys, chunkByteCount: chunkByteCount)
    }
    #expect(try split("") == [] && split(" \n") == [] && split("[ ]") == [])
    #expect(try split(#"[1, {"a": [2, "]"]} ,"x,\"]", null]"#).count == 4)
    #expect(try split("{\"a\":1}\n{\"a\":2}\r\n\n{\"a\":3}") == (1...3).map { "{\"a\":\($0)}" })
    #expect(try split("\u{FEFF}[true]") == ["true"])
    let nested = #"{"x": {"f": [9]}, "s": "\\\"f\": [8]", "d": {"f": [{"a": "}"}, 2], "z": 1}}"#
    #expect(try split(nested, ["d", "f"]) == [#"{"a": "}"}"#, "2"])
    #expect(try split(nested, ["x", "f"]) == ["9"])
  }

  @Test(arguments: TestScale.seeds(quick: 20, all: 400))
  func `equal those that Foundation finds`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    func value(_ depth: Int) -> Any {
      switch generator.below(depth > 3 ? 4 : 6) {
      case 0: return generator.below(1000)
      case 1: return ["\"", "\\", "]}", "a,b", "ä\u{1F600}", ""][generator.below(6)]
      case 2: return generator.isTrue(in256: 128)
      case 3: return NSNull()
      case 4: return (0..<generator.below(4)).map { _ in value(depth + 1) }
      default:
        return Dictionary(
          uniqueKeysWithValues: (0..<generator.below(4)).map {
            ("k\($0)", value(depth + 1))
          })
      }
    }
    let all = (0..<generator.below(20)).map { _ in value(0) }
    let options: JSONSerialization.WritingOptions =
      generator.isTrue(in256: 128) ? [.sortedKeys, .prettyPrinted] : [.sortedKeys]
    let text = String(
      decoding: try JSONSerialization.data(withJSONObject: all, options: options), as: UTF8.self)
    func compact(_ value: Any) throws -> Data {
      try JSONSerialization.data(withJSONObject: [value], options: [.sortedKeys])
    }
    let found = try split(text, chunkByteCount: 1 + generator.below(9)).map {
      try compact(
        try JSONSerialization.jsonObject(with: Data($0.utf8), options: .fragmentsAllowed))
    }
    #expect(try found == all.map(compact), "seed \(seed)")
  }

  @Test(arguments: [
    "[1", "[1,]", "[1 2]", "[,1]", "{\"a\": ", "[\"a", "[1] 2", "[}", "]", ":", "[1,,2]",
  ])
  func `are rejected if the text is not JSON`(text: String) {
    let error = #expect(throws: ObjectGraphError.self) { try split(text) }
    #expect(error?.kind == .invalidElement)
  }

  @Test func `are rejected if they are not at the given keys`() {
    for text in ["[1]", "{}", "{\"a\": 1}", "{\"a\": {}}", "{\"b\": [1]}", "{\"a\" 1}"] {
      #expect(throws: ObjectGraphError.self) { try split(text, keys: ["a"]) }
    }
  }

  @Test(.enabled(if: TestScale.current >= .long))
  func `are rejected if they are longer than 256 MiB`() {
    var isFirst = true
    var elements = JSONElements(keys: []) {
      defer { isFirst = false }
      return isFirst ? [UInt8(ascii: "\"")] : [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    }
    expect(.invalidElement, "longer than") { _ = try elements.next() }
  }
}
