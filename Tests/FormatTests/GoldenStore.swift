import Foundation
import HeartwoodEngine
import HeartwoodTestSupport

/// The golden stores, which were written in each format version and saved as text, and never
/// change.
///
/// The stores were written on a simulated disk, so the same code always writes the same bytes. No
/// store was closed, so each store is partly in the page file and partly in the log.
enum GoldenStore {
  /// The name of a store with one keyspace and one row, which is the worked example of the
  /// specification.
  static let tiny = "tiny"
  /// The name of a store with various keyspaces, key types and value sizes.
  ///
  /// The first rows were written before a checkpoint, and the last rows after it.
  static let small = "small"

  /// The name of a backup of the small store, which consists of a full backup file and a delta.
  static let backup = "backup"

  /// The name of a replica to which a generation was added.
  static let replica = "replica"

  private static let directory = "Tests/FormatTests/Golden/version-1/"

  /// Returns the bytes of the files of a golden store, keyed by file name.
  static func files(of store: String) throws -> [String: [UInt8]] {
    let path = Package.path + "/" + directory + store
    var files: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path)
    where name.hasSuffix(".hex") {
      let text = try Package.text(of: directory + store + "/" + name)
      files[String(name.dropLast(4))] = HexText.decode(text)
    }
    return files
  }

  /// Copies a golden store to a new directory.
  static func copy(_ store: String, to path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for (name, bytes) in try files(of: store) {
      try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
    }
    // The lock file is not part of a golden store, but a read-only store requires it.
    try Data().write(to: URL(fileURLWithPath: path + "/locks"))
  }

  /// Saves the files of a store on a simulated disk as text, unless saved files already exist.
  static func keep(_ store: String, of disk: SimulatedDisk, at path: String) throws {
    let target = Package.path + "/" + directory + store
    guard !FileManager.default.fileExists(atPath: target) else { return }
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
    for name in try disk.list(path) ?? []
    where ["pages", "map", "replica"].contains(name) || name.hasPrefix("wal-")
      || BackupName(name) != nil
    {
      guard let file = try disk.open(path + "/" + name, .read) else { continue }
      try HexText.encode(try file.allBytes())
        .write(toFile: target + "/" + name + ".hex", atomically: true, encoding: .utf8)
    }
  }

  // MARK: Contents

  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.segmentByteCount = 32_768
    options.access = .buffered
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    return options
  }

  /// Writes the tiny store and releases it without closing it.
  static func writeTiny(on disk: SimulatedDisk, at path: String) throws {
    let store = try Store(at: path, options: options(), fileSystem: disk)
    try store.write { transaction in
      try transaction.keyspace("rings").put(1872, Array("wet".utf8))
    }
  }

  /// The rows of the small store for each keyspace, sorted by key.
  static let rows: [String: [(key: Key, value: [UInt8])]] = [
    "numbers": (0..<240).map { (Key($0 * 7 - 700), Array("row \($0)".utf8)) },
    "kinds": [
      (Key(Int?.none), []), (Key(false), [0]), (Key(true), [1]), (Key(-1), [2]),
      (Key(UInt64.max), [3]), (Key(-0.5), [4]), (Key("a", 1), [5]), (Key("a\0"), [6]),
      (Key([0, 255] as [UInt8]), [7]),
    ],
    "large": [0, 1, 900, 4_064, 4_065, 9_000].enumerated().map { position, byteCount in
      (Key("value \(position)"), (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    },
  ]

  /// Writes the small store and releases it without closing it.
  static func writeSmall(on disk: SimulatedDisk, at path: String) throws {
    let store = try Store(at: path, options: options(), fileSystem: disk)
    try put("numbers", in: store)
    try store.write { transaction in
      let gone = try transaction.keyspace("gone")
      for key in 0..<80 { try gone.put(key, Array(repeating: 9, count: 50)) }
    }
    try store.checkpoint()
    try put("kinds", in: store)
    try put("large", in: store)
    try store.write { try $0.removeKeyspace("gone") }
  }

  /// Backs up a store before and after its last rows are written.
  static func writeBackup(on disk: SimulatedDisk, to path: String) throws {
    let store = try Store(at: "/store", options: options(), fileSystem: disk)
    try put("numbers", in: store)
    try put("kinds", in: store)
    try store.backup(to: path)
    try store.keep(store.snapshot().generation, as: "before large values")
    try put("large", in: store)
    try store.backup(to: path)
  }

  /// Makes a replica follow a backup, and releases the replica without closing it.
  static func writeReplica(on disk: SimulatedDisk, at path: String) throws {
    let store = try Store(at: "/store", options: options(), fileSystem: disk)
    try put("numbers", in: store)
    try store.backup(to: "/backup")
    let replica = try Replica(at: path, following: Backup(at: "/backup", on: disk), options())
    try put("kinds", in: store)
    try put("large", in: store)
    try store.backup(to: "/backup")
    try replica.advance()
  }

  private static func put(_ name: String, in store: Store) throws {
    try store.write { transaction in
      let keyspace = try transaction.keyspace(name)
      for (key, value) in rows[name] ?? [] { try keyspace.put(key, value) }
    }
  }
}
