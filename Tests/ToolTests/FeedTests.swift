import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Feeds the changes of one store to another one.
@Suite("A feed of changes")
struct FeedTests {
  private let source: ObjectStore
  private let target: ObjectStore
  private let directory: ScratchDirectory

  init() throws {
    source = try ObjectStore(oddities: false)
    target = try ObjectStore(isEmpty: true)
    directory = try ScratchDirectory()
    try source.change { context in
      for (tag, player) in try context.fetch(FetchRequest<ToolPlayer>()).enumerated() {
        player.tag = tag
      }
    }
  }

  /// Returns the objects of a store, without their IDs.
  private func objects(_ store: ObjectStore) throws -> [String] {
    try [
      ("Team", "name,players.@count,lineUp.@count"),
      ("Player", "tag,name,number,born,weight,yes,team.name,lineUps.@count"),
      ("Captain", "tag,badge"), ("Oddity", "code,text,double,moment,data,price,place,words"),
    ].flatMap { entity, columns in
      let order = String(columns.prefix { $0 != "," })
      let run = try store.run("query", entity, "--columns", columns, "--sort", order, "--jsonl")
      run.expectFine()
      return run.lines
    } + lineUps(store)
  }

  private func expectEqual(
    _ label: String, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let (copied, wanted) = (try objects(target), try objects(source))
    let difference = wanted.difference(from: copied)
    #expect(difference.isEmpty, "\(label): \(difference)", sourceLocation: location)
  }

  private func lineUps(_ store: ObjectStore) throws -> [String] {
    var result: [String] = []
    try store.change { context in
      for team in try context.fetch(FetchRequest<ToolTeam>(sort: [SortDescriptor(\.name)])) {
        result.append("\(team.name): \(team.lineUp.map { $0.tag ?? -1 })")
      }
    }
    return result
  }

  /// Runs `follow` until it has written all events, and returns them.
  ///
  /// - Parameter change: A closure that is called when it has written the first ones.
  private func events(
    _ arguments: String..., then change: () throws -> Void = {}
  ) throws -> String {
    let file = directory.path(of: "events")
    _ = FileManager.default.createFile(atPath: file, contents: nil)
    let process = Process()
    process.executableURL = try ToolRun.executable()
    process.arguments = ["follow", source.fixture.path] + arguments
    process.standardOutput = try FileHandle(forWritingTo: URL(filePath: file))
    try process.start()
    func wait() throws -> String {
      var (text, last) = ("", "-")
      while text != last || text.isEmpty {
        Thread.sleep(forTimeInterval: 0.3)
        last = text
        text = try String(contentsOfFile: file, encoding: .utf8)
      }
      return text
    }
    _ = try wait()
    try change()
    let text = try wait()
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    return text
  }

  private func apply(_ events: String) throws -> ToolRun {
    let file = directory.path(of: "input")
    try Data(events.utf8).write(to: URL(filePath: file))
    return try target.run("apply", file)
  }

  private func change(_ random: inout SeededGenerator) throws {
    var generator = random.forked()
    try source.change { context in
      for _ in 0..<(1 + generator.below(4)) { try Self.step(context, &generator) }
    }
  }

  private static func step(
    _ context: ManagedObjectContext, _ random: inout SeededGenerator
  ) throws {
    let teams = try context.fetch(FetchRequest<ToolTeam>(sort: [SortDescriptor(\.name)]))
    let players = try context.fetch(FetchRequest<ToolPlayer>(sort: [SortDescriptor(\.tag)]))
    let (team, player) = (
      teams.randomElement(using: &random), players.randomElement(using: &random)
    )
    switch random.below(10) {
    case 0:
      let new = ToolTeam(context: context)
      new.name = "team \(random.below(1 << 30))"
      new.lineUp = Array(players.prefix(random.below(4)))
    case 1, 2:
      let new = random.below(3) == 0 ? ToolCaptain(context: context) : ToolPlayer(context: context)
      new.tag = 100 + random.below(1 << 30)
      new.name = "player \(random.below(1 << 30))"
      new.team = team
    case 3: player?.team = team
    case 4: team?.lineUp.shuffle(using: &random)
    case 5: if let player { team?.lineUp.removeAll { $0 === player } }
    case 6: team?.name = "renamed \(random.below(1 << 30))"
    case 7:
      guard let player else { break }
      context.delete(player)
    case 8:
      let free = teams.first { $0.players.isEmpty }
      if let free { context.delete(free) }
    default:
      player?.weight = Double(random.below(1000))
      player?.name = "n\(random.below(1 << 30))"
      let oddity = ToolOddity(context: context)
      oddity.text = ObjectStore.oddTexts[random.below(ObjectStore.oddTexts.count)]
      oddity.double = [.nan, -.infinity, 0.1][random.below(3)]
    }
  }

  @Test(arguments: TestScale.seeds(quick: 3, all: 30))
  func `leads to an equal store, also if parts of it are repeated`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var all = try events("--consumer", "copy", "--snapshot", "--acknowledge")
    #expect(try apply(all).exitCode == 0)
    try expectEqual("seed \(seed)")
    for _ in 0..<3 {
      for _ in 0..<5 { try change(&random) }
      let next = try events("--consumer", "copy", "--acknowledge")
      let run = try apply(next)
      #expect(run.exitCode == 0, "seed \(seed): \(run.complaint)")
      try expectEqual("seed \(seed)")
      all += next
    }
    let again = try apply(all)
    #expect(again.output.hasPrefix("0 applied, "), "seed \(seed): \(again.output)")
    try expectEqual("seed \(seed)")
    for store in [source, target] { try store.run("verify").expectFine() }
  }

  @Test func `is refused if its source was restored to an earlier state`() throws {
    let backup = directory.path(of: "backup")
    try source.run("backup", backup).expectFine()
    try #expect(apply(events("--consumer", "copy", "--snapshot", "--acknowledge")).exitCode == 0)
    try source.change { ToolTeam(context: $0).name = "Lost" }
    try #expect(apply(events("--consumer", "copy", "--acknowledge")).exitCode == 0)
    let path = source.fixture.path
    try FileManager.default.removeItem(atPath: path)
    try ToolRun("restore", backup, path).expectFine()
    try source.change { ToolTeam(context: $0).name = "New" }
    try apply(events("--after", "2")).expectComplaint("restored to an earlier state", exitCode: 1)
    try #expect(apply(events("--consumer", "other", "--snapshot")).exitCode == 0)
    try expectEqual("after the restoration")
  }

  @Test func `deletes an object that is known by its key only`() throws {
    let copy = directory.path(of: "copy")
    try source.run("copy", copy).expectFine()
    try source.run("delete", "Player/2", "--yes").expectFine()
    let text = try events("--after", "2")
    let file = directory.path(of: "cut")
    try Data((text + "{\"specversion\":").utf8).write(to: URL(filePath: file))
    try ToolRun("apply", copy, file).expectComplaint("cut off", exitCode: 1)
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

  @Test func `contains the values before the changes, if they are known`() throws {
    let text = try events("--consumer", "copy", "--snapshot", "--before") {
      try source.run("set", "Player/2", "weight=62.5", "--yes").expectFine()
    }
    let last = try #require(text.split(separator: "\n").last)
    let event = try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any]
    let data = try #require(event?["data"] as? [String: Any])
    #expect((data["before"] as? [String: Any])?["weight"] as? Double == 10.5)
    #expect((data["after"] as? [String: Any])?["weight"] as? Double == 62.5)
  }

  @Test func `is acknowledged up to its last event when it has been applied`() throws {
    let file = directory.path(of: "input")
    try Data(events("--snapshot").utf8).write(to: URL(filePath: file))
    for tag in [7, 8] {
      try source.run("set", "Player/2", "tag=\(tag)", "--yes").expectFine()
      try Data(events("--after", "2").utf8).write(to: URL(filePath: file))
      try target.run("apply", file, "--source", source.fixture.path, "--consumer", "copy")
        .expectFine()
    }
    // Nothing is sent again.
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
    /// Kills both programs; the shell may not have started them yet.
    func end(_ process: Process) throws {
      while process.isRunning {
        _ = try BuiltModules.run("pkill", ["-KILL", "-P", "\(process.processIdentifier)"])
        usleep(5000)
      }
    }
    for _ in 0..<TestScale.pick(quick: 6, all: 25, long: 1000) {
      let process = try run()
      for _ in 0..<random.below(4) { try change(&random) }
      usleep(UInt32(random.below(300_000)))
      try end(process)
    }
    let process = try run()
    for _ in 0..<20 where try objects(target) != objects(source) { usleep(100_000) }
    try expectEqual("seed \(seed)")
    try end(process)
    for store in [source, target] { try store.run("verify").expectFine() }
  }
}
