import Foundation
import HeartwoodTestSupport
import Testing

/// Follows the tutorial as a reader would, and checks its program, its feeds and its output.
@Suite(
  "The tutorial",
  .enabled(if: BuiltModules.directory != nil, "no built modules beside the tests"))
struct TutorialTests {
  @Test func `the tutorial shows the output of its program, with an import in another process`()
    throws
  {
    let tutorial = try #require(try Document.all().first { $0.name == "Tutorial" })
    let feeds = tutorial.blocks.filter { $0.language == "json" }.map(\.text)
    let outputs = tutorial.blocks.filter { $0.language == "text" }.map(\.text)
    let scratch = try ScratchDirectory()
    let program = try DocumentProgram.named("Tutorial").build(in: scratch)
    for (name, feed) in zip(["day", "week"], feeds) {
      try Data(feed.utf8).write(to: URL(filePath: scratch.path(of: "\(name).geojson")))
    }
    func run(_ arguments: String...) throws -> String {
      let (output, exitCode) = try BuiltModules.run(program, arguments, in: scratch.path)
      #expect(exitCode == 0)
      return output
    }

    #expect(try run("import", "day.geojson") == "")
    #expect(outputs[0].hasSuffix(try run("list")))

    let watch = try Watch(program, in: scratch)
    let before = try watch.read(until: "press return.\n")
    #expect(try run("import", "week.geojson") == "")
    let after = try watch.end()
    for part in [before, after] { #expect(outputs[1].contains(part), "\(part)") }
  }
}

/// A running `watch` command of the tutorial's program.
private struct Watch {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  init(_ program: String, in scratch: ScratchDirectory) throws {
    process.executableURL = URL(filePath: program)
    process.arguments = ["watch"]
    process.currentDirectoryURL = URL(filePath: scratch.path)
    process.standardInput = input
    process.standardOutput = output
    try process.start()
  }

  /// Reads and returns the output up to the given words.
  func read(until words: String) throws -> String {
    var said = ""
    while !said.hasSuffix(words) {
      let more = output.fileHandleForReading.availableData
      try #require(!more.isEmpty, "ended early: \(said)")
      said += String(decoding: more, as: UTF8.self)
    }
    return said
  }

  /// Presses Return, closes the input, and returns the rest of the output.
  func end() throws -> String {
    try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    try input.fileHandleForWriting.close()
    let rest = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return String(decoding: rest, as: UTF8.self)
  }
}
