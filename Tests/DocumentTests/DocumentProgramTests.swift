import Foundation
import HeartwoodTestSupport
import Testing

/// Checks that the Swift code in the documents compiles.
///
/// Each code block must occur verbatim in a program. The program adds the declarations that the
/// block needs to compile. The tested code is therefore exactly the code that readers see.
@Suite(
  "Swift code in the documents",
  .enabled(if: BuiltModules.directory != nil, "no built modules beside the tests"))
struct DocumentProgramTests {
  @Test func `every code block is part of a compiled program`() throws {
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

  @Test func `every code block is marked as Swift or as another language`() throws {
    for document in try Document.all() {
      for block in document.blocks {
        #expect(
          ["swift", "sh", "json", "text"].contains(block.language), "\(document.path):\(block.line)"
        )
      }
    }
  }

  @Test(
    arguments: TestScale.some(try DocumentProgram.all(), every: 4),
    TestScale.some(["nonisolated", "MainActor"]))
  func `code blocks compile without warnings under either default isolation`(
    program: DocumentProgram, isolation: String
  ) throws {
    let directory = try #require(BuiltModules.directory)
    let scratch = try ScratchDirectory()
    // A full compilation is needed, because the compiler checks isolation only after type checking.
    let (output, exitCode) = try BuiltModules.run(
      "swiftc",
      ["-c", program.path, "-o", scratch.path(of: "program.o")] + program.options(directory)
        + ["-default-isolation", isolation])
    #expect(output == "")
    #expect(exitCode == 0)
  }
}
