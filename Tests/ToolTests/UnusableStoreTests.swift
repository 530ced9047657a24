import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that `heartwoodctl` reports an error for stores that it cannot use, and does not change
/// them.
@Suite("heartwoodctl with an unusable store")
struct UnusableStoreTests {
  /// Runs every command with valid arguments.
  private func runs(_ path: String) throws -> [ToolRun] {
    try CommandLineTests.commands.map { command in
      // The second argument of these commands is a name or a path.
      let word = ["copy", "keep", "release"].contains(command) ? [path + "-x"] : []
      return try ToolRun([command, path] + word)
    }
  }

  @Test func `rejects a missing store`() throws {
    let directory = try ScratchDirectory()
    for run in try runs(directory.path(of: "none")) {
      run.expectComplaint(
        "There is no file or directory at ", "Specify the directory of a store.", exitCode: 1)
    }
    // A command that opened the path for writing would have created a store.
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
  }

  @Test func `rejects a directory with other files, which stays unchanged`() throws {
    let directory = try ScratchDirectory()
    let file = directory.path(of: "letter.txt")
    try Data("Dear".utf8).write(to: URL(fileURLWithPath: file))
    for run in try runs(directory.path) {
      run.expectComplaint("contains no store", exitCode: 1)
    }
    try ToolRun("info", file).expectComplaint("is a file", exitCode: 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["letter.txt"])
  }

  @Test(arguments: [0, 5, 200_000]) func `rejects a foreign file named pages`(byteCount: Int) throws
  {
    let directory = try ScratchDirectory()
    let bytes = Data(repeating: 0x41, count: byteCount)
    try bytes.write(to: URL(fileURLWithPath: directory.path(of: "pages")))
    for run in try runs(directory.path) {
      run.expectComplaint("does not have the signature", exitCode: 1)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["pages"])
  }

  @Test(.waiting) func `rejects a store that another process has opened exclusively`() throws {
    let store = try ToolStore()
    try store.expectSound()
    let file = try #require(try PosixFileSystem().open(store.path + "/locks", .write))
    let locks = StoreLocks(file: file)
    #expect(try locks.tryLock(.exclusive, byte: LockByte.presenceReadWrite))
    try store.run("checkpoint").expectComplaint("Another process has been opening", exitCode: 1)
    try locks.unlock(byte: LockByte.presenceReadWrite)
    try store.run("info").expectFine()
    try store.expectSound()
  }

  @Test func `rejects a store whose headers are damaged`() throws {
    let store = try ToolStore()
    for offset in HeaderSlotLayout.offsets { try store.flip(Int(offset) + 100) }
    for run in try runs(store.path) {
      run.expectComplaint("both of its header slots", "Restore a backup", exitCode: 1)
    }
  }

  @Test func `rejects a truncated store`() throws {
    let store = try ToolStore()
    let bytes = try store.fixture.bytes(of: "pages")
    try store.fixture.write(Array(bytes.prefix(80_000)), to: "pages")
    for run in try runs(store.path) { run.expectComplaint("page file", exitCode: 1) }
  }

  @Test func `uses the sound parts of a damaged store, and reports the damage`() throws {
    let store = try ToolStore(keepsBefore: false)
    let page = try store.damageLeaf()
    try store.run("info").expectFine()
    try store.run("keys").expectFine()
    try store.run("dump", "rings").expectFine()
    let dump = try store.run("dump", "numbers")
    #expect(dump.exitCode == 1)
    #expect(dump.complaint.contains("page \(page)]"))
    #expect(dump.complaint.contains("heartwoodctl verify \(store.path)"))
    let verify = try store.run("verify")
    #expect(verify.exitCode == 1)
    #expect(verify.complaint == "")
    #expect(verify.output.contains("page \(page)]\n"))
    #expect(verify.lines.dropLast().last?.hasPrefix("damaged: ") == true)
    let document = try store.run("verify", "--json")
    #expect(document.exitCode == 1)
    #expect(try document.json()["isSound"] as? Bool == false)
    #expect(try (document.json()["findings"] as? [String])?.isEmpty == false)
    let chart = try store.run("stat")
    chart.expectFine()
    #expect(chart.output.contains("✕     damaged"))
    // The damaged leaf must not be copied.
    let target = store.path + "-copy"
    let copy = try store.run("copy", target)
    #expect(copy.exitCode == 1)
    #expect(!FileManager.default.fileExists(atPath: target))
  }
}
