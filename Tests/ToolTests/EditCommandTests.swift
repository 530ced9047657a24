import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Commands that change objects")
struct EditCommandTests {
  private func value(_ name: String, of id: String, _ store: ObjectStore) throws -> Any? {
    let json = try store.run("object", id, "--json").json()
    return (json["values"] as? [String: Any])?[name]
  }

  @Test func `set shows the change, and makes it only with --yes`() throws {
    let store = try ObjectStore()
    let before = try store.generation()
    let shown = try store.run("set", "Player/2", "weight=62.5", "number", "name=")
    shown.expectFine()
    #expect(
      shown.output == """
        ~ Player/2
            name: P1 -> \n    number: 1 -> -
            weight: 10.5 -> 62.5
        1 object would change; use --yes to make the change

        """)
    #expect(try store.generation() == before)
    try store.run("set", "Player/2", "weight=62.5", "number", "--yes").expectFine()
    #expect(try value("weight", of: "Player/2", store) as? Double == 62.5)
    #expect(try value("number", of: "Player/2", store) is NSNull)
    let history = try store.run("history", "--jsonl", "--limit", "1")
    #expect(history.output.contains("\"author\":\"heartwoodctl\""))
    #expect(try store.run("query", "Player", "weight == 62.5", "--count").output == "1\n")
  }

  @Test func `set moves an object between relationships on both sides`() throws {
    let store = try ObjectStore()
    try store.run("set", "Player/2", "team=Team/1", "--yes").expectFine()
    #expect(try value("players", of: "Team/2", store) as? [String] == ["Player/4"])
    #expect(
      try value("players", of: "Team/1", store) as? [String] == [
        "Player/1", "Player/2", "Player/3",
      ])
    try store.run("set", "Player/2", "team", "--yes").expectFine()
    #expect(try value("players", of: "Team/1", store) as? [String] == ["Player/1", "Player/3"])
  }

  @Test(.evidence("M-08")) func `changes obey types, constraints and delete rules`() throws {
    let store = try ObjectStore()
    try store.run("set", "Player/1", "weight=heavy").expectComplaint(
      "is not a valid value for Player.weight", exitCode: 1)
    try store.run("set", "Player/1", "number=40000").expectComplaint("Player.number", exitCode: 1)
    try store.run("set", "Player/1", "team=Player/2").expectComplaint("Team/1", exitCode: 1)
    try store.run("set", "Player/1", "weight").expectComplaint("weight", exitCode: 1)
    try store.run("set", "Player/1", "wait=1").expectComplaint(
      "no attribute or to-one relationship named wait", exitCode: 1)
    try store.run("set", "Team/2", "name=Reds", "--yes").expectComplaint(
      "same name", exitCode: 1)
    try store.run("set", "Player/2", "name=P0", "number=0", "--yes").expectComplaint(
      "same name, number", exitCode: 1)
    try store.run("delete", "Team/1", "--yes").expectComplaint("players", exitCode: 1)
    try store.run("delete", "Team/77", "--yes").expectComplaint("no object", exitCode: 1)
    try store.run("delete", "Player/1", "--yes").expectFine()
    #expect(
      try value("lineUp", of: "Team/1", store) as? [String]
        == ["Captain/1", "Player/5", "Player/4", "Player/3", "Player/2"])
    try store.run("delete", "Team/3", "--yes").expectFine()
    #expect(try store.run("query", "Team", "--count").output == "2\n")
    try store.run("verify").expectFine()
  }

  @Test(arguments: ["jsonl", "csv"])
  func `an export restores the values in another store`(format: String) throws {
    let (store, copy) = (try ObjectStore(), try ObjectStore(isEmpty: true))
    let directory = try ScratchDirectory()
    let file = directory.path(of: "export")
    for entity in ["Team", "Oddity"] {
      try store.run("export", entity, "--format", format, "--output", file).expectFine()
      let run = try copy.run("import", entity, file, "--format", format)
      run.expectFine()
      let count = entity == "Team" ? 3 : ObjectStore.oddTexts.count + 1
      #expect(run.output == "\(count) inserted, 0 updated, 0 unchanged, 0 refused\n")
      let again = try copy.run("import", entity, file, "--format", format)
      #expect(again.output == "0 inserted, 0 updated, \(count) unchanged, 0 refused\n")
      let texts = try [store, copy].map {
        try $0.run("query", entity, "--jsonl", "--sort", entity == "Team" ? "name" : "code").output
          .replacing(/"id":"[^"]*"/, with: "")
      }
      #expect(texts[0] == texts[1])
    }
    // The program's classes can read the objects that the tool wrote.
    try copy.change { context in
      let oddities = try context.fetch(FetchRequest<ToolOddity>())
      #expect(Set(oddities.map(\.text)) == Set(ObjectStore.oddTexts))
      #expect(oddities.allSatisfy { $0.words == ["one", "two"] && $0.place.y == "two" })
    }
  }

  @Test(.mustEnd) func `an interrupted export leaves no file behind`() throws {
    let store = try ObjectStore(oddities: false)
    try store.change { context in
      for number in 0..<20_000 { ToolTeam(context: context).name = "team \(number)" }
    }
    let directory = try ScratchDirectory()
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: directory.path)
    }
    var isInterrupted = false
    // An export may be complete before the signal arrives.
    while !isInterrupted {
      let process = Process()
      process.executableURL = try ToolRun.executable()
      process.arguments = [
        "export", store.fixture.path, "Team", "--output", directory.path(of: "teams.jsonl"),
      ]
      try process.start()
      while try names().isEmpty, process.isRunning { usleep(100) }
      process.interrupt()
      process.waitUntilExit()
      isInterrupted = process.terminationReason == .uncaughtSignal
      if isInterrupted {
        #expect(process.terminationStatus == SIGINT)
        #expect(try names() == [])
      } else {
        #expect(try names() == ["teams.jsonl"])
        try FileManager.default.removeItem(atPath: directory.path(of: "teams.jsonl"))
      }
    }
  }

  @Test func `import finds related objects and names rejected values`() throws {
    let store = try ObjectStore()
    let directory = try ScratchDirectory()
    func run(_ text: String, _ arguments: String...) throws -> ToolRun {
      let file = directory.path(of: "input")
      try Data(text.utf8).write(to: URL(filePath: file))
      return try ToolRun(["import", store.fixture.path, "Team", file] + arguments)
    }
    let team = try run(
      """
      [{"name": "Reds", "lineUp": []},
       {"name": "New"}, {"name": "New"}]
      """)
    #expect(team.output == "1 inserted, 1 updated, 1 unchanged, 0 refused\n")
    #expect(try value("lineUp", of: "Team/1", store) as? [String] == [])
    #expect(try value("lineUps", of: "Player/1", store) as? [String] == [])
    let before = try store.generation()
    try run(#"[{"name": "A"}, {"name": 7}]"#).expectComplaint("[1].name", exitCode: 1)
    #expect(try store.generation() == before)
    let skipped = try run(#"[{"name": "A"}, {"name": 7}, {"title": 1}]"#, "--skip-invalid")
    #expect(skipped.exitCode == 1)
    #expect(skipped.output.hasPrefix("1 inserted, 0 updated, 0 unchanged, 2 refused\n  [1].name"))
    try run("name,size\r\nA,1\r\n", "--format", "csv").expectComplaint("size", exitCode: 1)
    try run("name\n\"A", "--format", "csv").expectComplaint(
      "no closing quotation mark", exitCode: 1)
    try run("[]", "--key", "size").expectComplaint("unique", exitCode: 1)
    try run("[", "--format", "xml").expectComplaint("no format named xml", exitCode: 2)
    try store.run("verify").expectFine()
  }

  @Test func `the shell runs commands on one generation`() throws {
    let store = try ObjectStore()
    let run = try run(
      store,
      """
      query Player 'name == "P1"' --columns name
      qurey Player
      .help
      object Player/1 --json
      query Team --count
      .quit
      query Player
      """)
    #expect(run.exitCode == 1)
    #expect(run.output.hasPrefix("name\n----\nP1\n"))
    #expect(run.output.hasSuffix("}\n3\n"))
    #expect(run.complaint.contains("Did you mean query?"))
    let long = try self.run(store, String(repeating: "x", count: 1_000_000) + "\n.quit\n")
    #expect(long.complaint.utf8.count < 300)
    #expect(run.output.contains("read another generation"))
  }

  @Test func `import rejects the unique value of another entity's object`() throws {
    let store = try ObjectStore()
    let directory = try ScratchDirectory()
    func run(_ entity: String, _ text: String) throws -> ToolRun {
      let file = directory.path(of: "input")
      try Data(text.utf8).write(to: URL(filePath: file))
      return try ToolRun(["import", store.fixture.path, entity, file])
    }
    let player = #"[{"tag": 7, "name": "A", "weight": 1, "born": "2001-01-01T00:00:00Z"}]"#
    #expect(try run("Player", player).output.hasPrefix("1 inserted"))
    try run("Captain", #"[{"tag": 7, "badge": 1}]"#).expectComplaint("same tag", exitCode: 1)
    #expect(
      try run("Player", #"[{"tag": 7, "name": "B"}]"#).output.hasPrefix("0 inserted, 1 updated"))
    try store.run("verify").expectFine()
  }

  @Test func `numbers with trailing characters are rejected`() throws {
    let store = try ObjectStore()
    for text in ["1,5", "0x10", "5abc", "5.5.5", "5 6", "1e", ""] {
      try store.run("set", "Oddity/1", "price=\(text)").expectComplaint("price", exitCode: 1)
    }
    try store.run("set", "Oddity/1", "double=1e400").expectComplaint("double", exitCode: 1)
    try store.run("set", "Oddity/1", "double=inf", "price=-1.5e3", "--yes").expectFine()
    #expect(try value("price", of: "Oddity/1", store) as? Double == -1500)
    try store.run("query", "Oddity", "--columns", ",").expectComplaint("no column", exitCode: 2)
  }

  private func run(_ store: ObjectStore, _ input: String) throws -> ProgramRun {
    try ProgramRun("heartwoodctl", ["shell", store.fixture.path], input: Data(input.utf8))
  }
}
