package enum TestBuild {
  /// A Boolean value that indicates whether the build is optimised.
  ///
  /// An optimised build is many times faster than a debug build.
  package static let isOptimised: Bool = {
    var result = true
    assert({ result = false }() == ())
    return result
  }()

  /// Returns all choices in an optimised build, and every second choice in a debug build.
  package static func some<Choice>(_ choices: [Choice]) -> [Choice] {
    isOptimised
      ? choices : stride(from: 0, to: choices.count, by: 2).map { choices[$0] }
  }
}
