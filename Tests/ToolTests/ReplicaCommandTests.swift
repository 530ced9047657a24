import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The commands replica and promote")
struct ReplicaCommandTests {
  private let store: ObjectStore
  private let directory: ScratchDirectory

  init() throws {
    store = try ObjectStore(oddities: false)
    directory = try ScratchDirectory()
  }

  private var backup: String { directory.path(of: "backup") }
  private var replica: String { directory.path(of: "replica") }

  private func addTeam(_ name: String) throws {
    try store.change { ToolTeam(context: $0).name = name }
    try store.run("backup", backup).expectFine()
  }

  private func openReplica() throws -> PersistentContainer {
    var options = ContainerOptions()
    options.store.isReadOnly = true
    return try PersistentContainer(
      url: URL(filePath: replica), schema: ObjectStore.schema, options: options)
  }

  /// Runs `replica --follow`, whose events `body` receives as JSON.
  private func following(_ body: (LineReader) throws -> Void) throws {
    let process = Process()
    process.executableURL = try ToolRun.executable()
    process.arguments = ["replica", backup, replica, "--follow", "--json"]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.start()
    defer {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    try body(LineReader(pipe.fileHandleForReading))
  }

  @Test(.mustEnd, .evidence("A8")) @MainActor
  func `show generations to contexts, pins and live lists as they arrive`() throws {
    try addTeam("A")
    let created = try ToolRun("replica", backup, replica)
    created.expectFine()
    #expect(created.output.contains("is the newest generation in the backup"))
    let container = try openReplica()
    let request = FetchRequest<ToolTeam>(sort: [SortDescriptor(\.name)])
    let controller = FetchedResultsController(
      fetchRequest: request, context: container.viewContext)
    try controller.performFetch()
    let pinned = container.newContext()
    try pinned.setQueryGenerationFrom(.current)
    let before = ["A", "Blues", "Empty", "Reds"]
    #expect(try pinned.fetch(request).map(\.name) == before)
    #expect(controller.map(\.name) == before)
    try following { events in
      for name in ["B", "C"] {
        try addTeam(name)
        let line = try events.next()
        let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(event?["generation"] as? UInt64 == (try store.generation().frame))
      }
      #expect(controller.map(\.name) == ["A", "B", "Blues", "C", "Empty", "Reds"])
      #expect(try pinned.fetch(request).map(\.name) == before)
      #expect(try container.newContext().fetch(request).count == 6)
      #expect(try !container.fetchHistory(after: nil).isEmpty)
      ToolTeam(context: pinned).name = "D"
      #expect(throws: (any Error).self) { try pinned.save() }
      try ToolRun("set", replica, "Team/1", "name=X", "--yes").expectComplaint(
        "replica", exitCode: 1)
      try ToolRun("promote", replica).expectComplaint(
        "adding generations to this replica", exitCode: 1)
    }
    try container.store.close()
  }

  @Test(.mustEnd, .evidence("A8"), .evidence("A9"))
  func `report missing files, and promote a replica`() throws {
    try addTeam("A")
    try ToolRun("replica", backup, replica).expectFine()
    try addTeam("B")
    let delta = try #require(
      FileManager.default.contentsOfDirectory(atPath: backup).first { $0.hasPrefix("delta") })
    let away = directory.path(of: delta)
    try FileManager.default.moveItem(atPath: backup + "/" + delta, toPath: away)
    try addTeam("C")
    try ToolRun("replica", backup, replica).expectFine()
    try FileManager.default.removeItem(atPath: backup)
    try ToolRun("replica", backup, replica).expectComplaint("no backup directory", exitCode: 1)
    let info = try ToolRun("info", replica)
    #expect(info.lines.contains { $0.hasPrefix("replica ") && $0.contains("error since") })
    let json = try ToolRun("info", replica, "--json").json()["replica"] as? [String: Any]
    #expect((json?["lastError"] as? String)?.contains("no backup directory") == true)
    try ToolRun("promote", replica).expectFine()
    try ToolRun("set", replica, "Team/1", "name=X", "--yes").expectFine()
    try ToolRun("replica", backup, replica).expectComplaint("can no longer follow", exitCode: 1)
    try ToolRun("verify", replica).expectFine()
    #expect(try ToolRun("query", replica, "Team", "--count").output == "6\n")
  }

  @Test(.evidence("A10")) func `restore a fork with its own identity`() throws {
    try addTeam("A")
    let path = directory.path(of: "fork")
    try ToolRun("restore", backup, path, "--fork").expectFine()
    let identities = try [store.fixture.path, path].map {
      try ToolRun("info", $0, "--json").json()["identity"] as? String
    }
    #expect(identities[0] != identities[1])
    #expect(try ToolRun("query", path, "Team", "--count").output == "4\n")
    try ToolRun("verify", path).expectFine()
    try ToolRun("set", path, "Team/1", "name=X", "--yes").expectFine()
    try ToolRun("backup", path, backup).expectComplaint("another store", exitCode: 1)
  }
}
