import Foundation
import HeartwoodTestSupport
import Testing

/// One run of the built `heartwoodctl`: its arguments and its output.
struct ToolRun {
  private let run: ProgramRun

  var output: String { run.output }
  var lines: [String] { run.lines }
  var complaint: String { run.complaint }
  var exitCode: Int32 { run.exitCode }

  /// Runs the tool with these arguments, its standard output a pipe.
  init(_ arguments: [String], environment: [String: String] = [:]) throws {
    run = try ProgramRun("heartwoodctl", arguments, environment: environment)
  }

  init(_ arguments: String...) throws { try self.init(arguments) }

  static func executable() throws -> URL { try ProgramRun.executable("heartwoodctl") }

  /// The output as one JSON document.
  func json() throws -> [String: Any] { try run.json() }

  /// Expects that it succeeded and wrote no error.
  func expectFine(_ location: SourceLocation = #_sourceLocation) { run.expectFine(location) }

  /// Expects one line of error that contains some words, and no output.
  func expectComplaint(
    _ words: String..., exitCode: Int32, location: SourceLocation = #_sourceLocation
  ) {
    run.expectComplaint(of: "heartwoodctl", words, exitCode: exitCode, location)
  }
}
