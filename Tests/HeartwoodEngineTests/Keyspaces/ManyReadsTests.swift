import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A read of many keys")
struct ManyReadsTests {
  struct Setting: Sendable, CustomTestStringConvertible {
    let seed: UInt64
    let pageByteCount: Int
    let access: StoreOptions.Access
    var testDescription: String { "seed \(seed), pages of \(pageByteCount), \(access)" }

    var options: StoreOptions {
      var options = StoreOptions()
      options.pageByteCount = pageByteCount
      options.access = access
      options.durability = .normal
      options.cacheByteCount = pageByteCount * 80
      return options
    }
  }

  private static let settings: [Setting] = [
    Setting(seed: 1, pageByteCount: 4096, access: .mapped),
    Setting(seed: 2, pageByteCount: 4096, access: .buffered),
    Setting(seed: 3, pageByteCount: 16_384, access: .buffered),
  ]

  private struct Mistake: Error {}

  /// The arguments of all calls of the closure of `getMany`, in order.
  private typealias Passed = [(index: Int, value: [UInt8]?)]

  private func expect(
    _ passed: Passed, _ values: [[UInt8]?], _ context: String,
    _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(passed.map(\.index) == Array(values.indices), "\(context)", sourceLocation: location)
    let isRight = passed.map(\.value) == values
    #expect(isRight, "\(context)", sourceLocation: location)
  }

  @Test(.evidence("I13"), arguments: settings) func `finds the same as single reads`(
    setting: Setting
  )
    throws
  {
    var random = SeededGenerator(seed: setting.seed)
    let fixture = try StoreFixture.onDisk(setting.options)
    try fixture.run { store in
      try store.write { transaction in
        let integers = try transaction.keyspace("integers")
        let strings = try transaction.keyspace("strings")
        for number in 0..<TestScale.pick(quick: 800, all: 1500) where number % 3 > 0 {
          let value = KeyspaceModel.value(&random, pageByteCount: setting.pageByteCount)
          try integers.put(number - 500, value)
          try strings.put(Self.name(number), value)
        }
        try compare(integers, strings, &random)
      }
      if setting.seed == 2 { try store.checkpoint() }
      let snapshot = try store.snapshot()
      let integers = try #require(try snapshot.keyspace("integers"))
      let strings = try #require(try snapshot.keyspace("strings"))
      for count in [0, 1, 2, 63, 64, 65, 300] {
        let numbers = Self.numbers(count, &random)
        let context = "seed \(setting.seed), \(count) keys"
        var passed: Passed = []
        try integers.getMany(numbers) { passed.append(($0, $1?.array)) }
        expect(passed, try numbers.map { try integers.get($0) }, context)
        passed = []
        try integers.getMany(numbers.map { Int64($0) }) { passed.append(($0, $1?.array)) }
        expect(passed, try numbers.map { try integers.get($0) }, context)
        passed = []
        let names = numbers.map { Self.name($0) }
        try strings.getMany(names) { passed.append(($0, $1?.array)) }
        expect(passed, try names.map { try strings.get($0) }, context)
      }
    }
  }

  private func compare(
    _ integers: KeyspaceWriter, _ strings: KeyspaceWriter, _ random: inout SeededGenerator
  ) throws {
    let numbers = Self.numbers(150, &random)
    var passed: Passed = []
    try integers.getMany(numbers) { passed.append(($0, $1?.array)) }
    expect(passed, try numbers.map { try integers.get($0) }, "in the transaction")
    passed = []
    try integers.getMany(numbers.map { Int64($0) }) { passed.append(($0, $1?.array)) }
    expect(passed, try numbers.map { try integers.get($0) }, "in the transaction")
    passed = []
    let names = numbers.map { Self.name($0) }
    try strings.getMany(names) { passed.append(($0, $1?.array)) }
    expect(passed, try names.map { try strings.get($0) }, "in the transaction")
  }

  /// Returns integer keys in ascending runs.
  ///
  /// Some of the keys do not exist, and some keys are repeated.
  private static func numbers(_ count: Int, _ random: inout SeededGenerator) -> [Int] {
    var numbers: [Int] = []
    while numbers.count < count {
      let start = random.below(2100) - 600
      let length = [1, 1, 1, 5, 40][random.below(5)]
      numbers += (0..<min(length, count - numbers.count)).map { start + $0 / (1 + length % 2) }
    }
    return numbers
  }

  /// Returns a string key of 1 to 959 bytes.
  ///
  /// Most keys are short, and many keys have the same head.
  private static func name(_ number: Int) -> String {
    switch number % 16 {
    case 0: String(repeating: "long ", count: 188) + "\(number)"
    case 1, 2, 3: "a shared start \(number)"
    default: "\(number)"
    }
  }

  @Test(arguments: [StoreOptions.Access.mapped, .buffered])
  func `of no keys, or in an empty keyspace, finds nothing`(access: StoreOptions.Access) throws {
    var options = StoreOptions()
    options.access = access
    try StoreFixture.onDisk(options).run { store in
      try store.write { _ = try $0.keyspace("k") }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      try keyspace.getMany([Int]()) { _, _ in Issue.record("no such key") }
      var count = 0
      try keyspace.getMany(["a", "b", "c"]) { index, value in
        #expect(index == count)
        let isThere = value != nil
        #expect(!isThere)
        count += 1
      }
      #expect(count == 3)
    }
  }

  @Test(arguments: [StoreOptions.Access.mapped, .buffered])
  func `ends when its body throws`(access: StoreOptions.Access) throws {
    var options = StoreOptions()
    options.access = access
    try StoreFixture.onDisk(options).run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for number in 0..<5000 { try keyspace.put(number, [UInt8](repeating: 1, count: 100)) }
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      var count = 0
      #expect(throws: Mistake.self) {
        try keyspace.getMany((0..<200).map { $0 * 20 }) { index, _ in
          count += 1
          if index == 100 { throw Mistake() }
        }
      }
      #expect(count == 101)
      let error = #expect(throws: StorageError.self) {
        try keyspace.getMany(["a", String(repeating: "x", count: 960)]) { _, _ in }
      }
      #expect(error?.kind == .tooLarge)
    }
  }

  @Test(arguments: [StoreOptions.Access.mapped, .buffered])
  func `sees the changes of its body`(access: StoreOptions.Access) throws {
    var options = StoreOptions()
    options.access = access
    try StoreFixture.onDisk(options).run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for number in 0..<2000 { try keyspace.put(number, [UInt8](repeating: 0, count: 200)) }
      }
      var random = SeededGenerator(seed: 5)
      let numbers = (0..<3000).map { _ in random.below(2000) }
      var model: [Int: Int] = [:]
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        // The first two visits to a row enlarge it, and the third visit deletes it, so leaves are
        // split and merged.
        try keyspace.getMany(numbers) { index, value in
          let number = numbers[index]
          let met = model[number] ?? 0
          let found = (value?.array).map { Int($0[0]) }
          #expect(found == (met < 3 ? met : nil), "\(index)")
          // Make no changes from index 1,000 to index 1,499.
          if index / 500 == 2 { return }
          model[number] = met + 1
          if met == 2 {
            try keyspace.delete(number)
          } else if met < 2 {
            try keyspace.put(
              number, [UInt8](repeating: UInt8(met + 1), count: 200 + 250 * (met + 1)))
          }
        }
      }
    }
  }

  @Test func `reads a page once for neighbouring keys`() throws {
    var options = StoreOptions()
    options.access = .buffered
    try StoreFixture.onDisk(options).run { store in
      try store.write { transaction in
        try transaction.keyspace("k").load(
          sorted: (0..<100_000).lazy.map { (Key($0), [UInt8](repeating: 1, count: 100)) })
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      let before = store.statistics.cacheLookupCount
      try keyspace.getMany(Array(0..<30)) { _, _ in }
      // All of these keys are in one leaf of 34 rows. The read therefore looks up the root, one of
      // 11 branches, and the leaf.
      #expect(store.statistics.cacheLookupCount - before == 3)
      try keyspace.getMany(Array(0..<64)) { _, _ in }
      #expect(store.statistics.cacheLookupCount - before == 3 + 4)
    }
  }

  #if !DEBUG
    @Test(.spawning) func `allocates and retains nothing for a key`() async {
      await #expect(processExitsWith: .success) {
        let directory = try ScratchDirectory()
        var options = StoreOptions()
        // Run maintenance on this thread, because only this thread is measured.
        options.maintenance = .inline
        let store = try Store(
          at: directory.path(of: "store"), options: options, fileSystem: PosixFileSystem())
        try store.write { transaction in
          try transaction.keyspace("rows").load(
            sorted: (0..<20_000).lazy.map { (Key($0), [UInt8](repeating: 7, count: 100)) })
        }
        let rows = try #require(try store.snapshot().keyspace("rows"))
        var sum = 0
        func counts(of keys: [Int64]) throws -> RetainProbe.Counts? {
          try RetainProbe.measure {
            try rows.getMany(keys) { _, value in
              if let value { sum += Int(value.unsafeLoad(as: UInt8.self)) }
            }
          }
        }
        let keys = (0..<20_000).map { Int64(($0 * 7919) % 20_000) }
        // Read all pages once before measuring, because the first read of a page also verifies and
        // counts it.
        _ = try counts(of: keys)
        let few = try counts(of: Array(keys.prefix(64)))
        let many = try counts(of: keys)
        precondition(few == many)
        precondition(sum == 7 * (20_000 * 2 + 64))
        _ = try store.verify()
      }
    }
  #endif
}
