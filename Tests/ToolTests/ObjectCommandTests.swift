import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Commands that show objects")
struct ObjectCommandTests {
  private func rows(_ run: ToolRun) throws -> [[String: Any]] {
    let json = try JSONSerialization.jsonObject(with: Data(run.output.utf8))
    return try #require(json as? [[String: Any]])
  }

  @Test(.evidence("M-08")) func `entities shows the model without the program's classes`() throws {
    let store = try ObjectStore()
    let json = try store.run("entities", "--json").json()
    let entities = try #require(json["entities"] as? [[String: Any]])
    func entity(_ name: String) throws -> [String: Any] {
      try #require(entities.first { $0["name"] as? String == name })
    }
    #expect(
      Set(entities.compactMap { $0["name"] as? String }) == ["Team", "Player", "Captain", "Oddity"])
    let captain = try entity("Captain")
    #expect(captain["superentity"] as? String == "Player")
    #expect(captain["count"] as? Int == 1)
    #expect(try entity("Player")["count"] as? Int == 5)
    let relationships = try #require(try entity("Team")["relationships"] as? [[String: Any]])
    let players = try #require(relationships.first { $0["name"] as? String == "players" })
    #expect(players["destination"] as? String == "Player")
    #expect(players["inverse"] as? String == "team")
    #expect(players["deleteRule"] as? String == "deny")
    #expect(players["kind"] as? String == "to-many")
    let lineUp = try #require(relationships.first { $0["name"] as? String == "lineUp" })
    #expect(lineUp["kind"] as? String == "ordered to-many")
    let indexes = try #require(try entity("Player")["indexes"] as? [[String: Any]])
    let unique = try #require(indexes.first { $0["isUnique"] as? Bool == true })
    #expect(unique["attributes"] as? [String] == ["name", "number"])
    #expect(unique["entryCount"] as? Int == 5)
    let attributes = try #require(try entity("Oddity")["attributes"] as? [[String: Any]])
    #expect(
      attributes.compactMap { $0["type"] as? String }.sorted() == [
        "bool", "bytes", "date", "decimal", "double", "float", "int8", "json", "json", "string",
        "string",
        "uint64", "uuid",
      ])
    let text = try store.run("entities")
    text.expectFine()
    #expect(text.lines.contains { $0.hasPrefix("Captain: Player  1 object, rows 4.0 KiB") })
  }

  @Test func `query filters, sorts and follows relationships`() throws {
    let store = try ObjectStore()
    let found = try rows(
      store.run(
        "query", "Player", "weight >= 10.5 AND team.name == 'Reds'", "--sort=-weight", "--columns",
        "name,team.name,team.players.@count,weight * 2", "--json"))
    #expect(found.map { $0["name"] as? String } == ["P2"])
    #expect(found[0]["team.name"] as? String == "Reds")
    #expect(found[0]["team.players.@count"] as? Int == 2)
    #expect(found[0]["weight * 2"] as? Double == 42)
    let all = try rows(store.run("query", "Player", "--json", "--sort", "name"))
    #expect(all.map { $0["name"] as? String } == (0..<6).map { "P\($0)" })
    #expect(all[5]["id"] as? String == "Captain/1")
    #expect(all[4]["team"] is NSNull)
    #expect(all[4]["yes"] as? Bool == true)
    #expect(all[0]["team"] as? String == "Team/1")
    let conditions = try rows(
      store.run(
        "query", "Team", "ANY players.number == 1", "--json", "--columns",
        "name,ANY players.weight > 20,ALL players.weight > 20", "--sort",
        "players.@max.weight"))
    #expect(conditions.map { $0["ANY players.weight > 20"] as? Bool } == [true])
    #expect(conditions.map { $0["ALL players.weight > 20"] as? Bool } == [false])
    let page = try rows(
      store.run("query", "Player", "--json", "--sort", "name", "--limit", "2", "--offset", "3"))
    #expect(page.map { $0["name"] as? String } == ["P3", "P4"])
    #expect(try store.run("query", "Player", "number == nil", "--count").output == "1\n")
    let plan = try store.run("query", "Player", "name == 'P3'", "--explain")
    #expect(plan.output.hasPrefix("Player by "))
  }

  @Test func `query shows every kind of value, and no control characters`() throws {
    let store = try ObjectStore()
    for format in ["--markdown", "--csv", "--jsonl", "--json"] {
      try store.run("query", "Oddity", format).expectFine()
    }
    let table = try store.run("query", "Oddity")
    table.expectFine()
    #expect(!table.output.unicodeScalars.contains { $0.value < 32 && $0 != "\n" })
    #expect(!table.output.unicodeScalars.contains("\u{202E}"))
    let objects = try rows(store.run("query", "Oddity", "--json"))
    #expect(
      objects.compactMap { $0["text"] as? String }.prefix(ObjectStore.oddTexts.count)
        == ObjectStore.oddTexts[...])
    let extreme = objects[ObjectStore.oddTexts.count]
    #expect(extreme["double"] as? String == "nan")
    #expect(extreme["single"] as? String == "inf")
    #expect(extreme["moment"] as? String == "1367-03-24T12:26:39.875Z")
    #expect(extreme["price"] as? Double == 12.5)
    #expect(extreme["data"] as? String == "AP8=")
    #expect((extreme["place"] as? [String: Any])?["y"] as? String == "two")
    #expect(extreme["words"] as? [String] == ["one", "two"])
    let lines = try store.run("query", "Oddity", "--columns", "text", "--csv").output
    #expect(lines.hasPrefix("text\r\n\"\"\r\nnil\r\n-\r\n\"a,b\"\r\n\"a\"\"b\"\r\n"))
  }

  @Test func `mistakes in a query are explained`() throws {
    let store = try ObjectStore()
    try store.run("query", "Playr").expectComplaint(
      "no entity", "Did you mean Player?", exitCode: 1)
    try store.run("query", "Player", "weight >").expectComplaint("column", exitCode: 1)
    try store.run("query", "Player", "heft > 1").expectComplaint(
      "has no property named heft", exitCode: 1)
    try store.run("query", "Team", "--columns", "players").expectComplaint(
      "players.@count", exitCode: 1)
    try store.run("query", "Player", "--sort", "team").expectComplaint("order", exitCode: 1)
    try store.run("query", "Player", "--csv", "--json").expectComplaint(
      "both select a format", exitCode: 2)
    try store.run("object", "Team/99").expectComplaint("no object Team/99", exitCode: 1)
    try store.run("object", "nothing").expectComplaint("is not the ID", exitCode: 1)
    let keys = try ToolStore()
    try keys.run("entities").expectComplaint("contains no objects", exitCode: 1)
  }

  @Test func `object, history and diff show what has changed`() throws {
    let store = try ObjectStore()
    try store.keep("before")
    try store.change(author: "coach") { context in
      let players = try context.fetch(FetchRequest<ToolPlayer>(sort: [SortDescriptor(\.name)]))
      players[1].weight = 99
      context.delete(players[4])
      let new = ToolPlayer(context: context)
      new.name = "P9"
    }
    let object = try store.run("object", "Player/2", "--json").json()
    let values = try #require(object["values"] as? [String: Any])
    #expect(values["weight"] as? Double == 99)
    #expect(values["team"] as? String == "Team/2")
    #expect(values["born"] as? String == "2001-01-02T00:00:00.500Z")
    let versions = try #require(object["versions"] as? [[String: Any]])
    #expect(versions.map { $0["transaction"] as? String } == ["inserted", "changed weight"])
    #expect(versions.map { $0["author"] as? String } == ["fixture", "coach"])
    let team = try store.run("object", "Team/1")
    #expect(team.output.contains("lineUp   Captain/1 Player/4 Player/3 Player/2 Player/1"))
    let old = try store.run("object", "Player/5", "--at", "before", "--json").json()
    #expect((old["values"] as? [String: Any])?["name"] as? String == "P4")

    let history = try rows(store.run("history", "--json"))
    #expect(history.map { $0["author"] as? String } == ["fixture", "coach"])
    let changes = try #require(history[1]["changes"] as? [[String: Any]])
    #expect(
      Set(changes.compactMap { $0["operation"] as? String }) == ["inserted", "updated", "deleted"])
    let later = try store.run("history", "--after", "1", "--author", "coach")
    #expect(later.output.contains("Player +1 ~1 -1, Team ~1"))

    let diff = try store.run("diff", "before", "--json").json()
    let found = try #require(diff["changes"] as? [[String: Any]])
    let update = try #require(found.first { $0["id"] as? String == "Player/2" })
    #expect(update["before"] as? [String: Double] == ["weight": 10.5])
    #expect(update["after"] as? [String: Double] == ["weight": 99])
    #expect(
      found.contains {
        $0["id"] as? String == "Player/5" && $0["operation"] as? String == "deleted"
      })
    let text = try store.run("diff", "before")
    #expect(text.output.contains("~ Player/2\n    weight: 10.5 -> 99.0\n"))
    #expect(text.output.contains("\n1 inserted, 2 updated, 1 deleted between generation "))
  }
}

@Suite("The end of the history")
struct HistoryEndTests {
  @Test func `contains the newest transactions of all authors or one author`() throws {
    let store = try ObjectStore(oddities: false)
    for (number, author) in ["a", "b", "a", "b", "b", "b", "b"].enumerated() {
      try store.change(author: author) { ToolTeam(context: $0).name = "team \(number)" }
    }
    for author in [[], ["--author", "a"], ["--author", "fixture"], ["--author", "c"]] {
      let arguments = ["history", store.fixture.path, "--jsonl"] + author
      let all = try ToolRun(arguments).output.split(separator: "\n")
      for limit in [0, 1, 2, 3, 7, 8, 9] {
        let run = try ToolRun(arguments + ["--limit", "\(limit)"])
        #expect(run.output.split(separator: "\n") == Array(all.suffix(limit)), "\(author) \(limit)")
      }
    }
    let largest = try store.run("history", "--limit", "\(Int.max)", "--after", "6", "--jsonl")
    #expect(largest.lines.filter { !$0.isEmpty }.count == 2)
  }

  @Test func `cannot be listed after a deleted transaction`() throws {
    let store = try ObjectStore(oddities: false)
    for number in 0..<3 { try store.change { ToolTeam(context: $0).name = "old \(number)" } }
    let container = try PersistentContainer(
      url: URL(filePath: store.fixture.path), schema: ObjectStore.schema)
    try container.deleteHistory(before: .distantFuture)
    try container.store.close()
    for number in 0..<9 { try store.change { ToolTeam(context: $0).name = "new \(number)" } }
    let all = try store.run("history", "--after", "1", "--jsonl")
    #expect(all.exitCode != 0 && !all.complaint.isEmpty)
    for limit in ["0", "1", "5", "100"] {
      let run = try store.run("history", "--after", "1", "--limit", limit, "--jsonl")
      #expect(run.exitCode == all.exitCode && run.complaint == all.complaint, "limit \(limit)")
    }
    try store.run("history", "--limit", "5").expectFine()
  }
}

@Suite("Conditions with texts for dates, UUIDs and objects")
struct TextConditionTests {
  @Test(arguments: [
    ("Player", "born > '2001-01-03'", "4"), ("Player", "born > '2001-01-02T00:00:01Z'", "4"),
    ("Player", "'2001-01-01T00:00:00Z' == born", "1"),
    ("Player", "born BETWEEN {'2001-01-01', '2001-01-02T12:00:00+12:00'}", "1"),
    ("Player", "born IN {'2001-01-01T00:00:00Z', '1999-01-01'}", "1"),
    ("Player", "team == 'Team/1'", "2"), ("Player", "team != 'Team/1'", "4"),
    ("Player", "team IN {'Team/1', nil}", "4"),
    ("Player", "SELF IN {'Player/1', 'Captain/1'}", "2"), ("Player", "SELF == 'Player/99'", "0"),
    ("Player", "NONE lineUps == 'Team/1'", "0"), ("Player", "team.name == 'Team/1'", "0"),
    ("Oddity", "code == '9213C23F-42E4-456E-9CAF-2D5B95DC8823'", "0"),
  ])
  func `match the expected objects`(entity: String, condition: String, count: String) throws {
    let run = try ObjectStore().run("query", entity, condition, "--count")
    #expect(run.output == count + "\n", "\(condition): \(run.complaint)")
  }

  @Test(arguments: [
    ("born > 'yesterday'", "ISO 8601"), ("team == 'Reds'", "such as Team/1"),
    ("team == 'Nothing/1'", "such as Team/1"), ("SELF == 'Player/x'", "such as Team/1"),
  ])
  func `are rejected if they are not such values`(condition: String, advice: String) throws {
    try ObjectStore().run("query", "Player", condition).expectComplaint(advice, exitCode: 1)
  }

  @Test func `are rejected if they are not UUIDs`() throws {
    try ObjectStore().run("query", "Oddity", "code == '9213'")
      .expectComplaint("Use a UUID", exitCode: 1)
  }
}
