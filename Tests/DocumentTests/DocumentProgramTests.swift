import Foundation
import HeartwoodTestSupport
import Testing

/// The Swift of the documents.
///
/// Each block stands in a program, word for word; a program has what its blocks take for granted
/// around them. So what compiles there is what readers see.
@Suite(
  "The Swift in the documents",
  .enabled(if: BuiltModules.folder != nil, "no built modules beside the tests"))
struct DocumentProgramTests {
  @Test func `stands in a program that is compiled`() throws {
    let programs = try DocumentProgram.all()
    for document in try Document.all() {
      let own = programs.filter { $0.document == document.name }
      for block in document.blocks where block.language == "swift" {
        #expect(
          own.contains { $0.contains(block.lines) },
          "\(document.path):\(block.line): not in Tests/DocumentTests/Programs/\(document.name)*")
      }
    }
  }

  @Test func `uses every program`() throws {
    let documents = try Document.all()
    for program in try DocumentProgram.all() {
      let blocks = documents.filter { $0.name == program.document }.flatMap(\.blocks)
      #expect(
        blocks.contains { $0.language == "swift" && program.contains($0.lines) },
        "no document shows a part of \(program.name)")
    }
  }

  @Test func `is marked as such, and so is what is no Swift`() throws {
    for document in try Document.all() {
      for block in document.blocks {
        #expect(
          ["swift", "sh", "json", "text"].contains(block.language), "\(document.path):\(block.line)"
        )
      }
    }
  }

  @Test(arguments: try DocumentProgram.all(), ["nonisolated", "MainActor"])
  func `compiles without a warning, whatever the isolation of its code`(
    program: DocumentProgram, isolation: String
  ) throws {
    let folder = try #require(BuiltModules.folder)
    let scratch = try ScratchDirectory()
    // To the end: what may go to another thread is found out behind the type checker.
    let (output, exitCode) = try BuiltModules.run(
      "swiftc",
      ["-c", program.path, "-o", scratch.path(of: "program.o")] + program.options(folder)
        + ["-default-isolation", isolation])
    #expect(output == "")
    #expect(exitCode == 0)
  }
}
