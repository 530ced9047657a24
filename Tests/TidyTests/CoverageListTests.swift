import Foundation
import Testing

/// Compares the lists of code that no test needs to run with the sources.
@Suite("The list of code that no test runs")
struct CoverageListTests {
  private static let directory = "Tests/Coverage"

  @Test func `contains only lines of the sources, each with a reason`() throws {
    var sources: [String: Set<String>] = [:]
    for list in try Package.files(under: [Self.directory], ending: ".txt") {
      let module = list.dropFirst(Self.directory.count + 1).prefix { $0 != "/" }
      var hasReason = false
      for entry in try Package.text(of: list).components(separatedBy: "\n") {
        if entry.isEmpty { hasReason = false }
        if entry.hasPrefix("reason: ") { hasReason = true }
        guard let match = entry.wholeMatch(of: /(\S+\.swift): (.*)/) else { continue }
        #expect(hasReason, "\(list): \(entry)")
        let path = "Sources/\(module)/\(match.output.1)"
        let lines =
          try sources[path]
          ?? Set(
            Package.text(of: path).components(separatedBy: "\n")
              .map { $0.trimmingCharacters(in: .whitespaces) })
        sources[path] = lines
        #expect(lines.contains(String(match.output.2)), "\(path): \(match.output.2)")
      }
    }
  }
}
