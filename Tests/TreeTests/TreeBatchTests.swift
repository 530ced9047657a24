import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A batch of lookups")
struct TreeBatchTests {
  /// Returns a tree of three levels that is in the log and is read through the cache.
  private func fixture() throws -> TreeFixture {
    let fixture = try TreeFixture(pageByteCount: 4096)
    for number in 0..<12_000 {
      _ = try fixture.put(key(number), TreeModel.value(UInt64(number), count: 100))
    }
    try fixture.beginTransaction()
    return fixture
  }

  private func key(_ number: Int) -> [UInt8] {
    [7] + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - $0 * 8)) }
  }

  /// Adds keys until the batch is full or no keys are left, and returns the number of keys added.
  private func fill(_ batch: inout TreeBatch, _ keys: [[UInt8]]) throws -> Int {
    for key in keys {
      guard let room = batch.room(byteCount: key.count + 8) else { break }
      key.withBytes { room.copy($0, to: 0) }
      room.store64(0, key.count)
      batch.append(room.bytes.slice(0, key.count))
    }
    return batch.count
  }

  @Test func `finds present keys and reports missing ones, on every path`() throws {
    let fixture = try fixture()
    let level = try fixture.view.root(fixture.root)
    #expect(NodeView(level.bytes).level == 2)
    fixture.view.release(level)
    var batch = TreeBatch(view: fixture.view, root: fixture.root)
    var random = SeededGenerator(seed: 3)
    for _ in 0..<40 {
      let numbers = (0..<64).map { _ in Int(random.next() % 13_000) }
      #expect(try fill(&batch, numbers.map { key($0) }) == 64)
      #expect(batch.room(byteCount: 9) == nil)
      try batch.find()
      for (index, number) in numbers.enumerated() {
        let value = batch.found(index)?.value.copied()
        #expect(value == (number < 12_000 ? TreeModel.value(UInt64(number), count: 100) : nil))
      }
      batch.clear()
      #expect(fixture.pinnedCount == 0)
    }
  }

  @Test func `accepts keys while there is room for the longest`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    var random = SeededGenerator(seed: 4)
    let keys = (0..<200).map { number in
      [UInt8](repeating: UInt8(number % 3), count: Int(random.next() % 960)) + [UInt8(number)]
    }
    for key in keys.dropLast(20) { _ = try fixture.put(key, key) }
    var batch = TreeBatch(view: fixture.view, root: fixture.root)
    var first = 0
    while first < keys.count {
      let count = try fill(&batch, Array(keys[first...]))
      #expect(count > 0)
      try batch.find()
      for index in 0..<count {
        let key = keys[first + index]
        let found = try batch.found(index).map { try fixture.content($0) }
        #expect(found == (first + index < 180 ? key : nil))
      }
      batch.clear()
      first += count
    }
  }

  @Test func `releases its pages when it is destroyed`() throws {
    let fixture = try fixture()
    for _ in 0..<3 {
      var batch = TreeBatch(view: fixture.view, root: fixture.root)
      _ = try fill(&batch, (0..<64).map { key($0 * 150) })
      try batch.find()
      #expect(fixture.pinnedCount > 40)
    }
    #expect(fixture.pinnedCount == 0)
  }

  @Test func `releases its pages when one is corrupt`() throws {
    let fixture = try fixture()
    let numbers = (0..<64).map { key($0 * 150) }
    var leaf: PageNumber = 0
    do {
      var batch = TreeBatch(view: fixture.view, root: fixture.root)
      _ = try fill(&batch, numbers)
      try batch.find()
      let found = batch.found(40)
      leaf = try #require(found).reference.bytes.load32(PageLayout.page.offset)
    }
    let page = try fixture.pages.writable(leaf)
    page.store32(TreeFixture.tree + 1, PageLayout.tree.offset)
    do {
      var batch = TreeBatch(view: fixture.view, root: fixture.root)
      _ = try fill(&batch, numbers)
      var kind: StorageError.Kind?
      do { try batch.find() } catch { kind = error.kind }
      #expect(kind == .corrupt)
      #expect(fixture.pinnedCount > 0)
    }
    #expect(fixture.pinnedCount == 0)
  }
}
