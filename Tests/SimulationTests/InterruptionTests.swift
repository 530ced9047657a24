import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests changes that fail halfway, in transactions that catch the error and continue.
@Suite("A transaction with a failed change")
struct InterruptionTests {
  private static let keys = 0..<300 as Range<Int64>

  private static func open(_ disk: SimulatedDisk) throws -> Store {
    try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
  }

  /// Creates a store with many pages, none of which is in memory when it is returned.
  private func sample() throws -> (disk: SimulatedDisk, content: [Int64: [UInt8]]) {
    let disk = SimulatedDisk(seed: 9)
    let store = try Self.open(disk)
    var content: [Int64: [UInt8]] = [:]
    for key in Self.keys {
      content[key] = [UInt8](repeating: UInt8(key % 251), count: key % 10 == 0 ? 5000 : 300)
    }
    try store.write { transaction in
      let keyspace = try transaction.keyspace("k")
      for (key, value) in content.sorted(by: { $0.key < $1.key }) { try keyspace.put(key, value) }
    }
    try StoreFixture.expectSound(store)
    return (disk.killed(), content)
  }

  /// Performs deletes and puts, ignoring failed operations.
  ///
  /// - Returns: The contents to expect after a commit.
  private func change(
    _ transaction: inout WriteTransaction, _ content: [Int64: [UInt8]]
  ) throws -> (content: [Int64: [UInt8]], hasFailed: Bool) {
    let keyspace = try transaction.keyspace("k")
    var content = content
    var hasFailed = false
    for key in Self.keys where key % 8 != 0 {
      do {
        if key % 5 == 0 {
          try keyspace.put(key, [UInt8](repeating: 1, count: 1500))
          content[key] = [UInt8](repeating: 1, count: 1500)
        } else {
          try keyspace.delete(key)
          content[key] = nil
        }
      } catch is StorageError { hasFailed = true }
    }
    return (content, hasFailed)
  }

  @Test(.evidence("D5")) func `accepts no further changes`() throws {
    let disk = try sample().disk
    let store = try Self.open(disk)
    var kinds: [StorageError.Kind] = []
    #expect(throws: StorageError.self) {
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        disk.faultPlan = .failingRead(disk.readCount + 1)
        for key: Int64 in 0..<3 {
          do { try keyspace.delete(key) } catch let error as StorageError {
            kinds.append(error.kind)
          }
        }
      }
    }
    #expect(kinds == [.io, .io, .io])
    try StoreFixture.expectSound(store)
  }

  @Test(.evidence("D5"), .evidence("F4"))
  func `leaves no part of the change, whatever its body does`() throws {
    let (image, before) = try sample()
    var refused = 0
    for read in stride(from: 1, through: 80, by: TestScale.pick(quick: 3, all: 1)) {
      let disk = image.killed()
      let store = try Self.open(disk)
      disk.faultPlan = .failingRead(disk.readCount + read)
      var content = before
      do {
        var after = (content: before, hasFailed: false)
        try store.write { after = try change(&$0, before) }
        content = after.content
      } catch let error as StorageError {
        #expect(error.kind == .io, "read \(read)")
        refused += 1
      }
      disk.faultPlan = FaultPlan()
      #expect(
        try CrashHistory.content(of: store.snapshot())["k"] == content, "read \(read)")
      #expect(try store.verify().findings == [], "read \(read)")
    }
    #expect(refused > 0)
  }
}
