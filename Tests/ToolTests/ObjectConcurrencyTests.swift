import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// A class that only a later version of the model contains.
private final class ToolExtra: ManagedObject {
  @Attribute(.unique) var name: String = ""
}

@Suite("Commands on damaged stores and on stores in use")
struct ObjectConcurrencyTests {
  @Test func `follow prints changes as they are committed`() throws {
    let store = try ObjectStore()
    let process = Process()
    process.executableURL = try ToolRun.executable()
    process.arguments = ["follow", store.fixture.path, "--after", "0", "--before"]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.start()
    defer { process.terminate() }
    let lines = LineReader(pipe.fileHandleForReading)
    let inserted = 3 + 6 + ObjectStore.oddTexts.count + 1
    for _ in 0..<inserted { #expect(try lines.next().contains(#""operation":"inserted""#)) }
    try store.change(author: "coach") { context in
      let players = try context.fetch(FetchRequest<ToolPlayer>(sort: [SortDescriptor(\.name)]))
      players[1].weight = 99
    }
    let line = try lines.next()
    let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    #expect(event?["subject"] as? String == "Player/2")
    let json = event?["data"] as? [String: Any]
    #expect(json?["properties"] as? [String] == ["weight"])
    #expect(json?["author"] as? String == "coach")
    #expect((json?["before"] as? [String: Any])?["weight"] as? Double == 10.5)
    #expect((json?["after"] as? [String: Any])?["weight"] as? Double == 99)
  }

  @Test(.mustEnd) func `follow prints changes that are committed with a new model`() throws {
    // The store is new, so it has no history.
    let store = try ObjectStore(isEmpty: true)
    let process = Process()
    process.executableURL = try ToolRun.executable()
    process.arguments = ["follow", store.fixture.path, "--consumer", "log", "--acknowledge"]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.start()
    defer { process.terminate() }
    let lines = LineReader(pipe.fileHandleForReading)
    // The command has no output yet, but registers its consumer when it begins to wait.
    let old = try PersistentContainer(
      url: URL(filePath: store.fixture.path), schema: ObjectStore.schema)
    while try old.historyConsumers["log"] == nil { Thread.sleep(forTimeInterval: 0.01) }
    try old.store.close()
    let container = try PersistentContainer(
      url: URL(filePath: store.fixture.path),
      schema: Schema(ToolTeam.self, ToolCaptain.self, ToolOddity.self, ToolExtra.self))
    for name in ["first", "second"] {
      let context = container.newContext()
      ToolExtra(context: context).name = name
      try context.save()
    }
    try container.store.close()
    for name in ["first", "second"] { #expect(try lines.next().contains(name)) }
  }

  @Test(.mustEnd) func `follow ends when its reader closes the output`() throws {
    let store = try ObjectStore()
    let process = Process()
    process.executableURL = try ToolRun.executable()
    process.arguments = ["follow", store.fixture.path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.start()
    try pipe.fileHandleForReading.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  @Test func `a generation is chosen by number, name or time`() throws {
    let store = try ObjectStore()
    try store.keep("before")
    try store.keep("2026-11-27-before")
    let number = try store.generation().frame
    let time = Date()
    Thread.sleep(forTimeInterval: 0.05)
    try store.change { context in
      for player in try context.fetch(FetchRequest<ToolPlayer>()) { player.weight = 1 }
    }
    func count(_ at: String) throws -> String {
      try store.run("query", "Player", "weight == 1", "--count", "--at", at).output
    }
    let text = time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    let spaced = text.replacing("T", with: " ")
    for at in [
      "\(number)", "before", "2026-11-27-before", text, spaced,
      spaced.replacing("Z", with: " +0000"), spaced.replacing("Z", with: " UTC"),
    ] { #expect(try count(at) == "0\n", "\(at)") }
    let newest = try #require(try store.run("info", "--json").json()["newestTime"] as? String)
    let minute = String((time + 120).formatted(.iso8601).prefix(16))
    for at in ["2090-01-01", newest, minute] { #expect(try count(at) == "6\n", "\(at)") }
    try store.run("query", "Player", "--at", "2026-11-27-befor").expectComplaint(
      "Did you mean 2026-11-27-before?", exitCode: 1)
    try store.run("query", "Player", "--at", "1999-01-01T00:00:00Z").expectComplaint(
      "No readable generation dates from", exitCode: 1)
    try store.run("query", "Player", "--at", "befor").expectComplaint(
      "Did you mean before?", exitCode: 1)
  }

  @Test func `a name selects its generation even if the name is a number or a time`() throws {
    let store = try ObjectStore()
    let names = ["1", "2090-01-01"]
    for name in names { try store.keep(name) }
    try store.change { context in
      for player in try context.fetch(FetchRequest<ToolPlayer>()) { player.weight = 1 }
    }
    let arguments = ["weight == 1", "--count"]
    for name in names {
      let run = try ToolRun(["query", store.fixture.path, "Player", "--at", name] + arguments)
      #expect(run.output == "0\n", "\(name)")
    }
    // A shell stays in its generation, even if the number of that generation is a name.
    let frame = try store.generation().frame
    try store.fixture.run { opened in
      let first = try #require(try opened.namedGenerations()["1"])
      try opened.keep(first, as: "\(frame)")
    }
    let shell = try ProgramRun(
      "heartwoodctl", ["shell", store.fixture.path],
      input: Data("query Player 'weight == 1' --count\n".utf8))
    #expect(shell.output == "6\n")
  }

  @Test func `objects are read while another process writes`() throws {
    let store = try ObjectStore()
    let container = try PersistentContainer(
      url: URL(filePath: store.fixture.path), schema: ObjectStore.schema)
    let context = container.newContext()
    for round in 0..<5 {
      for _ in 0..<50 { ToolOddity(context: context).text = "\(round)" }
      try context.save()
      #expect(try store.run("query", "Oddity", "text == '\(round)'", "--count").output == "50\n")
    }
    // The tool writes while the program has the store open. The program then reads the change.
    try store.run("set", "Player/1", "weight=7", "--yes").expectFine()
    let players = try context.fetch(FetchRequest<ToolPlayer>(where: #Predicate { $0.weight == 7 }))
    #expect(players.map(\.name) == ["P0"])
    try container.store.close()
  }

  /// Texts of a model that cannot be the model of the store.
  private static let models = [
    "", "{", "[]", "{}", #"{"version":1,"entities":[],"lastEntity":0}"#, "null",
    #"{"version":1,"lastEntity":1,"entities":[{"name":"A","number":9,"lastProperty":0,"#
      + #""properties":[],"layouts":[],"indexes":[]}]}"#,
    #"{"version":1,"lastEntity":1,"entities":[{"name":"Team","number":1,"lastProperty":1,"#
      + #""properties":[{"name":"a","number":1,"kind":{"toMany":{"isOrdered":false}}}],"#
      + #""layouts":[{"columns":[],"constants":[]}],"indexes":["unique.1.7"]}]}"#,
    #"{"version":1,"lastEntity":1,"entities":[{"name":"Team","number":1,"lastProperty":1,"#
      + #""properties":[],"layouts":[{"columns":[],"constants":[]}],"indexes":["x"],"#
      + #""derived":["1 frobnicate"]}]}"#,
  ]

  @Test(arguments: models)
  func `a model that contradicts itself is an error`(model: String) throws {
    let store = try ObjectStore()
    try store.fixture.run { opened throws in
      try opened.write { try $0.keyspace("heartwood.model").put("model", Array(model.utf8)) }
    }
    for arguments in [["entities"], ["query", "Team"], ["object", "Team/1"], ["history"]] {
      let run = try ToolRun([arguments[0], store.fixture.path] + arguments.dropFirst())
      #expect((0...1).contains(run.exitCode))
    }
  }

  @Test(arguments: TestScale.seeds(quick: 8, all: 100, long: 2000))
  func `a model or a declaration with a wrong byte is read or rejected`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let store = try ObjectStore(oddities: false)
    let key: Key = generator.isTrue(in256: 128) ? "model" : "declarations"
    try store.fixture.run { opened throws in
      try opened.write { transaction in
        let keyspace = try transaction.keyspace("heartwood.model")
        var bytes = try keyspace.get(key) ?? []
        let position = generator.below(bytes.count)
        // Replacing a byte with one of these characters keeps the JSON readable more often than
        // flipping a bit does.
        bytes[position] = Array("0123456789abtrue\"{}[],.:".utf8)[generator.below(24)]
        try keyspace.put(key, bytes)
      }
    }
    for arguments in [["entities"], ["query", "Player"], ["delete", "Player/1"]] {
      let run = try ToolRun([arguments[0], store.fixture.path] + arguments.dropFirst())
      #expect((0...1).contains(run.exitCode), "seed \(seed): \(run.complaint)")
    }
  }
}
