/// Why a run ends early, as a sentence for the person at the terminal.
struct BenchFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
