import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Opens the golden stores of every version of the format.
///
/// A golden store is written only once, by `HEARTWOOD_WRITE_GOLDEN=1 swift test --filter
/// GoldenStoreTests`. If a change to the code makes the store unreadable, that change has changed
/// the format.
@Suite("A golden store", .serialized)
struct GoldenStoreTests {
  private static let isWriting =
    ProcessInfo.processInfo.environment["HEARTWOOD_WRITE_GOLDEN"] != nil

  /// A combination of opening options with which every golden store must be readable.
  struct Opening: CustomTestStringConvertible {
    let access: StoreOptions.Access
    let isReadOnly: Bool

    var testDescription: String { "\(access), \(isReadOnly ? "for reading only" : "for writing")" }
    var options: StoreOptions {
      var options = StoreOptions()
      options.access = access
      options.isReadOnly = isReadOnly
      return options
    }
  }

  private static let openings = [
    Opening(access: .buffered, isReadOnly: true), Opening(access: .mapped, isReadOnly: true),
    Opening(access: .buffered, isReadOnly: false), Opening(access: .mapped, isReadOnly: false),
  ]

  @Test(.enabled(if: isWriting)) func `is written once for each format version`() throws {
    let disk = SimulatedDisk(seed: 1)
    try GoldenStore.writeTiny(on: disk, at: "/tiny")
    try GoldenStore.keep(GoldenStore.tiny, of: disk, at: "/tiny")
    try GoldenStore.writeSmall(on: disk, at: "/small")
    try GoldenStore.keep(GoldenStore.small, of: disk, at: "/small")
    let other = SimulatedDisk(seed: 2)
    try GoldenStore.writeBackup(on: other, to: "/backup")
    try GoldenStore.keep(GoldenStore.backup, of: other, at: "/backup")
    let third = SimulatedDisk(seed: 3)
    try GoldenStore.writeReplica(on: third, at: "/replica")
    try GoldenStore.keep(GoldenStore.replica, of: third, at: "/replica")
  }

  @Test(arguments: openings) func `is sound`(opening: Opening) throws {
    for name in [GoldenStore.tiny, GoldenStore.small] {
      let directory = try ScratchDirectory()
      let path = directory.path(of: name)
      try GoldenStore.copy(name, to: path)
      let store = try Store(at: path, options: opening.options)
      #expect(try store.verify().findings == [], "\(name)")
      try store.close()
    }
  }

  @Test(arguments: openings) func `has the rows that were written to it`(opening: Opening) throws {
    let directory = try ScratchDirectory()
    let path = directory.path(of: "store")
    try GoldenStore.copy(GoldenStore.small, to: path)
    let store = try Store(at: path, options: opening.options)
    let snapshot = try store.snapshot()
    #expect(try snapshot.keyspaceNames == GoldenStore.rows.keys.sorted())
    for (name, rows) in GoldenStore.rows {
      let keyspace = try #require(try snapshot.keyspace(name))
      #expect(try keyspace.count() == rows.count)
      let cursor = keyspace.cursor()
      for (key, value) in rows {
        #expect(try cursor.moveToNext())
        #expect(cursor.key == key.bytes, "\(name) \(key)")
        #expect(try cursor.value == value, "\(name) \(key)")
        #expect(try keyspace.get(key) == value, "\(name) \(key)")
      }
      #expect(try !cursor.moveToNext())
    }
  }

  @Test(.evidence("A2")) func `is restored from a golden backup`() throws {
    let directory = try ScratchDirectory()
    try GoldenStore.copy(GoldenStore.backup, to: directory.path(of: "backup"))
    let backup = Backup(at: directory.path(of: "backup"))
    let points = try backup.restorePoints()
    #expect(points.map(\.isFull) == [true, false])
    #expect(points.map(\.names) == [["before large values"], []])
    for (point, names) in zip(points, [["kinds", "numbers"], ["kinds", "large", "numbers"]]) {
      let path = directory.path(of: "restored \(point.generation.frame)")
      try backup.restore(point.generation, to: path)
      let store = try Store(at: path)
      let snapshot = try store.snapshot()
      #expect(try snapshot.keyspaceNames == names)
      for name in names {
        for (key, value) in GoldenStore.rows[name] ?? [] {
          #expect(try snapshot.keyspace(name)?.get(key) == value, "\(name) \(key)")
        }
      }
      #expect(try store.verify().findings == [])
      try store.close()
    }
  }

  @Test(.evidence("A8"), .evidence("A9")) func `is a replica until it is promoted`() throws {
    let directory = try ScratchDirectory()
    let path = directory.path(of: "replica")
    try GoldenStore.copy(GoldenStore.replica, to: path)
    #expect(throws: StorageError.self) { try Store(at: path) }
    var options = StoreOptions()
    options.isReadOnly = true
    let reader = try Store(at: path, options: options)
    #expect(try reader.replicaStatus != nil)
    try Replica.promote(path)
    let store = try Store(at: path)
    for snapshot in [try reader.snapshot(), try store.snapshot()] {
      for (name, rows) in GoldenStore.rows {
        for (key, value) in rows {
          #expect(try snapshot.keyspace(name)?.get(key) == value, "\(name) \(key)")
        }
      }
    }
    #expect(try store.verify().findings == [])
    try reader.close()
    try store.close()
  }

  @Test func `can be written and checkpointed`() throws {
    let directory = try ScratchDirectory()
    let path = directory.path(of: "store")
    try GoldenStore.copy(GoldenStore.small, to: path)
    let store = try Store(at: path)
    try store.write { try $0.keyspace("numbers").put(1, [1]) }
    try store.checkpoint()
    #expect(try store.verify().findings == [])
    try store.close()
    let again = try Store(at: path)
    #expect(try again.snapshot().keyspace("numbers")?.get(1) == [1])
    try again.close()
  }

  @Test func `matches the excerpts in the specification`() throws {
    let text = try Package.text(of: "Docs/Reference/FileFormat.md")
    let files = try GoldenStore.files(of: GoldenStore.tiny)
    var quoted = 0
    for block in text.matches(of: /<!-- example: ([^ ]+) -->\n```text\n([^`]*)```/) {
      let bytes = try #require(files[String(block.output.1)])
      let known = Set(HexText.encode(bytes).split(separator: "\n").map { $0.filter { $0 != " " } })
      for line in block.output.2.split(separator: "\n") where !line.isEmpty {
        #expect(known.contains(line.filter { $0 != " " }), "\(block.output.1): \(line)")
        quoted += 1
      }
    }
    #expect(quoted > 20)
  }
}
