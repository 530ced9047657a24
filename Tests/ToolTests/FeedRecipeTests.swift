import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Feeds the changes of a store through other systems to another store, while programs are killed.
@Suite("Recipes for feeds", .waiting)
struct FeedRecipeTests {
  private let stores: FeedStores
  private let directory: ScratchDirectory
  private var source: String { stores.source.fixture.path }
  private var target: String { stores.target.fixture.path }
  /// A backup of the source in its first state.
  private var backup: String { directory.path(of: "backup") }

  init() throws {
    stores = try FeedStores()
    directory = try ScratchDirectory()
    try stores.source.run("backup", backup).expectFine()
  }

  /// Starts scripts and kills parts of the chain between changes, and expects the copy to equal the
  /// source in the end.
  private func expectEqualCopyAfterKills(
    _ scripts: [(name: String, arguments: [String])], _ server: any RecipeServer, seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    func start() throws -> [Recipe] {
      try scripts.map { try Recipe($0.name, $0.arguments, server.environment) }
    }
    for round in 0..<TestScale.pick(quick: 4, all: 15, long: 300) {
      let running = try start()
      for _ in 0..<random.below(4) { try stores.change(&random) }
      usleep(UInt32(random.below(1_000_000)))
      switch round % 4 {
      case 1: try running[random.below(2)].kill("heartwoodctl")
      case 2: try server.crash(&random)
      case 3: try running[random.below(2)].kill("python3|psql|sed")
      default: break
      }
      try stores.change(&random)
      usleep(UInt32(random.below(400_000)))
      running.forEach { $0.kill() }
    }
    try expectEqualCopy(of: scripts, server, "seed \(seed)")
  }

  /// Runs a script several times with a feed that ends early and fails, while objects are deleted.
  private func cutFeed(
    of script: String, _ arguments: [String], _ environment: [String: String] = [:]
  ) throws {
    let tool = try ToolRun.executable().path(percentEncoded: false)
    let cut = directory.path(of: "heartwoodctl")
    for count in [1, 5, 8] {
      try Data("#!/bin/sh\n'\(tool)' \"$@\" | head -n \(count)\nexit 1\n".utf8)
        .write(to: URL(filePath: cut))
      try #require(chmod(cut, 0o755) == 0)
      let run = try Recipe.run(script, arguments, environment, tools: directory.path)
      #expect(run.exitCode != 0, "\(run.output)")
      try stores.source.change { context in
        if count > 1, let last = try context.fetch(FetchRequest<ToolPlayer>()).last {
          context.delete(last)
        }
        ToolTeam(context: context).name = "cut \(count)"
      }
    }
  }

  /// Runs scripts, and restarts each script that has ended, until the copy equals the source.
  private func expectEqualCopy(
    of scripts: [(name: String, arguments: [String])], _ server: any RecipeServer, _ label: String
  ) throws {
    var running: [Int: Recipe] = [:]
    var printed = ""
    let end = ContinuousClock.now + .seconds(300)
    repeat {
      for (index, script) in scripts.enumerated() where running[index]?.isRunning != true {
        printed += try running[index]?.output() ?? ""
        running[index] = try Recipe(script.name, script.arguments, server.environment)
      }
      usleep(100_000)
    } while try stores.objects(stores.target) != stores.objects(stores.source)
      && ContinuousClock.now < end
    for recipe in running.values { printed += try recipe.output() }
    try stores.expectEqual("\(label): \(printed)")
    // A reader exits when it can no longer apply events.
    let reader = try #require(running[1])
    try reader.kill("heartwoodctl")
    reader.wait()
    #expect(!reader.isRunning)
    running.values.forEach { $0.kill() }
    for store in [stores.source, stores.target] { try store.run("verify").expectFine() }
  }

  private func waitForEqualCopy() throws {
    let end = ContinuousClock.now + .seconds(300)
    while try stores.objects(stores.target) != stores.objects(stores.source),
      ContinuousClock.now < end
    { usleep(50_000) }
  }

  /// Restores the source to an earlier state, and expects a script to refuse its new changes.
  private func expectRefusal(
    of script: String, _ arguments: [String], _ environment: [String: String] = [:]
  ) throws {
    func newest() throws -> Int {
      let document = try stores.source.run("history", "--limit", "1", "--jsonl").json()
      return try #require(document["number"] as? Int)
    }
    let last = try newest()
    try FileManager.default.removeItem(atPath: source)
    try ToolRun("restore", backup, source).expectFine()
    for _ in 0..<2 {
      let run = try Recipe.run(script, arguments, environment)
      #expect(run.exitCode != 0)
      #expect(run.output.contains("restored to an earlier state"), "\(run.output)")
      while try newest() < last {
        try stores.source.change { ToolTeam(context: $0).name = UUID().uuidString }
      }
    }
  }

  private func counts() throws -> [String] {
    var result: [String] = []
    try stores.source.change { context in
      let (captains, oddities, players, teams) = (
        try context.count(for: FetchRequest<ToolCaptain>()),
        try context.count(for: FetchRequest<ToolOddity>()),
        try context.count(for: FetchRequest<ToolPlayer>()),
        try context.count(for: FetchRequest<ToolTeam>())
      )
      result = [
        "Captain \(captains)", "Oddity \(oddities)", "Player \(players - captains)",
        "Team \(teams)",
      ].filter { !$0.hasSuffix(" 0") }
    }
    return result
  }

  @Test(
    .mustEnd,
    .enabled(if: RedisServer.isInstalled, "Redis and its Python package are not installed."),
    arguments: TestScale.seeds(quick: 1, all: 3))
  func `a Redis stream carries each change`(seed: UInt64) throws {
    let server = try RedisServer()
    let scripts = [("feed-to-redis", [source, "shop"]), ("redis-to-store", ["shop", target])]
    try cutFeed(of: "feed-to-redis", [source, "shop"], server.environment)
    try expectEqualCopyAfterKills(scripts, server, seed: seed)
    let running = try scripts.map { try Recipe($0.0, $0.1, server.environment) }
    try stores.source.change { ToolTeam(context: $0).name = "Delivered" }
    try waitForEqualCopy()
    try server.deleteAll()
    try stores.source.change { ToolTeam(context: $0).name = "Not delivered" }
    for recipe in running {
      recipe.wait()
      #expect(try !recipe.isRunning && recipe.output().contains("has lost entries"))
    }
    try expectEqualCopy(of: scripts, server, "after the loss")
    try expectRefusal(of: "feed-to-redis", [source, "shop"], server.environment)
  }

  @Test(
    .mustEnd,
    .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed, or has no user."),
    arguments: TestScale.seeds(quick: 1, all: 3))
  func `PostgreSQL carries each change, and has the newest objects`(seed: UInt64) throws {
    let server = try PostgresServer()
    try stores.source.change { ToolOddity(context: $0).text = "\u{0}\\u0000\\\u{0}'" }
    try cutFeed(of: "feed-to-postgres", [source, "Shop"], server.environment)
    try expectEqualCopyAfterKills(
      [("feed-to-postgres", [source, "Shop"]), ("postgres-to-store", ["Shop", target])], server,
      seed: seed)
    let teams = try server.rows(
      """
      SELECT (values->>'name') || ': ' || jsonb_path_query_array(values, '$.lineUp[*].key.tag')
      FROM "Shop".objects WHERE entity = 'Team' ORDER BY values->>'name' COLLATE "C"
      """)
    let lineUps = try stores.lineUps(stores.source)
    #expect(teams == lineUps, "seed \(seed)")
    let numbers = try server.rows(
      """
      SELECT entity || ' ' || count(*) FROM "Shop".objects GROUP BY entity ORDER BY entity
      """)
    let wanted = try counts()
    #expect(numbers == wanted, "seed \(seed)")
    let texts = try server.rows(
      """
      SELECT values->>'text' FROM "Shop".objects WHERE values->>'text' LIKE '%\\u0000%'
      """)
    #expect(texts == ["\u{FFFD}\\u0000\\\u{FFFD}'"])
    try expectRefusal(of: "feed-to-postgres", [source, "Shop"], server.environment)
  }

  @Test(
    .mustEnd,
    .enabled(if: Recipe.hasModule("duckdb"), "The Python package duckdb is not installed."),
    arguments: TestScale.seeds(quick: 1, all: 3))
  func `a DuckDB database carries each change`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let database = directory.path(of: "shop.duckdb")
    try cutFeed(of: "feed-to-duckdb", [source, database])
    for _ in 0..<TestScale.pick(quick: 3, all: 10) {
      try stores.change(&random)
      for (script, arguments) in [
        ("feed-to-duckdb", [source, database]), ("duckdb-to-store", [database, target]),
      ] {
        try Recipe.run(script, arguments, for: random.below(1200))
        if script == "feed-to-duckdb" { try stores.change(&random) }
        let run = try Recipe.run(script, arguments)
        #expect(run.exitCode == 0, "\(run.output)")
      }
      try stores.expectEqual("seed \(seed)")
      let query = "SELECT entity || ' ' || count(*) FROM objects GROUP BY entity ORDER BY entity"
      let program = """
        import duckdb, sys
        for row in duckdb.connect(sys.argv[1]).sql(sys.argv[2]).fetchall(): print(row[0])
        """
      let run = try BuiltModules.run("python3", ["-c", program, database, query])
      let wanted = try counts()
      #expect(run.output.split(separator: "\n").map(String.init) == wanted, "\(run.output)")
    }
    try expectRefusal(of: "feed-to-duckdb", [source, database])
    for store in [stores.source, stores.target] { try store.run("verify").expectFine() }
  }
}
