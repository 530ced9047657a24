import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The commands backup and restore")
struct BackupCommandTests {
  private let store: ObjectStore
  private let directory: ScratchDirectory

  init() throws {
    store = try ObjectStore(oddities: false)
    directory = try ScratchDirectory()
  }

  private var backup: String { directory.path(of: "backup") }

  private func addTeam(_ name: String) throws {
    try store.change { ToolTeam(context: $0).name = name }
  }

  private func teams(in path: String) throws -> String {
    try ToolRun("query", path, "Team", "--columns", "name", "--sort", "name", "--jsonl").output
  }

  @Test(.evidence("A2")) func `restore objects by number, name and time`() throws {
    try store.keep("first")
    let first = try teams(in: store.fixture.path)
    try addTeam("A")
    let run = try store.run("backup", backup)
    run.expectFine()
    #expect(run.lines[0].contains("full-") && run.lines[0].contains("delta-"))
    let second = try teams(in: store.fixture.path)
    Thread.sleep(forTimeInterval: 0.02)
    let time = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    Thread.sleep(forTimeInterval: 0.02)
    try addTeam("B")
    try store.run("backup", backup).expectFine()
    #expect(try store.run("backup", backup).output.contains("nothing has changed"))
    let third = try teams(in: store.fixture.path)

    let points: [[String: Any]] = try ProgramRun(
      "heartwoodctl", ["restore", backup, "--json"]
    ).json()
    #expect(points.map { $0["names"] as? [String] } == [["first"], [], []])
    let number = try #require(points[1]["generation"] as? Int)
    #expect(try ToolRun("restore", backup).lines.count == 6)
    for (at, expected) in [
      ("first", first), ("\(number)", second), (time, second), ("2090-01-01", third), ("", third),
    ] {
      let target = directory.path(of: "restored \(at)")
      try ToolRun(["restore", backup, target] + (at.isEmpty ? [] : ["--at", at])).expectFine()
      #expect(try teams(in: target) == expected, "\(at)")
      try ToolRun("verify", target).expectFine()
    }
    for (at, words) in [
      ("firts", "Did you mean first?"), ("1999-01-01", "dates from"),
      ("7", "not contain generation 7"),
    ] {
      let refused = try ToolRun("restore", backup, directory.path(of: "no"), "--at", at)
      refused.expectComplaint(words, exitCode: 1)
      // There is no store whose generations could be listed.
      #expect(!refused.complaint.contains("heartwoodctl generations"))
    }
    try ToolRun("restore", backup, store.fixture.path).expectComplaint("exists", exitCode: 1)
    try ToolRun("restore", store.fixture.path).expectComplaint("not backups", exitCode: 1)
    for option in [["--at", "first"], ["--fork"]] {
      try ToolRun(["restore", backup] + option).expectComplaint(
        "requires the argument NEW", exitCode: 2)
    }
    try ToolRun("restore", directory.path(of: "nothing")).expectComplaint(
      "no backup directory", exitCode: 1)
  }

  @Test func `select each restore point by its printed time`() throws {
    for number in 0..<8 {
      try addTeam("\(number)")
      try store.keep("point \(number)")
      Thread.sleep(forTimeInterval: 0.002)
    }
    try store.run("backup", backup).expectFine()
    let points: [[String: Any]] = try ProgramRun("heartwoodctl", ["restore", backup, "--json"])
      .json()
    let chosen = try points.enumerated().map { index, point in
      let time = try #require(point["time"] as? String)
      return try ToolRun("restore", backup, directory.path(of: "\(index)"), "--at", time, "--json")
        .json()["generation"] as? Int
    }
    #expect(chosen.count == 8 && chosen == points.map { $0["generation"] as? Int })
  }

  @Test(.mustEnd) func `repeat backups until the reader of their output ends`() throws {
    let process = Process()
    process.executableURL = try ToolRun.executable()
    process.arguments = ["backup", store.fixture.path, backup, "--every", "1s", "--json"]
    let (pipe, complaints) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (pipe, complaints)
    try process.start()
    defer { kill(process.processIdentifier, SIGKILL) }
    let first = try LineReader(pipe.fileHandleForReading).next()
    let json = try JSONSerialization.jsonObject(with: Data(first.utf8)) as? [String: Any]
    #expect((json?["files"] as? [String])?.count == 1)
    try addTeam("A")
    while try Backup(at: backup).restorePoints().count < 2 { Thread.sleep(forTimeInterval: 0.05) }
    try pipe.fileHandleForReading.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
    let complaint = try complaints.fileHandleForReading.readToEnd() ?? Data()
    #expect(String(decoding: complaint, as: UTF8.self).contains("backups have stopped"))
    try store.run("verify").expectFine()
  }

  @Test func `restore a named generation even if the name is a number or a time`() throws {
    let names = ["7", "2090-01-01"]
    for name in names { try store.keep(name) }
    let expected = try teams(in: store.fixture.path)
    try addTeam("A")
    try store.run("backup", backup).expectFine()
    for name in names {
      let target = directory.path(of: "restored \(name)")
      try ToolRun("restore", backup, target, "--at", name).expectFine()
      #expect(try teams(in: target) == expected, "\(name)")
    }
  }

  @Test(.evidence("A7")) func `thin restore points`() throws {
    for name in ["A", "B", "C"] {
      if name == "B" { try store.keep("kept") }
      try addTeam(name)
      try store.run("backup", backup).expectFine()
    }
    // The generation had already been backed up when it got its name, so the next backup recorded
    // the name.
    #expect(try Backup(at: backup).restorePoints().map(\.names) == [["kept"], [], []])
    // All backups were made within the same hour, or just before and after the end of an hour.
    let run = try store.run("backup", backup, "--keep", "1hourly")
    #expect(run.output.contains("; removed 1 restore point"))
    #expect(try Backup(at: backup).restorePoints().map(\.names) == [["kept"], []])
    try store.run("backup", backup, "--keep", "1h, 2daily").expectFine()
    #expect(try Backup(at: backup).restorePoints().count == 2)
    try ToolRun("restore", backup, directory.path(of: "last")).expectFine()
    #expect(try teams(in: directory.path(of: "last")) == teams(in: store.fixture.path))
    for list in ["", "x", "0hourly", "1yearly", "5", "-1h"] {
      try store.run("backup", backup, "--keep", list).expectComplaint("--keep", exitCode: 2)
    }
    try store.run("backup", backup, "--every", "1").expectComplaint("such as 10s", exitCode: 2)
    try store.run("backup", store.fixture.path + "/b").expectComplaint("outside", exitCode: 1)
  }
}
