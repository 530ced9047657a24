import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests parts of a transaction that are rolled back while the rest of the transaction continues.
@Suite("A savepoint")
struct SavepointTests {
  private struct RolledBack: Error {}

  private func fixture() -> StoreFixture { StoreFixture.inMemory() }

  @Test func `keeps its changes when its body returns`() throws {
    try fixture().run { store in
      try store.write { transaction in
        let count = try transaction.savepoint { inner in
          try inner.keyspace("a").put(1, [1])
          return try inner.keyspace("a").count()
        }
        #expect(count == 1)
      }
      #expect(try store.snapshot().keyspace("a")?.get(1) == [1])
    }
  }

  @Test func `rolls its changes back when its body throws`() throws {
    try fixture().run { store in
      try store.write { transaction in
        let rows = try transaction.keyspace("a")
        for number in 0..<200 { try rows.put(number, [1]) }
        #expect(throws: RolledBack.self) {
          try transaction.savepoint { inner in
            for number in 0..<150 { try rows.delete(number) }
            try inner.keyspace("b").put(1, [2])
            throw RolledBack()
          }
        }
        #expect(try rows.count() == 200)
        #expect(try rows.get(7) == [1])
        #expect(try transaction.keyspaceNames == ["a"])
        try rows.put(200, [3])
      }
      #expect(try store.snapshot().keyspace("a")?.count() == 201)
      #expect(try store.snapshot().keyspaceNames == ["a"])
    }
  }

  @Test func `frees the pages it has allocated`() throws {
    let large = [UInt8](repeating: 1, count: 400_000)
    try fixture().run { store in
      try store.write { transaction in
        let rows = try transaction.keyspace("a")
        for number in 0..<3 {
          #expect(throws: RolledBack.self) {
            try transaction.savepoint { _ in
              try rows.put(number, large)
              throw RolledBack()
            }
          }
        }
        try rows.put(9, large)
      }
      // The pages are a bitmap, the catalog, a leaf, and the pages of a large value with its index.
      #expect(store.statistics.pageCount < 110)
    }
  }

  @Test func `rolls back changes that nested savepoints have kept`() throws {
    try fixture().run { store in
      try store.write { transaction in
        let rows = try transaction.keyspace("a")
        try rows.put(0, [0])
        try transaction.savepoint { outer in
          try rows.put(1, [1])
          #expect(throws: RolledBack.self) {
            try outer.savepoint { middle in
              try rows.put(0, [2])
              try middle.savepoint { _ in try rows.put(1, [3]) }
              try middle.savepoint { _ in try rows.put(2, [4]) }
              #expect(try rows.get(1) == [3])
              throw RolledBack()
            }
          }
          #expect(try rows.get(0) == [0])
          #expect(try rows.get(1) == [1])
          #expect(try rows.get(2) == nil)
        }
      }
      #expect(try store.snapshot().keyspace("a")?.count() == 2)
    }
  }

  @Test func `has no effect when the transaction is rolled back`() throws {
    var options = StoreOptions()
    for memory in [0, 1 << 20] {
      options.transactionMemoryByteCount = memory
      try StoreFixture.inMemory(options).run { store in
        let before = try store.write { try $0.keyspace("a").put(0, [0]) }
        let after = try store.write { transaction in
          try? transaction.savepoint { inner in
            try inner.keyspace("a").put(1, [1])
            try inner.keyspace("b").put(1, [1])
            throw RolledBack()
          }
        }
        #expect(after == before)
        #expect(store.statistics.activity.commitCount == 1)
      }
    }
  }

  @Test func `undoes a change that failed halfway`() throws {
    try fixture().run { store in
      try store.write { transaction in
        try transaction.keyspace("a").put(0, [0])
        #expect(throws: StorageError.self) {
          try transaction.savepoint { inner in
            try inner.keyspace("b").load(sorted: [(Key(2), [1]), (Key(1), [1])])
          }
        }
        try transaction.keyspace("a").put(1, [1])
      }
      #expect(try store.snapshot().keyspaceNames == ["a"])
      // The transaction cannot be committed if the error is caught outside a savepoint, or is
      // caught inside a savepoint and not rethrown.
      #expect(throws: StorageError.self) {
        try store.write { transaction in
          try transaction.savepoint { inner in
            try? inner.keyspace("b").load(sorted: [(Key(2), [1]), (Key(1), [1])])
          }
        }
      }
      #expect(try store.snapshot().keyspaceNames == ["a"])
    }
  }

  @Test func `is not begun after a change that failed halfway`() throws {
    try fixture().run { store throws in
      var hasBegun = false
      let error = #expect(throws: StorageError.self) {
        try store.write { transaction in
          try? transaction.keyspace("b").load(sorted: [(Key(2), [1]), (Key(1), [1])])
          try transaction.savepoint { _ in hasBegun = true }
        }
      }
      #expect(error?.kind == .invalidArgument && !hasBegun)
      #expect(try store.snapshot().keyspaceNames == [])
    }
  }

  // MARK: Keyspaces

  @Test func `leaves keyspaces as they were when it began`() throws {
    try fixture().run { store in
      try store.write { transaction in
        for name in ["known", "removed", "late"] {
          try transaction.keyspace(name).put(0, [0])
        }
      }
      try store.write { transaction in
        let known = try transaction.keyspace("known")
        let removed = try transaction.keyspace("removed")
        try removed.put(1, [1])
        var late: KeyspaceWriter?
        #expect(throws: RolledBack.self) {
          try transaction.savepoint { inner in
            try known.put(1, [1])
            try inner.removeKeyspace("removed")
            try inner.keyspace("removed").put(7, [7])
            late = try inner.keyspace("late")
            try late?.put(5, [5])
            try inner.removeKeyspace("late")
            throw RolledBack()
          }
        }
        #expect(try known.count() == 1)
        #expect(try removed.count() == 2)
        #expect(try removed.get(7) == nil)
        // This writer was opened in the savepoint, but its keyspace already existed.
        #expect(try late?.count() == 1)
        try late?.put(9, [9])
        #expect(try transaction.keyspace("late").count() == 2)
        try removed.put(2, [2])
      }
      let snapshot = try store.snapshot()
      #expect(try snapshot.keyspace("known")?.count() == 1)
      #expect(try snapshot.keyspace("removed")?.count() == 3)
      #expect(try snapshot.keyspace("late")?.count() == 2)
    }
  }

  @Test(.spawning, .evidence("U2")) func `removes keyspaces that were created in it`() async {
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      try store.write { transaction in
        var made: KeyspaceWriter?
        try? transaction.savepoint { inner in
          made = try inner.keyspace("made")
          throw StorageError(.invalidArgument, "This savepoint is rolled back.")
        }
        try made?.put(0, [0])
      }
    }
  }

  @Test func `leaves cursors where they are`() throws {
    try fixture().run { store in
      try store.write { transaction in
        let rows = try transaction.keyspace("a")
        for number in 0..<500 { try rows.put(number * 2, [1]) }
        let cursor = rows.cursor()
        try cursor.seek(Key(500))
        var inner: Cursor?
        try? transaction.savepoint { _ in
          for number in 0..<500 { try rows.put(number * 2 + 1, [2]) }
          try cursor.moveToNext()
          #expect(cursor.key == Key(501).bytes)
          inner = rows.cursor()
          try inner?.seek(Key(301))
          throw RolledBack()
        }
        #expect(try cursor.value == nil)
        try cursor.moveToNext()
        #expect(cursor.key == Key(502).bytes)
        #expect(try cursor.value == [1])
        try inner?.moveToNext()
        #expect(inner?.key == Key(302).bytes)
      }
    }
  }

  // MARK: Random changes

  @Test(
    .evidence("D6"), .evidence("I4"), .evidence("I11"),
    arguments: [StoreOptions.Access.mapped, .buffered],
    [(0, 1), (4, 2), (8, 3), (30, 4), (1 << 30, 5)] as [(Int, UInt64)])
  func `behaves like a model, nested and while pages are spilled`(
    access: StoreOptions.Access, memory: (pageCount: Int, seed: UInt64)
  ) throws {
    let fixture = try SpillingFixture.make(access, memoryPageCount: memory.pageCount)
    let context = "seed \(memory.seed), \(memory.pageCount) pages"
    var modelled = ModelledTransaction(seed: memory.seed)
    var passed: [(generation: Generation, model: KeyspaceModel)] = []
    let stepCount = TestScale.pick(quick: 12, all: 60)
    for round in 0..<3 {
      // Each time the store is opened, it is in the state that a dead process left behind.
      let store = try fixture.open()
      try modelled.model.expectShown(by: store.snapshot(), "\(context), opened \(round)")
      for number in 0..<2 {
        let generation = try store.write { transaction in
          try modelled.nestedSteps(&transaction, count: stepCount, depth: 4)
          try modelled.expectShown(by: transaction)
        }
        passed.append((generation, modelled.model))
        try modelled.model.expectShown(by: store.snapshot(), "\(context), \(round), \(number)")
      }
      // These generations are not held, so their states must be rebuilt from the log.
      for (generation, model) in passed {
        try model.expectShown(by: store.snapshot(at: generation), "\(context), \(generation)")
      }
      try StoreFixture.expectSound(store)
      if round == 1 {
        try store.checkpoint()
        passed = []
        try modelled.model.expectShown(by: store.snapshot(), "\(context), checkpoint")
      }
    }
  }
}
