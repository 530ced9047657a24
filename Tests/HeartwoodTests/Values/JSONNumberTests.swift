import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Numbers in JSON values")
struct JSONNumberTests {
  /// Returns the JSON that a tool stores for a `Codable` value.
  private func stored(_ text: String) throws -> String? {
    guard case .bytes(let bytes) = try StorageType.json.value(text) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(
    .evidence("V-03"), .evidence("M-08"),
    arguments: [
      "0", "-0", "1", "-9223372036854775808", "18446744073709551615", "0.1", "-2.5", "1e+300",
      "12345678901234567890123", "1.10000000000000000001", "-0.30000000000000000001",
      "1.0000000000000000001", "9007199254740993.5", "12345678901234567890.12345678901",
    ])
  func `keep their digits`(number: String) throws {
    #expect(try stored("[\(number)]") == "[\(number)]")
    #expect(try stored(#"{"a":[[\#(number)],"x"]}"#) == #"{"a":[[\#(number)],"x"]}"#)
  }

  @Test(.evidence("V-03"), arguments: TestScale.seeds(quick: 2, all: 20))
  func `are decoded as the same decimals and doubles`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let digits = (0..<(1 + random.below(30))).map { _ in String(random.below(10)) }.joined()
      let text = "\(1 + random.below(9))\(digits)e-\(random.below(30))"
      let data = Data("[\(text)]".utf8)
      let found = Data(try #require(try stored("[\(text)]")).utf8)
      for decoded in [data, found] {
        #expect(
          try JSONDecoder().decode([Decimal].self, from: decoded)
            == JSONDecoder().decode([Decimal].self, from: data), "\(text)")
        #expect(
          try JSONDecoder().decode([Double].self, from: decoded)
            == JSONDecoder().decode([Double].self, from: data), "\(text)")
      }
    }
  }
}
