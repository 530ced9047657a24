import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("The command import")
struct ImportCommandTests {
  private let store: ObjectStore
  private let directory: ScratchDirectory

  init() throws {
    store = try ObjectStore(oddities: false)
    directory = try ScratchDirectory()
  }

  private func run(_ entity: String, _ text: String, _ arguments: String...) throws -> ToolRun {
    let file = directory.path(of: "input")
    try Data(text.utf8).write(to: URL(filePath: file))
    return try ToolRun(["import", store.fixture.path, entity, file] + arguments)
  }

  /// Imports text from a pipe, skips invalid elements, and returns the output.
  private func pipe(_ text: String, to entity: String) throws -> String {
    let file = directory.path(of: "input")
    try Data(text.utf8).write(to: URL(filePath: file))
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = [
      "-c", #"cat "$1" | "$0" import "$2" "$3" - --skip-invalid"#, try ToolRun.executable().path,
      file, store.fixture.path, entity,
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.start()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }

  private func lines(
    _ entity: String, _ condition: String, _ columns: String
  ) throws -> [String] {
    let run = try store.run(
      "query", entity, condition, "--columns", columns, "--sort", columns, "--csv")
    run.expectFine()
    return run.output.split(separator: "\r\n").dropFirst().map(String.init)
  }

  @Test func `skips the entire element if it violates a constraint`() throws {
    // The second element has the name and number of a player in the store. The third element has
    // the name and number of the first element. The fourth element lacks a value. The fifth element
    // changes a team, and then a member of this team is refused.
    let run = try run(
      "Player",
      """
      [{"tag": 1, "name": "N", "number": 50, "weight": 1, "born": "2001-01-01T00:00:00Z"},
       {"tag": 2, "name": "P0", "number": 0, "weight": 1, "born": "2001-01-01T00:00:00Z",
        "team": {"name": "Made for nobody"}},
       {"tag": 3, "name": "N", "number": 50, "weight": 1, "born": "2001-01-01T00:00:00Z"},
       {"tag": 4, "weight": null},
       {"tag": 5, "name": "O", "number": 51, "weight": 1, "born": "2001-01-01T00:00:00Z"}]
      """, "--key", "tag", "--skip-invalid")
    #expect(run.exitCode == 1)
    #expect(run.output.hasPrefix("2 inserted, 0 updated, 0 unchanged, 3 refused\n"))
    for position in 1...3 { #expect(run.output.contains("\n  [\(position)]")) }
    #expect(run.output.contains("same name, number"))
    #expect(!run.output.contains("mergePolicy"))
    #expect(try lines("Player", "tag != nil", "tag,name") == ["1,N", "5,O"])
    #expect(try lines("Team", "name BEGINSWITH 'M'", "name") == [])
    try store.run("verify").expectFine()
  }

  @Test func `rejects a CSV header with unknown, empty or repeated names`() throws {
    for (text, complaint) in [
      ("name,colour\nA,red\n", "contains colour"), ("name,\nA,1\n", "without a name"),
      ("name,name\nA,B\n", "two columns for Team.name"),
    ] {
      try run("Team", text, "--format", "csv").expectComplaint(complaint, exitCode: 1)
    }
  }

  @Test func `names the element that violates a constraint`() throws {
    let before = try store.generation()
    try run(
      "Player",
      """
      {"tag": 1, "name": "N", "number": 50, "weight": 1, "born": "2001-01-01T00:00:00Z"}
      {"tag": 2, "name": "P0", "number": 0, "weight": 1, "born": "2001-01-01T00:00:00Z"}
      """, "--key", "tag"
    ).expectComplaint("[1] cannot be imported: Another Player has the same name", exitCode: 1)
    #expect(try store.generation() == before)
  }

  @Test func `finds objects by values that the same import gives them`() throws {
    let people = (0..<5).map {
      #"{"tag": \#($0), "name": "T\#($0)", "number": 9, "weight": 1, "#
        + #""born": "2001-01-01T00:00:00Z"}"#
    }
    #expect(try run("Player", people.joined(separator: "\n"), "--key", "tag").exitCode == 0)
    // Each element takes over the number and name of the previous element's object.
    let moves = (0..<5).reversed().map {
      #"{"tag": \#($0), "name": "T\#($0 + 1)", "number": 9}"#
    }
    let moved = try run("Player", moves.joined(separator: "\n"), "--key", "tag")
    #expect(moved.output == "0 inserted, 5 updated, 0 unchanged, 0 refused\n")
    let later = try run(
      "Team", #"[{"name": "Reds", "players": [{"tag": 3}, {"tag": 4}]}, {"name": "Reds"}]"#)
    #expect(later.output == "0 inserted, 1 updated, 1 unchanged, 0 refused\n")
    try store.run("verify").expectFine()
  }

  /// Numbers the players from 0, in the order of their names.
  private func addTags() throws {
    try store.change { context in
      let players = try context.fetch(FetchRequest<ToolPlayer>(sort: [SortDescriptor(\.name)]))
      for (tag, player) in players.enumerated() { player.tag = tag }
    }
  }

  @Test(
    arguments: ["players", "lineUp"],
    [[[1], []], [[], [1]], [[1], [2]], [[1, 2], [2, 1]], [[1], [1]], [[1], [], [2]]])
  func `keeps the relationship members from an object's last element`(
    name: String, lists: [[Int]]
  ) throws {
    try addTags()
    let elements = lists.map { #"{"name": "Empty", "\#(name)": \#($0)}"# }
    #expect(try run("Team", elements.joined(separator: "\n")).exitCode == 0)
    try store.change { context in
      let teams = try context.fetch(FetchRequest<ToolTeam>())
      let team = try #require(teams.first { $0.name == "Empty" })
      let players = name == "lineUp" ? team.lineUp.map(\.tag) : team.players.map(\.tag)
      let tags = players.map { $0 ?? -1 }
      let wanted = lists.last ?? []
      #expect(name == "lineUp" ? tags == wanted : tags.sorted() == wanted.sorted())
    }
    try store.run("verify").expectFine()
  }

  @Test func `replaces members that earlier elements have set from the other side`() throws {
    try addTags()
    let team = #"{"name": "Empty", "players": [2], "lineUp": [2]}"#
    let run = try run(
      "Player",
      #"[{"tag": 1, "team": "Empty", "lineUps": ["Empty"]}, {"tag": 2, "team": \#(team)}]"#,
      "--key", "tag")
    #expect(run.exitCode == 0)
    #expect(try lines("Player", "team.name == 'Empty'", "tag") == ["2"])
    #expect(try lines("Player", "ANY lineUps.name == 'Empty'", "tag") == ["2"])
    try store.run("verify").expectFine()
  }

  @Test func `does not create an object whose entity is unknown`() throws {
    try run("Team", #"[{"name": "Reds", "lineUp": [77]}]"#).expectComplaint(
      "[0].lineUp", "There is no Player 77", "Player or Captain", exitCode: 1)
    let skipped = try run("Team", #"[{"name": "New", "lineUp": [77]}]"#, "--skip-invalid")
    #expect(skipped.output.hasPrefix("0 inserted, 0 updated, 0 unchanged, 1 refused\n"))
    let captain =
      #"{"tag": 77, "name": "C", "born": "2001-01-01T00:00:00Z", "weight": 1, "badge": 1}"#
    #expect(try run("Captain", captain).exitCode == 0)
    let found = try run("Team", #"[{"name": "New", "lineUp": [77]}]"#)
    #expect(found.output == "1 inserted, 0 updated, 0 unchanged, 0 refused\n")
    #expect(try lines("Team", "lineUp.@count == 1", "name") == ["New"])
  }

  @Test(arguments: [false, true])
  func `refusing an element at the end of the input leaves the store unchanged`(
    isPipe: Bool
  ) throws {
    try addTags()
    // There are so many elements that changes are written before the end of the input.
    let teams = (0..<300).map { #"{"name": "T\#($0)", "lineUp": [\#($0 % 100 == 7 ? 77 : 1)]}"# }
    let text = (teams + [#"{"name": "T7", "lineUp": [2]}"#]).joined(separator: "\n")
    let output =
      isPipe ? try pipe(text, to: "Team") : try run("Team", text, "--skip-invalid").output
    #expect(output.hasPrefix("298 inserted, 0 updated, 0 unchanged, 3 refused\n  [7].lineUp"))
    #expect(try lines("Team", "ANY lineUp.tag == 2 AND name BEGINSWITH 'T'", "name") == ["T7"])
    #expect(try lines("Team", "name IN {'T107', 'T207'}", "name") == [])
    try store.run("verify").expectFine()
  }

  @Test func `names keys that are not properties`() throws {
    let run = try run("Team", #"[{"name": "A", "titel": "x"}, {"name": "B", "size": 1}]"#)
    #expect(
      run.output == """
        2 inserted, 0 updated, 0 unchanged, 0 refused
        ignored keys that are not properties of the entity: size, titel

        """)
    let long = String(repeating: "x", count: 3000)
    for count in ["1 inserted, 0 updated", "0 inserted, 0 updated, 1 unchanged"] {
      #expect(try self.run("Team", #"[{"name": "\#(long)"}]"#).output.hasPrefix(count))
    }
  }
}
