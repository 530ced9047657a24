import Foundation

/// The amount of work that randomised and exhaustive tests do.
///
/// The environment variable `HEARTWOOD_TESTS` selects the scale.
package enum TestScale: Int, CaseIterable, Comparable, Sendable {
  /// The default scale, in which every test runs only some of its cases, so that a run of a debug
  /// build takes two minutes.
  case quick
  /// Every test with all of its usual cases.
  ///
  /// `.ci/run` uses this scale to test a release build.
  case all
  /// Many more seeds, all crash states, and values of a gigabyte.
  case long
  /// Like `long`, but with more interleavings of the steps of several processes.
  ///
  /// A run takes hours.
  case deep

  /// The scale of this run.
  package static let current: TestScale = {
    guard let name = ProcessInfo.processInfo.environment["HEARTWOOD_TESTS"] else { return .quick }
    guard let scale = allCases.first(where: { "\($0)" == name }) else {
      // Trap if the scale is misspelt, because a default could run fewer tests than the caller
      // expects.
      let names = allCases.map { "\($0)" }.joined(separator: ", ")
      fatalError("HEARTWOOD_TESTS has the invalid value \(name). Use one of: \(names).")
    }
    return scale
  }()

  /// Returns the amount for the scale of this run.
  ///
  /// A long run uses `all` unless `long` is given.
  package static func pick<Amount>(quick: Amount, all: Amount, long: Amount? = nil) -> Amount {
    switch current {
    case .quick: quick
    case .all: all
    case .long, .deep: long ?? all
    }
  }

  /// Returns the chosen seeds or, if none were chosen, consecutive seeds starting at 0.
  ///
  /// The scale of this run determines the number of consecutive seeds.
  package static func seeds(quick: UInt64, all: UInt64, long: UInt64? = nil) -> [UInt64] {
    chosenSeeds ?? Array(0..<pick(quick: quick, all: all, long: long))
  }

  /// The seeds in the environment variable `HEARTWOOD_SEEDS`, or `nil` if it is not set.
  ///
  /// The variable contains numbers and ranges, such as `31,500-519`.
  package static let chosenSeeds: [UInt64]? = {
    guard let text = ProcessInfo.processInfo.environment["HEARTWOOD_SEEDS"] else { return nil }
    return text.split(separator: ",").flatMap { part in
      let bounds = part.split(separator: "-").map { UInt64($0) }
      guard (1...2).contains(bounds.count), let first = bounds[0], let last = bounds.last ?? first,
        first <= last
      else {
        fatalError(
          "HEARTWOOD_SEEDS has the invalid value \(text). List numbers and ranges, such as "
            + "31,500-519.")
      }
      return Array(first...last)
    }
  }()

  /// The first chosen seed, or 0, for tests that derive all their seeds from a single seed.
  package static let firstSeed: UInt64 = chosenSeeds?.first ?? 0

  /// Returns all choices or, in a quick run, every `step`-th choice, beginning with the first.
  package static func some<Choice>(_ choices: [Choice], every step: Int = 2) -> [Choice] {
    guard current == .quick else { return choices }
    return stride(from: 0, to: choices.count, by: step).map { choices[$0] }
  }

  package static func < (one: TestScale, other: TestScale) -> Bool { one.rawValue < other.rawValue }
}
