import Foundation
import HeartwoodTestSupport
import Testing

/// The program that the documents show to those who come from Core Data.
@Suite("The program in the documents")
struct NoteProgramTests {
  @Test func `runs, and is the one that is shown`() throws {
    let directory = try ScratchDirectory()
    let notes = try keepNotes(at: URL(filePath: directory.path(of: "notes")))
    #expect(notes == ["bread", "milk"])
    let here = URL(filePath: #filePath).deletingLastPathComponent()
    let program = try String(
      contentsOf: here.appending(path: "NoteProgram.swift"), encoding: .utf8)
    let document = try String(
      contentsOf: here.appending(path: "../../Docs/FromCoreData.md"), encoding: .utf8)
    #expect(document.contains(program))
  }
}
