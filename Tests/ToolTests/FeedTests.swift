import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("A feed of changes")
struct FeedTests {
  private let stores: FeedStores
  private let directory: ScratchDirectory

  private var source: ObjectStore { stores.source }
  private var target: ObjectStore { stores.target }

  init() throws {
    stores = try FeedStores()
    directory = try ScratchDirectory()
  }

  /// Returns the events that `follow` writes.
  private func events(_ arguments: String...) throws -> String {
    let run = try ToolRun(["follow", source.fixture.path, "--once"] + arguments)
    run.expectFine()
    return run.output
  }

  private func apply(_ events: String) throws -> ToolRun {
    let file = directory.path(of: "input")
    try Data(events.utf8).write(to: URL(filePath: file))
    return try target.run("apply", file)
  }

  @Test(arguments: TestScale.seeds(quick: 1, all: 30))
  func `produces an equal store, even if parts of it are repeated`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var all = try events("--consumer", "copy", "--snapshot", "--acknowledge")
    #expect(try apply(all).exitCode == 0)
    try stores.expectEqual("seed \(seed)")
    for _ in 0..<3 {
      for _ in 0..<5 { try stores.change(&random) }
      let next = try events("--consumer", "copy", "--acknowledge")
      let run = try apply(next)
      #expect(run.exitCode == 0, "seed \(seed): \(run.complaint)")
      try stores.expectEqual("seed \(seed)")
      all += next
    }
    let again = try apply(all)
    #expect(again.output.hasPrefix("0 applied, "), "seed \(seed): \(again.output)")
    try stores.expectEqual("seed \(seed)")
    for store in [source, target] { try store.run("verify").expectFine() }
  }

  @Test func `is rejected if its source was restored to an earlier state`() throws {
    let backup = directory.path(of: "backup")
    try source.run("backup", backup).expectFine()
    try #expect(apply(events("--consumer", "copy", "--snapshot", "--acknowledge")).exitCode == 0)
    try source.change { ToolTeam(context: $0).name = "Lost" }
    try #expect(apply(events("--consumer", "copy", "--acknowledge")).exitCode == 0)
    let path = source.fixture.path
    try FileManager.default.removeItem(atPath: path)
    try ToolRun("restore", backup, path).expectFine()
    try source.run("follow", "--once", "--after", "3")
      .expectComplaint("restored to an earlier state", exitCode: 1)
    try source.change { ToolTeam(context: $0).name = "New" }
    try apply(events("--after", "2")).expectComplaint("restored to an earlier state", exitCode: 1)
    try #expect(apply(events("--consumer", "other", "--snapshot")).exitCode == 0)
    try stores.expectEqual("after the restoration")
  }

  @Test(arguments: ["--after=0", "--snapshot"])
  func `continues after the acknowledged events if a command is repeated`(start: String) throws {
    func next() throws -> String { try events(start, "--consumer", "copy", "--acknowledge") }
    try #expect(!next().isEmpty)
    try source.change { ToolTeam(context: $0).name = "New" }
    let event = try next()
    #expect(event.split(separator: "\n").count == 1 && event.contains("New"))
    try #expect(next().isEmpty)
  }

  @Test func `skips changes that a snapshot contains`() throws {
    for number in 0..<8 {
      try source.change { ToolTeam(context: $0).name = "Team \(number)" }
      try #expect(apply(events("--snapshot")).exitCode == 0)
      let again = try apply(events("--after", "0"))
      #expect(again.output.hasPrefix("0 applied, "), "\(again.output)\(again.complaint)")
    }
  }

  @Test func `says what to do if the history does not contain the next changes`() throws {
    try source.run("follow", "--once", "--after", "0", "--snapshot").expectComplaint(
      "Use only one of them", exitCode: 2)
    let container = try PersistentContainer(
      url: URL(filePath: source.fixture.path), schema: ObjectStore.schema)
    try container.deleteHistory(before: .distantFuture)
    try container.store.close()
    try source.run("follow", "--once", "--after", "0").expectComplaint(
      "Start over with --snapshot", exitCode: 1)
  }

  @Test func `has events of any length`() throws {
    let name = String(repeating: "n", count: 4_000_000)
    try source.change { ToolOddity(context: $0).text = name }
    try #expect(apply(events("--snapshot")).exitCode == 0)
    let copied = try stores.target.run("query", "Oddity", "--columns", "text", "--jsonl").output
    #expect(copied.utf8.count > name.utf8.count)
  }

  @Test func `keeps the sign of zero in every attribute`() throws {
    try source.change { context in
      let oddity = ToolOddity(context: context)
      (oddity.double, oddity.place) = (-0.0, ToolOddity.Place(x: -0.0, y: "-0"))
    }
    try #expect(apply(events("--snapshot")).exitCode == 0)
    try target.change { context in
      let oddity = try #require(try context.fetch(FetchRequest<ToolOddity>()).first)
      #expect(oddity.double.sign == .minus && oddity.place.x.sign == .minus)
    }
  }

  @Test func `deletes an object that is known only by its key`() throws {
    let copy = directory.path(of: "copy")
    try source.run("copy", copy).expectFine()
    try source.run("delete", "Player/2", "--yes").expectFine()
    let text = try events("--after", "2")
    let file = directory.path(of: "cut")
    try Data((text + "{\"specversion\":").utf8).write(to: URL(filePath: file))
    try ToolRun("apply", copy, file).expectComplaint("ended in the middle of a line", exitCode: 1)
    let left = try ToolRun("query", copy, "Player", "--columns", "tag,name", "--jsonl").output
    #expect(left.split(separator: "\n").count == 5, "\(text) \(left)")
  }

  @Test func `has the format of CloudEvents`() throws {
    let text = try events("--after", "0")
    let lines = text.split(separator: "\n")
    let first = try #require(
      try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any])
    #expect(first["specversion"] as? String == "1.0")
    #expect(first["id"] as? String == "1-0")
    #expect((first["source"] as? String)?.hasPrefix("x-heartwood://") == true)
    #expect(first["type"] as? String == "heartwood.object.inserted")
    #expect(first["datacontenttype"] as? String == "application/json")
    let ids = try lines.map { line in
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    }.map { $0?["id"] as? String }
    #expect(Set(ids).count == lines.count)
  }

  @Test func `is acknowledged up to its last event when it has been applied`() throws {
    let file = directory.path(of: "input")
    for tag in [7, 8] {
      try source.run("set", "Player/2", "tag=\(tag)", "--yes").expectFine()
      try Data(events("--after", "2").utf8).write(to: URL(filePath: file))
      try target.run("apply", file, "--source", source.fixture.path, "--consumer", "copy")
        .expectFine()
    }
    // No event is sent again.
    try source.run("set", "Player/1", "tag=9", "--yes").expectFine()
    #expect(try events("--consumer", "copy").split(separator: "\n").count == 1)
  }

  @Test(.mustEnd, arguments: TestScale.seeds(quick: 1, all: 3))
  func `loses nothing if its processes are killed`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let tool = try ToolRun.executable().path(percentEncoded: false)
    func run() throws -> Process {
      let process = Process()
      process.executableURL = URL(filePath: "/bin/sh")
      process.arguments = [
        "-c",
        "'\(tool)' follow '\(source.fixture.path)' --consumer copy --snapshot"
          + " | '\(tool)' apply '\(target.fixture.path)' - --source '\(source.fixture.path)'"
          + " --consumer copy",
      ]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.start()
      return process
    }
    /// Kills both programs, even if the shell has not started them yet.
    func end(_ process: Process) throws {
      while process.isRunning {
        _ = try BuiltModules.run("pkill", ["-KILL", "-P", "\(process.processIdentifier)"])
        usleep(5000)
      }
    }
    for _ in 0..<TestScale.pick(quick: 2, all: 25, long: 1000) {
      let process = try run()
      for _ in 0..<random.below(4) { try stores.change(&random) }
      usleep(UInt32(random.below(300_000)))
      try end(process)
    }
    let process = try run()
    for _ in 0..<20 where try stores.objects(target) != stores.objects(source) { usleep(100_000) }
    try stores.expectEqual("seed \(seed)")
    try end(process)
    for store in [source, target] { try store.run("verify").expectFine() }
  }
}
