import Foundation
import HeartwoodTestSupport
import Testing

/// Runs the shell in a pseudo terminal, and types into it.
@Suite(
  "The shell on a terminal",
  .enabled(
    if: FileManager.default.isExecutableFile(atPath: ShellTerminal.program),
    "The program script is not installed."))
struct ShellTerminalTests {
  @Test func `completes names, edits lines and remembers them`() throws {
    let store = try ObjectStore()
    let home = try ScratchDirectory()
    let terminal = try ShellTerminal(["shell", store.fixture.path], home: home.path)
    try terminal.expect("> ")
    // Completion produces `query Player`, and then lists the candidates for `'n`.
    terminal.type("que\tP\t")
    try terminal.expect("query Player ")
    terminal.type("'n\t")
    try terminal.expect("name  nil  number")
    terminal.type("ame == \"P1\"' --columns weight\r")
    try terminal.expect("10.5")
    // Wait for the prompt, because the terminal itself edits the text typed between lines.
    try terminal.expect("> ")
    // Recall the line from the history, delete its last word, and type another word.
    terminal.type("\u{1B}[A\u{17}team.name\r")
    try terminal.expect("Blues")
    try terminal.expect("> ")
    terminal.type("pin 77\u{3}")
    try terminal.expect("^C")
    terminal.type("nonsense\r")
    try terminal.expect("There is no command named nonsense")
    try terminal.expect("> ")
    terminal.type("\u{4}")
    #expect(try terminal.exitCode() == 0)
    let history = home.path(of: ".local/state/heartwoodctl/history")
    let lines = try String(contentsOfFile: history, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines[1].hasSuffix("--columns team.name"))
  }
}

@Suite(
  "Paged output",
  .enabled(
    if: FileManager.default.isExecutableFile(atPath: ShellTerminal.program),
    "The program script is not installed."))
struct PagerTests {
  @Test(arguments: [("sed s/^/page:/", "page:2 objects"), ("nothing-installed", "\n2 objects")])
  func `goes through the program that PAGER names`(pager: String, last: String) throws {
    let store = try ObjectStore(oddities: false)
    let home = try ScratchDirectory()
    let terminal = try ShellTerminal(
      ["query", store.fixture.path, "Team", "name != \"Reds\""], home: home.path, pager: pager)
    try terminal.expect(last)
    #expect(try terminal.exitCode() == 0)
  }
}

/// A run of the tool in a pseudo terminal, which the program `script` provides.
private final class ShellTerminal {
  static let program = "/usr/bin/script"

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var seen = ""

  init(_ arguments: [String], home: String, pager: String = "") throws {
    let tool = try ToolRun.executable().path(percentEncoded: false)
    let command = ([tool] + arguments).map { "'\($0)'" }.joined(separator: " ")
    process.executableURL = URL(filePath: Self.program)
    process.arguments = ["-q", "-e", "-c", command, "/dev/null"]
    process.environment = ["HOME": home, "TERM": "xterm", "PATH": "/usr/bin:/bin", "PAGER": pager]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = output
    try process.start()
    let descriptor = output.fileHandleForReading.fileDescriptor
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  }

  deinit { if process.isRunning { process.terminate() } }

  func type(_ text: String) {
    try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
  }

  /// Waits until a text appears after the output that has already been expected.
  func expect(_ text: String, _ location: SourceLocation = #_sourceLocation) throws {
    let end = ContinuousClock.now + .seconds(60)
    while !seen.contains(text) {
      try #require(
        ContinuousClock.now < end, "waited for \(text), but saw \(seen)", sourceLocation: location)
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = read(output.fileHandleForReading.fileDescriptor, &bytes, bytes.count)
      if count > 0 {
        seen += String(decoding: bytes[..<count], as: UTF8.self)
      } else {
        usleep(5000)
      }
    }
    if let range = seen.range(of: text) { seen = String(seen[range.upperBound...]) }
  }

  func exitCode() throws -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }
}
