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
        (
          "Examples+Notes",
          """
          refused
          ["Call the cafe", "Café at nine"]
          1 2
          2 3

          """
        ),
        (
          "Examples+Server",
          """
          50 ["[50].degrees"]
          25 25
          [{"degrees":29,"id":29,"station":{"city":"Rome"}},\
          {"degrees":28,"id":28,"station":{"city":"Oslo"}}]

          """
        ),
        (
          "Examples+Report",
          """
          3 new, 0 changed
          Food       1 8.9
          Travel     2 150.5
          Travel     2 150.5
          3 expenses exported
          usage: report import FILE | show [PURPOSE] | export FILE
          93

          """
        ),
        (
          "CoreData+Import",
          """
          Summer ["Sea 800", "Map 0", "Beach 640"]
          3

          """
        ),
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
        ("Migration+Model", "42, Blue\n[\"red\"]\n"),
      ], every: 4))
  func `a document program produces the documented output`(name: String, output: String) throws {
    let scratch = try ScratchDirectory()
    let program = try DocumentProgram.named(name).build(in: scratch)
    let run = try BuiltModules.run(program, [], in: scratch.path)
    #expect(run.output == output)
    #expect(run.exitCode == 0)
  }
}
