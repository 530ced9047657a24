import Foundation
import HeartwoodTestSupport
import Testing

/// One run of the built `heartwoodctl`, with its output and its exit code.
struct ToolRun {
  private let run: ProgramRun

  var output: String { run.output }
  var lines: [String] { run.lines }
  var complaint: String { run.complaint }
  var exitCode: Int32 { run.exitCode }

  /// Runs the tool with the given arguments and a pipe as its standard output.
  init(_ arguments: [String], environment: [String: String] = [:]) throws {
    run = try ProgramRun("heartwoodctl", arguments, environment: environment)
  }

  init(_ arguments: String...) throws { try self.init(arguments) }

  static func executable() throws -> URL { try ProgramRun.executable("heartwoodctl") }

  /// Parses the output as one JSON document.
  func json() throws -> [String: Any] { try run.json() }

  /// Expects that the run succeeded and printed no errors.
  func expectFine(_ location: SourceLocation = #_sourceLocation) { run.expectFine(location) }

  /// Expects no output, and one line of error text that contains the given words.
  func expectComplaint(
    _ words: String..., exitCode: Int32, location: SourceLocation = #_sourceLocation
  ) {
    run.expectComplaint(of: "heartwoodctl", words, exitCode: exitCode, location)
  }
}
