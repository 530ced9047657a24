/// The report of a run.
struct BenchReport {
  /// A condition of the run, such as the machine, that is needed to interpret the results.
  struct Fact {
    let name: String
    let value: String
  }

  let facts: [Fact]
  let table: ResultTable
  /// Sentences about the results.
  let notes: [String]
  /// The comparison of Heartwood with the peers, if there are any.
  let comparison: String?
  /// A one-line description of each engine.
  let engines: [String]
  /// A hash of the results of all reads.
  let hash: UInt64

  /// The complete report for a terminal.
  var text: String {
    """
    \(facts.map { $0.name.padded(to: 11) + $0.value }.joined(separator: "\n"))

    \(table.text)

    median, min and max of \(Harness.roundCount) windows, or of rounds for loads; ns/op per thread
    \(notes.joined(separator: "\n"))
    \(comparison.map { "\n\($0)\n" } ?? "")
    hash of all reads \(String(hash, radix: 16))
    every store verified

    """
  }
}
