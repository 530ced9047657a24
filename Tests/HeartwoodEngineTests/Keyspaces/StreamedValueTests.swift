import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A streamed value")
struct StreamedValueTests {
  private static let accesses: [StoreOptions.Access] = [.mapped, .buffered]

  /// Lengths on both sides of each limit of the layout, except the largest limit.
  ///
  /// The pages have 4,096 bytes.
  private static let lengths = [0, 1, 999, 1000, 1001, 1002, 4063, 4064, 4065, 8128, 8129, 300_000]

  private struct Mistake: Error {}

  private func options(_ access: StoreOptions.Access) -> StoreOptions {
    var options = StoreOptions()
    options.access = access
    options.durability = .normal
    return options
  }

  /// Appends a value in chunks of random lengths.
  private func stream(
    _ value: [UInt8], _ random: inout SeededGenerator, to writer: inout ValueWriter
  ) throws {
    var start = 0
    while start < value.count {
      let count = min([0, 1, 100, 4064, 5000, 70_000][random.below(6)], value.count - start)
      let chunk = Array(value[start..<start + count])
      if random.isTrue(in256: 128) {
        try writer.append(chunk)
      } else {
        try writer.append(chunk.span.bytes)
      }
      start += count
    }
  }

  @Test(arguments: accesses) func `is the same as its chunks, for every length`(
    access: StoreOptions.Access
  ) throws {
    var random = SeededGenerator(seed: 1)
    let bytes = random.bytes(300_000)
    let fixture = try StoreFixture.onDisk(options(access))
    func expectHeld(_ shown: (Int) throws -> (count: Int?, complete: [UInt8]?, chunks: [UInt8]))
      throws
    {
      for length in Self.lengths {
        let value = Array(bytes.prefix(length))
        let (count, complete, chunks) = try shown(length)
        #expect(count == length)
        let isRight = complete == value && chunks == value
        #expect(isRight, "\(length)")
      }
    }
    try fixture.run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for length in Self.lengths {
          try keyspace.put(length, byteCount: length) { writer in
            try stream(Array(bytes.prefix(length)), &random, to: &writer)
          }
        }
        #expect(try keyspace.count() == Self.lengths.count)
        try expectHeld { length in
          var chunks: [UInt8] = []
          #expect(try keyspace.forEachChunk(length) { chunks += $0.array })
          return (try keyspace.valueByteCount(length), try keyspace.get(length), chunks)
        }
      }
    }
    try fixture.run { store in
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      try expectHeld { length in
        var chunks: [UInt8] = []
        #expect(try keyspace.forEachChunk(length) { chunks += $0.array })
        return (try keyspace.valueByteCount(length), try keyspace.get(length), chunks)
      }
      #expect(try keyspace.valueByteCount(4711) == nil)
      #expect(try !keyspace.forEachChunk(4711) { _ in Issue.record("no such key") })
      #expect(throws: Mistake.self) { try keyspace.forEachChunk(8128) { _ in throw Mistake() } }
    }
  }

  @Test func `can be stored under any kind of key`() throws {
    try StoreFixture.inMemory().run { store in
      let value = [UInt8](repeating: 9, count: 5000)
      let bytes: [UInt8] = [1, 0, 2]
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try keyspace.put(1, byteCount: 5000) { try $0.append(value) }
        try keyspace.put("two", byteCount: 5000) { try $0.append(value) }
        try keyspace.put(bytes, byteCount: 5000) { try $0.append(value) }
        try keyspace.put(Key(4, "four"), byteCount: 5000) { try $0.append(value) }
        #expect(try keyspace.count() == 4)
        #expect(try keyspace.valueByteCount(1) == 5000)
        #expect(try keyspace.valueByteCount(Key(4, "four")) == 5000)
        var sum = 0
        try keyspace.forEachChunk("two") { sum += $0.byteCount }
        try keyspace.forEachChunk(Key(bytes)) { sum += $0.byteCount }
        #expect(sum == 2 * 5000)
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      #expect(try keyspace.get(1) == value)
      #expect(try keyspace.valueByteCount("two") == 5000)
      #expect(try keyspace.valueByteCount(Key(4, "four")) == 5000)
      var sum = 0
      try keyspace.forEachChunk(bytes) { sum += $0.byteCount }
      try keyspace.forEachChunk(Key(1)) { sum += $0.byteCount }
      #expect(sum == 2 * 5000)
    }
  }

  @Test(.evidence("I12"), arguments: [0, 10, 5000, 200_000])
  func `leaves the entry unchanged if its length is not as announced`(length: Int) throws {
    try StoreFixture.inMemory().run { store in
      let old = [UInt8](repeating: 3, count: 6000)
      try store.write { try $0.keyspace("k").put(1, old) }
      let pageCount = store.statistics.pageCount
      let value = [UInt8](repeating: 4, count: length)
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        func expectRefused(_ key: Int, _ body: (inout ValueWriter) throws -> Void) throws {
          let error = #expect(throws: StorageError.self) {
            try keyspace.put(key, byteCount: length, body)
          }
          #expect(error?.kind == .invalidArgument)
        }
        for key in [1, 2] {
          if length > 0 {
            try expectRefused(key) { _ in }
            try expectRefused(key) { try $0.append(Array(value.dropLast())) }
          }
          try expectRefused(key) { try $0.append(value + [0]) }
          try expectRefused(key) { writer in
            try writer.append(value)
            try writer.append([0])
          }
          #expect(throws: Mistake.self) {
            try keyspace.put(key, byteCount: length) { writer in
              try writer.append(Array(value.prefix(length / 2)))
              throw Mistake()
            }
          }
        }
        let error = #expect(throws: StorageError.self) {
          try keyspace.put(1, byteCount: -1) { _ in Issue.record("called") }
        }
        #expect(error?.kind == .invalidArgument)
        #expect(try keyspace.get(1) == old)
        #expect(try keyspace.get(2) == nil)
        try keyspace.put(3, [1])
        // A chunk that is rejected must not become part of the value.
        try keyspace.put(4, byteCount: length) { writer in
          #expect(throws: StorageError.self) { try writer.append(value + [0]) }
          try writer.append(value)
        }
        #expect(try keyspace.get(4) == value)
        try keyspace.delete(4)
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      #expect(try keyspace.get(1) == old)
      #expect(try keyspace.count() == 2)
      // The pages of the aborted value have been freed.
      #expect(store.statistics.pageCount <= pageCount + 1 + (length + 4063) / 4064 + 1)
    }
  }

  @Test(.evidence("I12")) func `replaces the old value only at the end`() throws {
    try StoreFixture.inMemory().run { store in
      let values = [10, 5000, 50_000, 20, 60_000].map { length in
        [UInt8](repeating: UInt8(length % 251), count: length)
      }
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        var old: [UInt8]?
        for value in values {
          try keyspace.put("key", byteCount: value.count) { writer in
            try writer.append(Array(value.prefix(value.count / 2)))
            #expect(try keyspace.get("key") == old)
            try writer.append(Array(value.dropFirst(value.count / 2)))
            #expect(try keyspace.get("key") == old)
          }
          #expect(try keyspace.get("key") == value)
          #expect(try keyspace.count() == 1)
          old = value
        }
      }
    }
  }

  @Test(arguments: accesses) func `can be built from other values and among other changes`(
    access: StoreOptions.Access
  ) throws {
    try StoreFixture.onDisk(options(access)).run { store in
      var random = SeededGenerator(seed: 4)
      let value = random.bytes(150_000)
      let fresh = random.bytes(90_000)
      try store.write { try $0.keyspace("k").put(1, value) }
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try keyspace.put(2, fresh)
        try keyspace.put(3, byteCount: 2 * (150_000 + 90_000)) { writer in
          for _ in 0..<2 {
            // An earlier transaction wrote key 1, and this transaction wrote key 2.
            for key in [1, 2] {
              try keyspace.forEachChunk(key) { chunk in
                try writer.append(chunk)
                try keyspace.put(100 + random.below(50), random.bytes(random.below(3000)))
              }
            }
            try keyspace.put(4, byteCount: 90_000) { inner in
              try keyspace.withValue(2) { try inner.append($0) }
            }
            try keyspace.delete(100 + random.below(50))
          }
        }
        #expect(try keyspace.get(3) == value + fresh + value + fresh)
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      let isRight = try keyspace.get(3) == value + fresh + value + fresh
      #expect(isRight)
      #expect(try keyspace.get(4) == fresh)
    }
  }

  @Test(arguments: lengths) func `can begin when the memory of its transaction is used up`(
    length: Int
  ) throws {
    var options = options(.mapped)
    options.transactionMemoryByteCount = 0
    var random = SeededGenerator(seed: 17)
    let values = [random.bytes(length), random.bytes(length + 30_000)]
    try StoreFixture.onDisk(options).run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for (key, value) in values.enumerated() {
          try keyspace.put(key, byteCount: value.count) { writer in
            // A change made inside the closure may spill pages before the first byte of the value
            // is written.
            try keyspace.put("beside", [1])
            if key == 1 { try stream(value, &random, to: &writer) }
            if key == 0 { try writer.append(value) }
          }
        }
        #expect(throws: Mistake.self) {
          try keyspace.put(0, byteCount: length + 9000) { _ in
            try keyspace.put("beside", [2])
            throw Mistake()
          }
        }
      }
      for (key, value) in values.enumerated() {
        #expect(try store.snapshot().keyspace("k")?.get(key) == value)
      }
    }
  }

  @Test func `is read by range only from the pages of that range`() throws {
    let fixture = try StoreFixture.onDisk(options(.buffered))
    // With pages of 4,096 bytes, one index page lists 1,016 pages of 4,064 bytes each. This value
    // therefore needs two index pages.
    let length = 1_500 * 4_064
    try fixture.run { store in
      try store.write { transaction in
        try transaction.keyspace("k").put(1, byteCount: length) { writer in
          let chunk = [UInt8](repeating: 5, count: 4_064)
          for _ in 0..<1_500 { try writer.append(chunk) }
        }
      }
    }
    let store = try fixture.open()
    let keyspace = try #require(try store.snapshot().keyspace("k"))
    func pages(_ body: () throws -> Void) rethrows -> Int {
      let before = store.statistics.cacheReadCount
      try body()
      return store.statistics.cacheReadCount - before
    }
    // The tree has only one leaf, which is also its root.
    #expect(try pages { _ = try keyspace.valueByteCount(1) } == 1)
    // A read looks up the top index page, another index page and one page of the value.
    #expect(try pages { try keyspace.read(1, range: 100..<200) { _ in } } == 3)
    #expect(try pages { try keyspace.read(1, range: 4_060..<4_070) { _ in } } == 1)
    #expect(try pages { try keyspace.read(1, range: 4_064 * 10..<4_064 * 14) { _ in } } == 4)
    #expect(try pages { try keyspace.read(1, range: length - 1..<length) { _ in } } == 2)
    #expect(try pages { try keyspace.read(1, range: 77..<77) { _ in } } == 0)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test(.spawning) func `cannot be moved to another keyspace`() async {
    await #expect(processExitsWith: .failure) {
      let store = try Store.inMemory()
      let value = [UInt8](repeating: 1, count: 5000)
      try store.write { transaction in
        let (one, other) = (try transaction.keyspace("one"), try transaction.keyspace("other"))
        try one.put(1, byteCount: 5000) { writer in
          try writer.append(value)
          try other.put(1, byteCount: 5000) { inner in
            try inner.append(value)
            swap(&writer, &inner)
          }
        }
      }
    }
  }
}
