import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests stores whose internal keyspaces contain numbers that no program writes.
@Suite("Damaged numbers in a store")
struct DamagedNumbersTests {
  /// Creates a store, replaces the first eight bytes of a row, and saves another object.
  ///
  /// - Parameter key: The key of the row, or `nil` for the first key of the keyspace.
  private func save(_ keyspace: String, _ key: Key?, _ number: Int64) throws {
    let directory = try ScratchDirectory()
    let url = URL(filePath: directory.path(of: "store"))
    do {
      let container = try PersistentContainer(url: url, schema: people)
      let context = container.newContext()
      Person(context: context).name = "Ada"
      try context.save()
      try container.store.close()
    }
    do {
      let store = try Store(at: url.path(percentEncoded: false))
      defer { try? store.close() }
      try store.write { transaction in
        let rows = try transaction.keyspace(keyspace)
        var first = key
        try rows.forEach { found, _ in
          if first == nil { first = try Key(encoded: found.withUnsafeBytes { Array($0) }) }
          return false
        }
        let key = try #require(first)
        var bytes = try #require(try rows.get(key))
        for index in 0..<8 {
          bytes[index] = UInt8(truncatingIfNeeded: number >> (8 * Int64(index)))
        }
        try rows.put(key, bytes)
      }
    }
    let container = try PersistentContainer(url: url, schema: people)
    defer { try? container.store.close() }
    let context = container.newContext()
    Person(context: context).name = "Bob"
    try context.save()
  }

  @Test(.evidence("B3"), arguments: [0, -1, .min] as [Int64])
  func `a save with an impossible row ID throws`(number: Int64) {
    let error = #expect(throws: StorageError.self) {
      try save("heartwood.rows", nil, number)
    }
    #expect(error?.kind == .corrupt)
  }

  @Test(.evidence("H-05"), arguments: [0, -1, .max] as [Int64])
  func `a save with an impossible number of transactions throws`(number: Int64) {
    let error = #expect(throws: StorageError.self) {
      try save("heartwood.history", Key(0 as Int64, 0 as Int64), number)
    }
    #expect(error?.kind == .corrupt)
  }

  @Test(.evidence("M-06"), arguments: [-1, .max] as [Int64])
  func `a store with an impossible number of model changes is rejected`(number: Int64) {
    let error = #expect(throws: StorageError.self) {
      try save("heartwood.model", "changes", number)
    }
    #expect(error?.kind == .corrupt)
  }
  @Test func `a save throws if no row IDs are left`() {
    let error = #expect(throws: StorageError.self) { try save("heartwood.rows", nil, 1 << 48) }
    #expect(error?.kind == .tooLarge)
  }

}
