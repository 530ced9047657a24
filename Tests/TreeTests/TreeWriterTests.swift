import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A tree writer")
struct TreeWriterTests {
  @Test(
    arguments: TestScale.some(TreeModel.KeyShape.allCases),
    TestScale.some([UInt64(1), 2, 3], every: 3))
  func `has the same contents as a dictionary`(_ shape: TreeModel.KeyShape, _ seed: UInt64) throws {
    for pageByteCount in [4096, 65_536] {
      try compareWithModel(shape, seed, pageByteCount: pageByteCount)
    }
  }

  private func compareWithModel(
    _ shape: TreeModel.KeyShape, _ seed: UInt64, pageByteCount: Int
  ) throws {
    var random = SeededGenerator(seed: seed &* 977 &+ UInt64(pageByteCount))
    let fixture = try TreeFixture(pageByteCount: pageByteCount)
    var model = TreeModel()
    for step in 1...TestScale.pick(quick: 1500, all: 3000) {
      let key = shape.key(&random)
      // Let the tree alternately grow and shrink, so that it gains and loses levels.
      let deletes: UInt64 = step / 750 % 2 == 0 ? 25 : 75
      if random.next() % 100 < deletes {
        let isThere = model.rows.removeValue(forKey: key) != nil
        #expect(try fixture.delete(key) == isThere)
      } else {
        let value = TreeModel.value(&random, pageByteCount: pageByteCount)
        let isNew = model.rows.updateValue(value, forKey: key) == nil
        #expect(try fixture.put(key, value) == isNew)
      }
      if step % 1000 == 0 {
        try fixture.check(entryCount: model.rows.count)
        try compare(fixture, model)
        try fixture.beginTransaction()
      }
    }
    for key in model.sortedKeys.shuffled(using: &random) { #expect(try fixture.delete(key)) }
    try fixture.check(entryCount: 0)
    #expect(try fixture.livePages == [fixture.root.page])
  }

  private func compare(_ fixture: TreeFixture, _ model: TreeModel) throws {
    let rows = try fixture.scan()
    let keys = model.sortedKeys
    #expect(rows.map(\.key) == keys)
    for row in rows where model.rows[row.key] != row.value {
      Issue.record("a value of \(row.value.count) bytes differs from the value put")
    }
    for key in keys {
      let value = try fixture.get(key)
      if value != model.rows[key] { Issue.record("the key \(key) has a wrong value") }
    }
  }

  @Test(arguments: TestScale.some([4096, 65536]))
  func `fills leaves when keys ascend`(_ pageByteCount: Int) throws {
    let fixture = try TreeFixture(pageByteCount: pageByteCount)
    let count = pageByteCount * 5
    for number in 0..<count {
      _ = try fixture.put(
        [0x20] + TreeModel.bigEndian(UInt64(number)), TreeModel.value(1, count: 20))
    }
    try fixture.check(entryCount: count)
    let leafCapacity = (pageByteCount - 48) / 34
    #expect(try fixture.livePages.count <= count / leafCapacity * 102 / 100 + 4)
  }

  @Test(arguments: TestScale.some([4096, 65536]))
  func `fills leaves when keys descend`(_ pageByteCount: Int) throws {
    let fixture = try TreeFixture(pageByteCount: pageByteCount)
    let count = pageByteCount * 5
    for number in (0..<count).reversed() {
      _ = try fixture.put(
        [0x20] + TreeModel.bigEndian(UInt64(number)), TreeModel.value(1, count: 20))
    }
    try fixture.check(entryCount: count)
    let leafCapacity = (pageByteCount - 48) / 34
    #expect(try fixture.livePages.count <= count / leafCapacity * 102 / 100 + 4)
  }

  @Test func `frees every page when all keys are deleted in order`() throws {
    let count = TestScale.pick(quick: 8000, all: 20_000)
    for isAscending in [true, false] {
      let fixture = try TreeFixture(pageByteCount: 4096)
      for number in 0..<count {
        _ = try fixture.put(TreeModel.bigEndian(UInt64(number)), TreeModel.value(1, count: 50))
      }
      try fixture.beginTransaction()
      for number in 0..<count {
        let key = TreeModel.bigEndian(UInt64(isAscending ? number : count - 1 - number))
        #expect(try fixture.delete(key))
        if number % (count / 5) == 0 { try fixture.check(entryCount: count - 1 - number) }
      }
      try fixture.check(entryCount: 0)
      #expect(try fixture.livePages == [fixture.root.page])
    }
  }

  @Test func `stays dense enough when keys are deleted at random`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    var random = SeededGenerator(seed: 9)
    let count = TestScale.pick(quick: 10_000, all: 20_000)
    var numbers = (0..<count).shuffled(using: &random)
    for number in numbers {
      _ = try fixture.put(TreeModel.bigEndian(UInt64(number)), TreeModel.value(1, count: 50))
    }
    numbers.shuffle(using: &random)
    for number in numbers.prefix(count * 9 / 10) {
      _ = try fixture.delete(TreeModel.bigEndian(UInt64(number)))
    }
    try fixture.check(entryCount: count / 10)
    #expect(try fixture.livePages.count < count / 10 * 64 * 3 / 4056 + 10)
  }

  @Test func `frees everything at once`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    var random = SeededGenerator(seed: 4)
    for _ in 0..<2000 {
      _ = try fixture.put(
        TreeModel.KeyShape.mixedPrefixes.key(&random), TreeModel.value(&random, pageByteCount: 4096)
      )
    }
    try fixture.writer.removeAll()
    #expect(try fixture.livePages.isEmpty)
    #expect(fixture.pinnedCount == 0)
  }

  @Test func `rejects keys and values over their limits`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let longest = [UInt8](repeating: 1, count: Limits.maxKeyByteCount)
    #expect(try fixture.put(longest, []))
    #expect(try fixture.get(longest) == [])
    #expect(throws: StorageError.self) { try fixture.put(longest + [1], []) }
    try fixture.check(entryCount: 1)
  }

  @Test func `stores an empty key and an empty value`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    #expect(try fixture.get([]) == nil)
    #expect(try fixture.put([], []))
    #expect(try !fixture.put([], [1]))
    #expect(try fixture.put([0], [2]))
    #expect(try fixture.get([]) == [1])
    #expect(try fixture.get([0]) == [2])
    #expect(try fixture.delete([]))
    #expect(try fixture.get([]) == nil)
    try fixture.check(entryCount: 1)
  }

  @Test func `counts its changes`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let before = fixture.view.changeCount
    _ = try fixture.put([1], [1])
    #expect(fixture.view.changeCount == before + 1)
    #expect(try fixture.delete([1]))
    #expect(fixture.view.changeCount == before + 2)
  }

  /// Each node is valid on its own, so only a merge of the neighbours finds the damage.
  @Test(.evidence("B3")) func `merges no neighbours whose keys are out of order`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    for number in 0..<500 {
      _ = try fixture.put(TreeModel.bigEndian(UInt64(number)), TreeModel.value(1, count: 50))
    }
    let root = try fixture.pages.writable(fixture.root.page)
    let node = NodeView(root.bytes)
    try #require(node.level == 1 && node.count > 5)
    let leaf = NodeView(try fixture.pages.writable(node.child(2)).bytes)
    let block = ByteBlock(count: Limits.maxKeyByteCount + 16, alignment: 16)
    defer { block.keep() }
    let keys = (0..<leaf.count).map { leaf.copyKey($0, to: block.bytes).copied() }
    root.store32(node.child(5), node.heads + node.count * 8 + 4)
    let error = #expect(throws: StorageError.self) {
      for key in keys { _ = try fixture.delete(key) }
    }
    #expect(error?.kind == .corrupt)
    #expect(fixture.pinnedCount == 0)
  }

  /// The abbreviated keys of these entries are equal, and no abbreviated key is higher.
  @Test func `finds keys that begin with the highest bytes`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let high = [UInt8](repeating: 0xFF, count: 8)
    let keys = [[0], [1]] + (0..<40 as Range<UInt8>).map { high + [$0] }
    for key in keys { #expect(try fixture.put(key, key)) }
    for key in keys { #expect(try fixture.get(key) == key) }
    #expect(try fixture.get(high) == nil)
    #expect(try fixture.get(high + [40]) == nil)
    try fixture.check(entryCount: keys.count)
  }
}
