import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The command line of quakes")
struct UsageTests {
  private func run(_ arguments: String...) throws -> ProgramRun {
    try ProgramRun("quakes", arguments)
  }

  @Test func `the program and each command have a help text`() throws {
    let help = try run("--help")
    help.expectFine()
    #expect(help.output.contains("Usage: quakes COMMAND"))
    #expect(help.output.contains("Exit codes: 0 success; 1 "))
    for command in ["import", "list", "stats", "watch", "at", "diff", "undo", "follow"] {
      #expect(help.output.contains("\n  \(command) "))
      let own = try run(command, "--help")
      own.expectFine()
      #expect(own.output.hasPrefix("quakes \(command): "))
      for words in [
        "\nUsage: quakes \(command) ", "\nExample: ", "\n  --store DIR ", "Exit codes:",
      ] {
        #expect(own.output.contains(words), "\(command)")
      }
      for line in help.lines + own.lines where !line.hasPrefix("  --store") {
        #expect(line.count <= 80, "\(line)")
      }
    }
  }

  @Test func `shows the version of the library`() throws {
    let version = try run("--version")
    version.expectFine()
    #expect(version.output == "quakes \(Store.libraryVersion)\n")
  }

  @Test func `invalid arguments are rejected with a remedy`() throws {
    try run().expectComplaint("Run 'quakes --help'", exitCode: 2)
    try run("lst").expectComplaint("no command named lst. Use one of: import, list,", exitCode: 2)
    try run("import").expectComplaint("Missing argument FILE", exitCode: 2)
    try run("import", "a", "--keep=0").expectComplaint("Use a number from 1 to 100", exitCode: 2)
    try run("diff").expectComplaint("Missing argument A", exitCode: 2)
    try run("diff", "1d", "x").expectComplaint("DATE x is not valid. Use a day", exitCode: 2)
    try run("at", "x").expectComplaint("DATE x is not valid. Use a day", exitCode: 2)
    try run("at", "--limit=1").expectComplaint("at has no option --limit", exitCode: 2)
    try run("watch", "--changes=0").expectComplaint("--changes 0 is not valid", exitCode: 2)
    try run("undo", "a").expectComplaint("Unexpected argument a.", exitCode: 2)
    try run("follow").expectComplaint("Missing argument FILE", exitCode: 2)
    try run("import", "a", "b").expectComplaint("Unexpected argument b.", exitCode: 2)
    try run("list", "--form").expectComplaint("list has no option --form", exitCode: 2)
    try run("list", "--json=1").expectComplaint("no option --json=1", exitCode: 2)
    try run("list", "--limit").expectComplaint("--limit requires a value", exitCode: 2)
    try run("stats", "--limit", "1").expectComplaint("stats has no option --limit", exitCode: 2)
    try run("list", "--sort=distance").expectComplaint("Add --near LAT,LON.", exitCode: 2)
  }

  @Test(arguments: [
    ("--limit", "0"), ("--limit", "x"), ("--min-magnitude", "nan"), ("--near", "1"),
    ("--near", "91,0"), ("--near", "1,2,3,4"), ("--near", "1,2,-3"), ("--near", "a,b"),
    ("--since", "2019-13-45"), ("--since", "2019-02-16x"), ("--since", "2019-02-16T12"),
    ("--since", "d"), ("--sort", "size"),
  ])
  func `invalid values are rejected`(option: String, value: String) throws {
    try run("list", option, value).expectComplaint(
      "\(option) \(value) is not valid. Use ", exitCode: 2)
  }
}
