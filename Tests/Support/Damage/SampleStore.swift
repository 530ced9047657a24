package import HeartwoodEngine

/// A store for tests to damage, with the same disk, files and valid contents in every run.
package struct SampleStore: Sendable {
  package let disk: SimulatedDisk
  package let image: StoreImage
  package let options: StoreOptions
  /// The content digests of all generations of the store.
  package let contents: Set<UInt64>

  package static let path = "/store"

  /// The sample stores, which cover several page sizes and all kinds of pages and files.
  ///
  /// The contents are in the page file, in the log, or in both.
  package static let all: [SampleStore] = [
    mixed(4096), mixed(16_384), deep(), closed(), young(), tiny(),
  ]
  /// The indices in ``all`` of the stores that can be read completely in about a millisecond.
  package static let smallIndices: [UInt8] = [3, 4, 5]

  /// Returns a key that is longer than its abbreviated form (head), so that nodes hold few entries
  /// and trees become deep.
  package static func longKey(_ number: Int) -> Key {
    Key(String(repeating: "k", count: 20 + number % 5 * 150) + String(1000 + number))
  }

  private static func mixed(_ pageByteCount: Int) -> SampleStore {
    make(pageByteCount, seed: 3) { writer in
      try writer.write(60, valueByteCount: 700)
      try writer.write(4, valueByteCount: 15_000)
      try writer.store.checkpoint()
      try writer.write(30, valueByteCount: 300)
      try writer.change { try $0.removeKeyspace("b") }
      try writer.keep("x")
      try writer.write(3, valueByteCount: 9000)
      try writer.write(20, valueByteCount: 3000)
      try writer.store.checkpoint()
      try writer.keep("y")
      try writer.write(20, valueByteCount: 300)
      try writer.store.checkpoint()
      try writer.write(3, valueByteCount: 9000)
      // Fill the segments with small commits, so that the segments get footers.
      for _ in 0..<12 { try writer.write(1, valueByteCount: 100) }
      try writer.write(2, valueByteCount: 200, .normal)
    }
  }

  /// Creates a store with several levels of branches, a catalog of several pages, and values with
  /// an overflow index.
  private static func deep() -> SampleStore {
    make(4096, seed: 4) { writer in
      try writer.change { transaction in
        let text = try transaction.keyspace("text")
        for number in 0..<150 { try text.put(longKey(number), [UInt8(number)]) }
        for number in 0..<60 {
          try transaction.keyspace("\(number)" + String(repeating: "n", count: 90)).put(1, [2])
        }
      }
      try writer.store.checkpoint()
      try writer.change { transaction in
        let text = try transaction.keyspace("text")
        for number in 100..<110 { try text.delete(longKey(number)) }
        try transaction.keyspace("c").put(3, [UInt8](repeating: 4, count: 30_000))
      }
    }
  }

  /// Creates a store that is entirely in the page file, which also contains free pages.
  private static func closed() -> SampleStore {
    make(4096, seed: 5) { writer in
      try writer.write(50, valueByteCount: 6000)
      try writer.write(80, valueByteCount: 200)
      try writer.change { try $0.removeKeyspace("a") }
      try writer.store.close()
    }
  }

  /// Creates a store with large pages that was never checkpointed, so that everything is in the
  /// log.
  private static func young() -> SampleStore {
    make(65_536, seed: 6) { writer in
      for _ in 0..<4 { try writer.write(3, valueByteCount: 20_000) }
    }
  }

  /// Creates a store with few pages, so that using it takes little time.
  private static func tiny() -> SampleStore {
    make(4096, seed: 7) { writer in
      try writer.write(3, valueByteCount: 100)
      try writer.store.checkpoint()
      try writer.keep("x")
      try writer.write(2, valueByteCount: 20)
    }
  }

  private static func make(
    _ pageByteCount: Int, seed: UInt64, _ body: (inout SampleWriter) throws -> Void
  ) -> SampleStore {
    var options = StoreOptions()
    options.pageByteCount = pageByteCount
    options.segmentByteCount = pageByteCount * 8
    options.access = .buffered
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    options.cacheByteCount = max(1 << 18, pageByteCount * 16)
    do {
      let disk = SimulatedDisk(seed: seed)
      var writer = try SampleWriter(disk, options, seed: seed)
      try body(&writer)
      let dead = disk.killed()
      let image = try StoreImage(of: dead, at: path, pageByteCount: pageByteCount)
      return SampleStore(
        disk: dead, image: image, options: options, contents: writer.contents)
    } catch {
      preconditionFailure("the sample store could not be created: \(error)")
    }
  }
}

/// Writes a sample store and records the contents of each generation.
struct SampleWriter {
  let store: Store
  private(set) var contents: Set<UInt64> = []
  private var generator: SeededGenerator

  init(_ disk: SimulatedDisk, _ options: StoreOptions, seed: UInt64) throws {
    store = try Store(at: SampleStore.path, options: options, fileSystem: disk)
    generator = SeededGenerator(seed: seed)
    try record()
  }

  private mutating func record() throws {
    contents.insert(try StoreUse.digest(of: try store.snapshot()))
  }

  mutating func change(
    _ durability: StoreOptions.Durability = .full,
    _ body: (inout WriteTransaction) throws -> Void
  ) throws {
    try store.write(durability: durability, body)
    try record()
  }

  /// Commits random puts and deletes in three keyspaces.
  mutating func write(
    _ operationCount: Int, valueByteCount: Int, _ durability: StoreOptions.Durability = .full
  ) throws {
    var generator = generator.forked()
    try change(durability) { transaction in
      for _ in 0..<operationCount {
        let keyspace = try transaction.keyspace(["a", "b", "c"][generator.below(3)])
        let key = generator.below(40)
        if generator.below(4) == 0 {
          try keyspace.delete(key)
        } else {
          try keyspace.put(key, generator.bytes(generator.below(valueByteCount + 1)))
        }
      }
    }
  }

  func keep(_ name: String) throws { try store.keep(try store.snapshot().generation, as: name) }
}
