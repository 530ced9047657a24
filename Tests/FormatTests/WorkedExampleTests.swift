import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Opens the worked example of `Docs/Reference/FileFormat.md`.
///
/// The files are built only from the hexadecimal dumps in the document, and must form a valid
/// store.
@Suite("The worked example", .serialized)
struct WorkedExampleTests {
  private static let byteCounts = ["pages": 131_072, "wal-0000000000000001": 32_768]

  /// Returns the files that the document describes, keyed by name.
  static func files() throws -> [String: [UInt8]] {
    let text = try Package.text(of: "Docs/Reference/FileFormat.md")
    var files: [String: [UInt8]] = byteCounts.mapValues { [UInt8](repeating: 0, count: $0) }
    for block in text.matches(of: /<!-- example: ([^ ]+) -->\n```text\n([^`]*)```/) {
      let name = String(block.output.1)
      let count = try #require(byteCounts[name])
      let bytes = try #require(HexText.decode("\(count) bytes\n" + block.output.2))
      for (offset, byte) in bytes.enumerated() where byte != 0 { files[name]?[offset] = byte }
    }
    return files
  }

  /// Returns a file system with the given files and an empty lock file, but without `counters`.
  ///
  /// An unpacked archive of a store has the same files.
  private static func fileSystem(_ files: [String: [UInt8]]) throws -> MemoryFileSystem {
    let system = MemoryFileSystem()
    try system.createDirectory("/store")
    for (name, bytes) in files {
      try system.open("/store/" + name, .create)?.write(bytes, at: 0)
    }
    _ = try system.open("/store/locks", .create)
    return system
  }

  private static func options(isReadOnly: Bool) -> StoreOptions {
    var options = StoreOptions()
    options.isReadOnly = isReadOnly
    options.access = .buffered
    options.maintenance = .inline
    return options
  }

  /// Opens the files and reads from them.
  ///
  /// Every error must be a `StorageError`.
  private static func use(_ files: [String: [UInt8]], isReadOnly: Bool) throws {
    let system = try fileSystem(files)
    do {
      let store = try Store(
        at: "/store", options: options(isReadOnly: isReadOnly), fileSystem: system)
      let snapshot = try store.snapshot()
      for name in try snapshot.keyspaceNames {
        _ = try snapshot.keyspace(name)?.get(1872)
      }
      _ = try store.verify()
      try store.close()
    } catch let error as StorageError {
      #expect(!error.message.isEmpty)
      #expect(error.kind != .busy, "\(error)")
    }
  }

  @Test(.mustEnd, arguments: [true, false])
  func `is a store with one row`(isReadOnly: Bool) throws {
    let store = try Store(
      at: "/store", options: Self.options(isReadOnly: isReadOnly),
      fileSystem: try Self.fileSystem(try Self.files()))
    #expect(try store.snapshot().keyspace("rings")?.get(1872) == Array("wet".utf8))
    #expect(try store.verify().findings == [])
    try store.close()
  }

  @Test(.mustEnd, .evidence("B2"), .evidence("F5"), arguments: [true, false])
  func `with any bit of its lines flipped opens or throws`(isReadOnly: Bool) throws {
    let files = try Self.files()
    for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
      for offset in bytes.indices where bytes[offset] != 0 {
        var changed = files
        changed[name]?[offset] ^= 1 << UInt8(offset % 8)
        try Self.use(changed, isReadOnly: isReadOnly)
      }
    }
  }

  @Test(
    .mustEnd, .evidence("B2"),
    arguments: TestScale.some([UInt64(1), 2, 3], every: 3))
  func `with a bit flipped anywhere opens or throws`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let files = try Self.files()
    for _ in 0..<150 {
      let name = generator.isTrue(in256: 64) ? "pages" : "wal-0000000000000001"
      let offset = generator.below(name == "pages" ? 8192 : 32_768)
      var changed = files
      changed[name]?[offset] ^= 1 << UInt8(generator.below(8))
      for isReadOnly in [true, false] { try Self.use(changed, isReadOnly: isReadOnly) }
    }
  }
}
