import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Measures the memory that a transaction and the page cache use in their own process.
@Suite("The memory of a large transaction")
struct TransactionMemoryTests {
  private static let limit = TestScale.pick(quick: 8, all: 16) << 20

  /// Commits three times as many bytes as the memory limits allow, in random order.
  ///
  /// - Returns: The number of bytes by which the process has grown.
  private static func growth(_ access: StoreOptions.Access) throws -> Int {
    let scratch = try ScratchDirectory()
    var options = StoreOptions()
    options.access = access
    options.transactionMemoryByteCount = limit
    options.cacheByteCount = limit
    let store = try Store(at: scratch.path + "/store", options: options)
    let value = [UInt8](repeating: 7, count: 2000)
    var generator = SeededGenerator(seed: 1)
    let before = try anonymousByteCount()
    try store.write(durability: .normal) { transaction in
      let rows = try transaction.keyspace("rows")
      for _ in 0..<3 * limit / value.count {
        try rows.put(Int.random(in: 0..<1 << 40, using: &generator), value)
      }
    }
    // A checkpoint reads all pages. If files are not mapped, it reads through the cache.
    _ = try store.checkpoint()
    let growth = try anonymousByteCount() - before
    guard try store.verify().findings.isEmpty else { fatalError("The store is not sound.") }
    return growth
  }

  /// Stops the process if it has grown by more than `most` bytes.
  ///
  /// The limit includes an allowance for the allocator and the index of spilled pages.
  private static func require(_ growth: Int, atMost most: Int) {
    guard growth < most + limit / 2 else { fatalError("\(growth) bytes more than before") }
  }

  @Test(.spawning) func `is bounded by its limit if files are mapped`() async {
    await #expect(processExitsWith: .success) {
      Self.require(try Self.growth(.mapped), atMost: Self.limit)
    }
  }

  @Test(.spawning) func `is bounded by its limit and by the cache if files are not mapped`() async {
    await #expect(processExitsWith: .success) {
      Self.require(try Self.growth(.buffered), atMost: 2 * Self.limit)
    }
  }
}
