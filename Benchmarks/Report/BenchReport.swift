/// What a run has to say.
struct BenchReport {
  /// Where and how the figures came about, without which they mean nothing.
  struct Fact {
    let name: String
    let value: String
  }

  let facts: [Fact]
  let table: ResultTable
  /// Sentences about results.
  let notes: [String]
  /// How Heartwood and the peers did the same work.
  let comparison: String?
  /// A line for each engine.
  let engines: [String]
  /// What all reads found, folded together.
  let hash: UInt64

  /// All of it for a terminal.
  var text: String {
    """
    \(facts.map { $0.name.padded(to: 11) + $0.value }.joined(separator: "\n"))

    \(table.text)

    median, min and max of \(Harness.roundCount) windows, or of a load's rounds; ns/op per thread
    \(notes.joined(separator: "\n"))
    \(comparison.map { "\n\($0)\n" } ?? "")
    hash of all reads \(String(hash, radix: 16))
    every store verified

    """
  }
}
