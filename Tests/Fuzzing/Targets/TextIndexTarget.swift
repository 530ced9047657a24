import Heartwood
import HeartwoodEngine

extension FuzzTarget {
  /// The rows of a text index: posting lists, pending rows, terms, totals and keys.
  static let textIndex = FuzzTarget("text-index", seeds: textIndexInputs) { bytes in
    var input = FuzzInput(bytes)
    let (kind, parameter) = (input.byte() % 5, Int(input.byte()))
    let content = input.rest.copied()
    switch kind {
    case 0: return try findingInPostings(content, fieldCount: parameter % 64 + 1)
    case 1:
      let pending = try PendingText(content)
      let again = try PendingText(pending.bytes)
      return again.bytes == pending.bytes ? nil : "The row differs after encoding it again."
    case 2:
      let totals = try TextIndexTotals(content)
      return try TextIndexTotals(totals.bytes) == totals
        ? nil : "The totals differ after encoding them again."
    case 3:
      let term = try TextIndexTerm(content)
      guard !term.hasBlocks else { return nil }
      return try findingInPostings(
        Array(term.bytes[term.listOffset...]), fieldCount: parameter % 64 + 1)
    default:
      let keys = TextIndexKeys(entity: parameter)
      let term = try keys.term(ofKey: content)
      return try keys.term(ofKey: keys.term(term).bytes) == term ? nil : "The term has another key."
    }
  }

  /// Reads postings in three ways, compares the results, and encodes the postings again.
  private static func findingInPostings(_ bytes: [UInt8], fieldCount: Int) throws -> String? {
    let weights = [Int](repeating: 1, count: fieldCount)
    let wanted: UInt64 = fieldCount == 1 ? 1 : 0x5555_5555_5555_5555
    var postings = TextPostings(bytes, fieldCount: fieldCount)
    var skipping = postings
    var builder = TextPostingsBuilder(limit: .max)
    var rows: [Int64] = []
    while try postings.next() {
      let frequency = try postings.frequency(weights, wanted)
      guard try skipping.next() else { return "Skipping ends early." }
      // Unlike `frequency`, `skipContent` throws if the posting has no positions.
      try skipping.skipContent()
      guard skipping.offset == postings.offset, skipping.row == postings.row else {
        return "Skipping leads to another posting."
      }
      let positions = try postings.positions(wanted)
      guard positions.count == frequency ?? 0 else {
        return "There are \(positions.count) positions instead of \(frequency ?? 0)."
      }
      rows.append(postings.row)
      builder.append(postings.row, bytes[postings.contentStart..<postings.offset])
    }
    builder.endBlock()
    var again = TextPostings(builder.blocks.first?.bytes ?? [], fieldCount: fieldCount)
    for row in rows {
      guard try again.next(), again.row == row else { return "A row differs after encoding it." }
      try again.skipContent()
    }
    return try again.next() ? "A row appears after encoding them again." : nil
  }

  @Sendable private static func textIndexInputs() -> [[UInt8]] {
    var short = TextPostingsBuilder(limit: .max)
    short.append(1, [1, 0])
    short.append(7, [2, 3, 200, 1])
    short.append(600, [1, 127])
    short.endBlock()
    var fields = TextPostingsBuilder(limit: .max)
    fields.append(2, [3, 1, 4, 2, 0, 9])
    fields.append(3, [2, 1, 1])
    fields.endBlock()
    let lists = [short, fields].compactMap { $0.blocks.first?.bytes }
    let keys = TextIndexKeys(entity: 3)
    return [
      [0, 0] + lists[0], [0, 1] + lists[1], [3, 0] + [3] + lists[0], [3, 1] + [2] + lists[1],
      // The text consists of two words before the change, and of one word after it.
      [1, 0] + [3, 2, 2, 1, 97, 2, 1, 0, 1, 98, 2, 1, 1] + [1, 1, 2, 99, 100, 2, 1, 0],
      [2, 0] + [3, 200, 1, 1, 40], [4, 3] + keys.term(Array("term".utf8)).bytes,
    ]
  }
}
