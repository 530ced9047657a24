import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests how `heartwoodctl` parses its arguments before it opens anything.
@Suite("The command line")
struct CommandLineTests {
  static let commands = [
    "info", "keys", "dump", "stat", "generations", "verify", "checkpoint", "compact", "copy",
    "keep", "release",
  ]

  @Test func `lists every command and the exit codes in its help`() throws {
    let help = try ToolRun("--help")
    help.expectFine()
    for command in Self.commands { #expect(help.output.contains("\n  \(command) ")) }
    #expect(help.output.contains("Exit codes: 0 success; 1 "))
    #expect(try ToolRun("-h").output == help.output)
  }

  @Test(arguments: commands) func `explains each command with an example`(command: String) throws {
    let help = try ToolRun(command, "--help")
    help.expectFine()
    #expect(help.output.hasPrefix("heartwoodctl \(command): "))
    #expect(help.output.contains("\nUsage: heartwoodctl \(command) PATH"))
    #expect(help.output.contains("\nExample: heartwoodctl \(command) ~"))
    #expect(help.output.contains("Exit codes: "))
    for line in help.lines { #expect(line.count <= 80, "\(line)") }
    #expect(try ToolRun("help", command).output == help.output)
    // `--help` must work even if other arguments are invalid.
    #expect(try ToolRun(command, "--nonsense", "--help").output == help.output)
  }

  @Test func `shows the version of the library and of the format`() throws {
    let run = try ToolRun("--version")
    run.expectFine()
    #expect(run.output == "heartwoodctl \(Store.libraryVersion) (store format 1)\n")
  }

  @Test func `has the version of the newest entry in the changelog`() throws {
    let changelog = URL(filePath: #filePath).appending(path: "../../../Docs/Changelog.md")
    let text = try String(contentsOf: changelog.standardized, encoding: .utf8)
    let newest = try #require(text.firstMatch(of: /\n## (\S+)/))
    #expect(String(newest.output.1) == Store.libraryVersion)
    #expect(
      Store.libraryVersion.wholeMatch(of: /\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?/) != nil,
      "not a semantic version")
  }

  @Test func `rejects an unknown command`() throws {
    try ToolRun([]).expectComplaint("No command specified", exitCode: 2)
    try ToolRun("dmup", "x").expectComplaint(
      "no command named dmup. Did you mean dump?", exitCode: 2)
    try ToolRun("veri", "x").expectComplaint("Did you mean verify?", exitCode: 2)
    try ToolRun("q", "x").expectComplaint("no command named q. Run ", exitCode: 2)
  }

  @Test func `requires exactly the operands of a command`() throws {
    try ToolRun("info").expectComplaint(
      "Missing argument PATH. Usage: heartwoodctl info PATH [--json]", exitCode: 2)
    try ToolRun("copy", "a").expectComplaint("Missing argument TARGET", exitCode: 2)
    try ToolRun("keep", "a").expectComplaint("Missing argument NAME", exitCode: 2)
    try ToolRun("info", "a", "b").expectComplaint("Unexpected argument b.", exitCode: 2)
    try ToolRun("info", "").expectComplaint("Argument PATH is empty", exitCode: 2)
    try ToolRun("copy", "a", "").expectComplaint("TARGET is empty", exitCode: 2)
    try ToolRun("a\u{1B}[31m\n").expectComplaint(#"no command named a\u{1B}[31m\n."#, exitCode: 2)
  }

  @Test func `rejects invalid options`() throws {
    try ToolRun("dump", "a", "--form", "1").expectComplaint(
      "dump has no option --form. Did you mean --from?", exitCode: 2)
    try ToolRun("info", "a", "--limit", "1").expectComplaint("no option --limit", exitCode: 2)
    try ToolRun("dump", "a", "--limit")
      .expectComplaint("requires a value. Use --limit N", exitCode: 2)
    try ToolRun("dump", "a", "--limit=x").expectComplaint("--limit x is invalid", exitCode: 2)
    try ToolRun("info", "a", "--json=1").expectComplaint(
      "--json does not accept a value", exitCode: 2)
    try ToolRun("dump", "a", "--at", "1", "--named", "b").expectComplaint(
      "Use only one of them", exitCode: 2)
    for (option, other) in [("--count", "--csv"), ("--explain", "--count")] {
      try ToolRun("query", "a", "E", option, other).expectComplaint(
        "\(option) and \(other) select different results", exitCode: 2)
    }
    try ToolRun("dump", "a", "--from", "1").expectComplaint("requires a keyspace", exitCode: 2)
  }

  @Test func `treats arguments after two hyphens as operands`() throws {
    try ToolRun("info", "--", "--json").expectComplaint(
      "no file or directory at --json", exitCode: 1)
    try ToolRun("info", "--", "--help").expectComplaint(
      "no file or directory at --help", exitCode: 1)
  }

  @Test(arguments: [#""a"#, #"("a", )"#, #"("a, 1)"#, #""\q""#])
  func `rejects a key that cannot be parsed`(key: String) throws {
    try ToolRun("keys", "a", "b", "--from", key).expectComplaint("The key ", exitCode: 2)
  }
}
