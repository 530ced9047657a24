import Foundation
import HeartwoodTestSupport
import Testing

/// Programs that documents show as a whole, built as a reader would and run.
@Suite(
  "A program in the documents",
  .enabled(if: BuiltModules.folder != nil, "no built modules beside the tests"))
struct ShownProgramTests {
  @Test(arguments: [
    (
      "README",
      """
      The view shows ["Water the tree"].
      Others see 0, the view 1.
      Told to go on, it shows 0.

      """
    ),
    ("README+Engine", "1872: wet\n1872: frost in May\n"),
    ("FromCoreData", "[\"bread\", \"milk\"]\n"),
    ("FromRealm", "[\"Max\", \"Rex II\"]\n"),
  ])
  func `does what it says`(name: String, output: String) throws {
    let scratch = try ScratchDirectory()
    let program = try DocumentProgram.named(name).build(in: scratch)
    let run = try BuiltModules.run(program, [], in: scratch.path)
    #expect(run.output == output)
    #expect(run.exitCode == 0)
  }
}
