import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Compares the complete engine with a model that keeps every generation in plain arrays.
///
/// Each seed produces a long history of one store, with thousands of changes in a dozen keyspaces.
/// In random order, the history also contains snapshots of various ages, named generations,
/// maintenance runs, compactions, copies, reopenings and crashes. Every read must return what was
/// written, and the log must stay within its bound.
@Suite("A store beside a model of it")
struct ModelTests {
  @Test(
    .evidence("I1"), .evidence("I4"), .evidence("I5"), .evidence("I7"), .evidence("D2"),
    .evidence("D4"), .evidence("D5"), .evidence("K1"), .evidence("K2"), .evidence("K3"),
    .evidence("B5"),
    // A multiple of the number of settings, so that all settings are used equally.
    arguments: TestScale.seeds(quick: 4, all: 8, long: 16))
  func `shows the model's contents in every generation`(seed: UInt64) throws {
    let run = try ModelRun(seed: seed)
    let stepCount = TestScale.pick(quick: 30, all: 250, long: 1000)
    do { try run.run(stepCount: stepCount) } catch {
      Issue.record("seed \(seed), \(run.setting), \(error)")
    }
    print(
      "model: seed \(seed), \(run.transactionCount) transactions, \(run.history.count) generations")
  }
}
