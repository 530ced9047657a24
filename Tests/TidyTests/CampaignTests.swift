import Foundation
import Testing

/// Compares the campaigns of the soak with the tests.
@Suite("The campaigns of the soak")
struct CampaignTests {
  private struct Campaign {
    let name: String
    let pattern: Regex<AnyRegexOutput>
  }

  /// A test that takes its seeds from `TestScale`.
  private struct SeededTest {
    let identifier: String
    /// A Boolean value that indicates whether the test needs software that may not be installed.
    let isConditional: Bool
  }

  private static func campaigns() throws -> [Campaign] {
    try Package.text(of: "Tests/Soak/campaigns.txt").split(separator: "\n")
      .filter { !$0.hasPrefix("#") }
      .map { line in
        let fields = line.split(separator: " ", maxSplits: 2)
        try #require(fields.count == 3, "\(line)")
        return Campaign(
          name: String(fields[0]),
          pattern: try Regex(fields[2].trimmingCharacters(in: .whitespaces)))
      }
  }

  private static func seededTests() throws -> [SeededTest] {
    try Package.files(under: ["Tests"], ending: "Tests.swift").flatMap { path in
      let text = try Package.text(of: path)
      return text.matches(of: /@Test\((?<traits>[^`]*?)\bfunc `(?<name>[^`]+)`\((?<all>[^)]*)\)/)
        .compactMap { match -> SeededTest? in
          guard match.output.traits.contains("TestScale.seeds(") else { return nil }
          let suites = text[..<match.range.lowerBound].matches(of: /(?m)^struct (\w+Tests)\b/)
          let target = path.split(separator: "/")[1]
          let suite = suites.last?.output.1 ?? ""
          let parameters = match.output.all.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
          return SeededTest(
            identifier: "\(target).\(suite)/`\(match.output.name)`(\(parameters))",
            isConditional: match.output.traits.contains(".enabled(if:"))
        }
    }
  }

  @Test func `include every test that takes seeds`() throws {
    let (campaigns, tests) = (try Self.campaigns(), try Self.seededTests())
    #expect(tests.count > 50)
    for test in tests where !test.isConditional {
      #expect(
        campaigns.contains { test.identifier.contains($0.pattern) }, "\(test.identifier)")
    }
  }

  @Test func `each select a test`() throws {
    let tests = try Package.files(under: ["Tests"], ending: "Tests.swift").flatMap { path in
      let target = path.split(separator: "/")[1]
      let text = try Package.text(of: path)
      let suites = text.matches(of: /(?m)^struct (\w+Tests)\b/).map(\.output.1)
      return text.matches(of: /\bfunc `([^`]+)`\(([^)]*)/).flatMap { match in
        suites.map { "\(target).\($0)/`\(match.output.1)`(\(match.output.2))" }
      }
    }
    for campaign in try Self.campaigns() {
      #expect(tests.contains { $0.contains(campaign.pattern) }, "\(campaign.name)")
    }
  }
}
