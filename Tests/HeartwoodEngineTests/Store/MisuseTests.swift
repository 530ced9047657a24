import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("Misuse of a store")
struct MisuseTests {
  /// Runs `body` in a transaction with a keyspace that has entries.
  private static func write(
    _ body: (inout WriteTransaction, KeyspaceWriter) throws -> Void
  ) throws {
    try Store.inMemory().write { transaction in
      let keyspace = try transaction.keyspace("a")
      for number in 0..<5 { try keyspace.put(number, [1]) }
      try body(&transaction, keyspace)
    }
  }

  @Test(.spawning, .evidence("U1"))
  func `traps when a write is started inside a write`() async {
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      try store.write { _ in
        try store.write { _ in }
      }
    }
  }

  @Test(.spawning, .evidence("U1"))
  func `traps when a checkpoint is started inside a write`() async {
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      try store.write { _ in try store.checkpoint() }
    }
  }

  @Test(.spawning, .evidence("U1"))
  func `traps when a verification is started inside a write`() async {
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      try store.write { _ in _ = try store.verify() }
    }
  }

  @Test(.spawning, .evidence("U2"))
  func `traps when a keyspace is used after its transaction`() async {
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      var escaped: KeyspaceWriter?
      try store.write { escaped = try $0.keyspace("a") }
      try escaped?.put("key", [1])
    }
  }

  @Test(.spawning, .evidence("U2"))
  func `traps when a transaction is used after its closure`() async {
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      var escaped: WriteTransaction?
      try store.write { escaped = $0 }
      _ = try escaped?.keyspace("a")
    }
  }

  @Test(.spawning, .evidence("U2"))
  func `traps when a transaction's cursor is used after its closure`() async {
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      var escaped: Cursor?
      try store.write { transaction in
        let keyspace = try transaction.keyspace("a")
        try keyspace.put("key", [1])
        escaped = keyspace.cursor()
      }
      try escaped?.moveToNext()
    }
    await #expect(processExitsWith: .failure) {
      var escaped: Cursor?
      try MisuseTests.write { _, keyspace in escaped = keyspace.cursor() }
      _ = escaped?.isValid
    }
  }

  @Test(.spawning, .evidence("U2"))
  func `traps when a keyspace is used after it was removed`() async {
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      try store.write { transaction in
        let keyspace = try transaction.keyspace("a")
        try transaction.removeKeyspace("a")
        try keyspace.put("key", [1])
      }
    }
  }

  @Test(.spawning, .evidence("U2"))
  func `traps when a cursor of a removed or loading keyspace is used`() async {
    await #expect(processExitsWith: .failure) {
      try MisuseTests.write { transaction, keyspace in
        let cursor = keyspace.cursor()
        try cursor.moveToFirst()
        try transaction.removeKeyspace("a")
        try cursor.moveToNext()
      }
    }
    await #expect(processExitsWith: .failure) {
      try MisuseTests.write { _, keyspace in
        let cursor = keyspace.cursor()
        try cursor.moveToFirst()
        try keyspace.append { _ in _ = cursor.isValid }
      }
    }
  }

  @Test(.spawning, .evidence("U2"))
  func `traps when the closure of an iteration removes the keyspace being iterated`() async {
    await #expect(processExitsWith: .failure) {
      try MisuseTests.write { transaction, keyspace in
        try keyspace.forEach { _, _ in
          try transaction.removeKeyspace("a")
          return true
        }
      }
    }
    await #expect(processExitsWith: .failure) {
      try MisuseTests.write { transaction, keyspace in
        try keyspace.getMany([0, 1, 2]) { _, _ in try transaction.removeKeyspace("a") }
      }
    }
  }

  @Test(.spawning, .evidence("U6"))
  func `traps when a streamed value is continued in a later savepoint`() async {
    await #expect(processExitsWith: .failure) {
      let chunk = [UInt8](repeating: 1, count: 3000)
      try MisuseTests.write { transaction, keyspace in
        try keyspace.put(1, byteCount: 6000) { value in
          try value.append(chunk)
          try transaction.savepoint { _ in try value.append(chunk) }
        }
      }
    }
  }

  @Test(.spawning, .evidence("U2"), .evidence("U6"))
  func `traps when a keyspace is used while it is loaded`() async {
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      try store.write { transaction in
        let keyspace = try transaction.keyspace("a")
        try keyspace.load { loader in
          try loader.append(1, [1].span.bytes)
          try keyspace.put(2, [1])
        }
      }
    }
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      try store.write { transaction in
        try transaction.keyspace("a").load { loader in
          try loader.append(1, [1].span.bytes)
          try transaction.savepoint { _ in }
        }
      }
    }
  }

  @Test(.evidence("U3"))
  func `throws when a key, a value or a name is over its limit`() throws {
    let store = try Store.inMemory()
    func refuses(_ body: (KeyspaceWriter) throws -> Void) throws {
      try store.write { transaction in
        let keyspace = try transaction.keyspace("a")
        do {
          try body(keyspace)
          Issue.record("nothing was thrown")
        } catch let error as StorageError {
          #expect(error.kind == .tooLarge)
        }
        try keyspace.put("after", [1])
      }
    }
    try refuses { try $0.put(String(repeating: "k", count: 960), [1]) }
    try refuses { try $0.put([UInt8](repeating: 1, count: 960), [1]) }
    try refuses { _ = try $0.get(String(repeating: "k", count: 2000)) }
    try store.write { transaction in
      try transaction.keyspace("a").put(String(repeating: "k", count: 959), [1])
      for name in ["", String(repeating: "n", count: 256)] {
        #expect(throws: StorageError.self) { try transaction.keyspace(name) }
      }
      _ = try transaction.keyspace(String(repeating: "n", count: 255))
    }
    #expect(try store.snapshot().keyspace("a")?.get("after") == [1])
    #expect(try store.verify().findings == [])
  }

  @Test(.evidence("U4"))
  func `throws when the store is closed`() throws {
    let store = try Store.inMemory()
    try store.write { try $0.keyspace("a").put("key", [1]) }
    let snapshot = try store.snapshot()
    #expect(try store.verify().findings == [])
    try store.close()
    try store.close()
    func isRefused(_ body: () throws -> Void) {
      do {
        try body()
        Issue.record("nothing was thrown")
      } catch {
        #expect((error as? StorageError)?.kind == .closed)
      }
    }
    isRefused { _ = try store.snapshot() }
    isRefused { _ = try store.snapshot(at: snapshot.generation) }
    isRefused { try store.write { _ in } }
    isRefused { try store.checkpoint() }
    isRefused { _ = try store.verify() }
    // The earlier snapshot has not changed.
    #expect(try snapshot.keyspace("a")?.get("key") == [1])
  }

  @Test func `leaves the store usable after a failing body`() throws {
    struct Stop: Error {}
    let store = try Store.inMemory()
    #expect(throws: Stop.self) {
      try store.write { transaction in
        try transaction.keyspace("a").put("key", [1])
        throw Stop()
      }
    }
    #expect(try store.snapshot().keyspaceNames == [])
    try store.write { try $0.keyspace("b").put("key", [1]) }
    #expect(try store.snapshot().keyspaceNames == ["b"])
    #expect(try store.verify().findings == [])
  }
}
