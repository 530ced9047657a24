import Heartwood
import Testing

@Suite("Records of comma-separated values")
struct CSVRecordsTests {
  private func split(_ text: String) throws -> [[String?]] {
    var rest = Array(text.utf8)[...]
    // Pass the text to the parser one byte at a time.
    var reader = CSVRecords { rest.popFirst().map { [$0] } ?? [] }
    var records: [[String?]] = []
    while let record = try reader.next() { records.append(record) }
    return records
  }

  @Test func `begin after a byte order mark`() throws {
    #expect(try split("\u{FEFF}a,b\n1,\"2\"") == [["a", "b"], ["1", "2"]])
    #expect(try split("\u{FEFF}") == [])
  }

  @Test(arguments: ["ﬁn", "ＩＤ", "\u{F000}"])
  func `begin with any character`(name: String) throws {
    #expect(try split("\(name),b\n1,2") == [[name, "b"], ["1", "2"]])
  }

  @Test(arguments: ["abcde", "\"abcde\""])
  func `are rejected if a field exceeds the limit`(text: String) throws {
    for (limit, isAccepted) in [(5, true), (4, false)] {
      var rest = Array(text.utf8)
      var reader = CSVRecords(maxFieldByteCount: limit) {
        defer { rest = [] }
        return rest
      }
      let record = try? reader.next()
      #expect(record == (isAccepted ? ["abcde"] : nil))
    }
  }
}
