/// How the tests were built.
package enum TestBuild {
  /// Whether the build is an optimised one, many times as fast.
  package static let isOptimised: Bool = {
    var result = true
    assert({ result = false }() == ())
    return result
  }()

  /// All of some choices in an optimised build, and every other one in a slow one.
  package static func some<Choice>(_ choices: [Choice]) -> [Choice] {
    isOptimised
      ? choices : stride(from: 0, to: choices.count, by: 2).map { choices[$0] }
  }
}
