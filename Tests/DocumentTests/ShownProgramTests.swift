import Foundation
import HeartwoodTestSupport
import Testing

/// Builds and runs the programs that documents show completely, and checks their output.
@Suite(
  "Document programs",
  .enabled(if: BuiltModules.directory != nil, "no built modules beside the tests"))
struct ShownProgramTests {
  @Test(
    arguments: TestScale.some(
      [
        (
          "README",
          """
          Pinned: ["Book flights"]
          Newest: 0 open. Pinned: 1.
          After advancing: 0.

          """
        ),
        ("README+Engine", "1872: paid\n1872: shipped\n"),
        ("CoreData", "[\"bread\", \"milk\"]\n"),
        ("Realm", "[\"Max\", \"Rex II\"]\n"),
        ("GRDB", "[\"Barbara, Red\"]\n"),
        (
          "Conflicts",
          """
          25 in stock
          30 in stock, saved by attempt 2
          order 7 (sent, a gift): tea, cups
          order 8 (open, ): tea

          """
        ),
        (
          "Models",
          """
          Ada, staff number 7
          Bob, discount 0.1
          Cid
          3, 1 of them neither
          ["Ada"]
          ["Ada"]
          cafe zoe: 3
          constraintConflict
          true true

          """
        ),
        ("Migration+Model", "incompatibleSchema true\n42, Blue\n[\"red\"]\n"),
      ], every: 4))
  func `a document program produces the documented output`(name: String, output: String) throws {
    let scratch = try ScratchDirectory()
    let program = try DocumentProgram.named(name).build(in: scratch)
    let run = try BuiltModules.run(program, [], in: scratch.path)
    #expect(run.output == output)
    #expect(run.exitCode == 0)
  }
}
