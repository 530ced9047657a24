import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// A directory for a store of quakes, and the built `quakes` program.
struct QuakesFixture {
  private let directory: ScratchDirectory
  let path: String

  init() throws {
    directory = try ScratchDirectory()
    path = directory.path(of: "quakes")
  }

  func run(_ arguments: String..., input: Data = Data()) throws -> ProgramRun {
    try ProgramRun("quakes", arguments + ["--store", path], input: input)
  }

  /// Starts a command on the store without waiting for it to end.
  func start(_ arguments: String...) throws -> StartedProgram {
    try StartedProgram("quakes", arguments + ["--store", path])
  }

  func importFeed(_ feed: FeedContent) throws -> ProgramRun {
    try run("import", "-", input: feed.content)
  }

  func importFeed(_ content: Data) throws -> ProgramRun {
    let file = directory.path(of: "feed.geojson")
    try content.write(to: URL(filePath: file))
    return try run("import", file)
  }

  /// Writes a feed to a file, and returns its path.
  func file(_ name: String, _ feed: FeedContent) throws -> String {
    let path = directory.path(of: name)
    try feed.content.write(to: URL(filePath: path))
    return path
  }

  /// Returns the quakes that `list` prints with the given options.
  func list(_ arguments: String...) throws -> [[String: Any]] {
    let run = try ProgramRun("quakes", ["list", "--json", "--store", path] + arguments)
    run.expectFine()
    return try run.json()
  }

  /// Returns the codes of the quakes that `list` prints with the given options, in order.
  func codes(_ arguments: String...) throws -> [String] {
    let run = try ProgramRun("quakes", ["list", "--json", "--store", path] + arguments)
    run.expectFine()
    return try run.json([[String: Any]].self).compactMap { $0["code"] as? String }
  }

  /// Expects verification to find no damage in the store.
  func expectSound() throws {
    let store = try Store(at: path)
    #expect(try store.verify().findings == [])
    try store.close()
  }
}

extension ProgramRun {
  /// Expects `quakes` to print exactly one line of error output, which contains these words.
  func expectComplaint(
    _ words: String..., exitCode: Int32, location: SourceLocation = #_sourceLocation
  ) {
    expectComplaint(of: "quakes", words, exitCode: exitCode, location)
  }
}
