import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The maintenance commands")
struct MaintenanceCommandTests {
  @Test func `keep and release generations`() throws {
    let store = try ToolStore(keepsBefore: false)
    let newest = Int(store.newest.frame)
    let run = try store.run("keep", "a name")
    run.expectFine()
    #expect(run.output == "Generation \(newest) is now named \"a name\".\n")
    let again = try store.run("keep", "other", "--at", "\(newest)", "--json").json()
    #expect(again["generation"] as? Int == newest)
    try store.run("keep", "third", "--at", "1").expectComplaint(
      "heartwoodctl generations \(store.path)", exitCode: 1)
    try store.run("keep", String(repeating: "n", count: 256)).expectComplaint(
      "256", exitCode: 1)
    try store.expectSound { opened throws in
      #expect(try opened.namedGenerations() == ["a name": store.newest, "other": store.newest])
      try opened.write { try $0.keyspace("rings").put(1873, [1]) }
    }
    #expect(try store.run("keys", "rings", "--named", "other").output == "1871\n1872\n")
    try store.run("keep", "other").expectComplaint("Release that generation first", exitCode: 1)
    try store.run("release", "othr").expectComplaint("Did you mean other?", exitCode: 1)
    try store.run("release", "other").expectFine()
    let released = try store.run("release", "a name", "--json").json()
    #expect(released["name"] as? String == "a name")
    try store.run("keys", "--named", "other").expectComplaint(
      "There is no generation named", exitCode: 1)
    try store.run("keys", "--at", "\(newest)").expectComplaint(
      "heartwoodctl generations", exitCode: 1)
    try store.expectSound { opened throws in
      #expect(try opened.namedGenerations() == [:])
    }
  }

  @Test func `checkpoint the log`() throws {
    let store = try ToolStore(keepsBefore: false)
    // Leave the store in the same state as a killed process would.
    do {
      let opened = try store.fixture.open()
      try opened.write { try $0.keyspace("rings").put(1873, [1]) }
      try StoreFixture.expectSound(opened)
    }
    let info = try store.run("info", "--json").json()
    let newest = try #require(info["newestGeneration"] as? Int)
    #expect(try #require(info["checkpointedGeneration"] as? Int) < newest)
    let run = try store.run("checkpoint")
    run.expectFine()
    #expect(run.output.hasPrefix("The page file contains generation \(newest). "))
    let document = try store.run("checkpoint", "--json").json()
    #expect(document["checkpointedGeneration"] as? Int == newest)
    #expect(document["blockingGeneration"] == nil)
    try store.expectSound()
  }

  @Test func `write to no file of the store when their output is closed`() throws {
    let store = try ToolStore()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", #""$0" checkpoint "$1" <&- >&- 2>&-; echo $?"#, try ToolRun.executable().path,
      store.path,
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.start()
    #expect(try output.fileHandleForReading.readToEnd() == Data("0\n".utf8))
    process.waitUntilExit()
    let pages = try store.fixture.bytes(of: "pages")
    let start = UInt64(littleEndian: pages.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) })
    #expect(start == HeaderSlotLayout.magicNumber)
    try store.expectSound()
  }

  @Test(.mustEnd) func `fail on damage even if nothing reads their output`() throws {
    let store = try ToolStore()
    _ = try store.damageLeaf()
    let process = Process()
    process.executableURL = try ToolRun.executable()
    process.arguments = ["verify", store.path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.start()
    try pipe.fileHandleForReading.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
  }

  @Test func `compact the page file`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { store throws in
      try store.write { transaction in
        let gone = try transaction.keyspace("gone")
        for number in 0..<40 { try gone.put(number, [UInt8](repeating: 1, count: 100_000)) }
        try transaction.keyspace("stays").put(1, [UInt8](repeating: 2, count: 100_000))
      }
      try store.write { try $0.removeKeyspace("gone") }
    }
    let run = try ToolRun("compact", fixture.path)
    run.expectFine()
    #expect(run.lines[0].split(separator: " ") == ["before", "after"])
    #expect(run.lines.contains { $0.hasSuffix("moved") })
    let document = try ToolRun("compact", fixture.path, "--json").json()
    let pageCount = try #require(document["pageCount"] as? Int)
    #expect(pageCount < 40)
    try fixture.run { #expect($0.statistics.pageCount == pageCount) }
  }

  @Test func `copy the newest and older generations`() throws {
    let store = try ToolStore()
    let newest = store.path + "-newest"
    let run = try store.run("copy", newest)
    run.expectFine()
    #expect(run.output.hasPrefix("Copied generation \(store.newest.frame), "))
    #expect(run.output.hasSuffix(" to the new store \(newest).\n"))
    let before = store.path + "-before"
    let document = try store.run("copy", before, "--named", "before", "--json").json()
    #expect(document["generation"] as? Int == Int(store.before.frame))
    let at = store.path + "-at"
    try store.run("copy", at, "--at", "\(store.before.frame)").expectFine()
    for (path, value) in [(newest, "frost\nin May"), (before, "wet"), (at, "wet")] {
      let copy = try Store(at: path)
      #expect(try copy.snapshot().keyspace("rings")?.get(1872) == Array(value.utf8))
      try StoreFixture.expectSound(copy)
      try copy.close()
    }
    for inside in [store.path + "/x", newest + "/../" + "store/x"] {
      try store.run("copy", inside).expectComplaint("is inside the store's directory", exitCode: 1)
    }
    try store.run("copy", newest).expectComplaint(
      "a copy never replaces existing files", exitCode: 1)
    try store.run("copy", store.path + "-x", "--named", "befor").expectComplaint(
      "Did you mean before?", exitCode: 1)
    try store.expectSound()
  }
}
