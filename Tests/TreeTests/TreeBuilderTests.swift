import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A tree builder")
struct TreeBuilderTests {
  @Test(
    arguments: TreeModel.KeyShape.allCases, [0, 1, 2, 30, TestScale.pick(quick: 1000, all: 2000)])
  func `builds the same tree as a writer`(_ shape: TreeModel.KeyShape, _ count: Int) throws {
    var random = SeededGenerator(seed: UInt64(count))
    let fixture = try TreeFixture(pageByteCount: 4096)
    var model = TreeModel()
    for _ in 0..<count {
      model.rows[shape.key(&random)] = TreeModel.value(&random, pageByteCount: 4096)
    }
    var builder = try TreeBuilder(pages: fixture.pages, root: fixture.root)
    let keys = model.sortedKeys
    for key in keys {
      let value = model.rows[key] ?? []
      try key.withSearchKey { key throws(StorageError) in
        try value.withBytes { value throws(StorageError) in
          try builder.append(key: key, value: value)
        }
      }
    }
    try builder.finish()
    try fixture.check(entryCount: keys.count)
    #expect(try fixture.scan().map(\.key) == keys)
    for key in keys.shuffled(using: &random) {
      #expect(try fixture.get(key) == model.rows[key])
      #expect(try fixture.delete(key))
    }
    try fixture.check(entryCount: 0)
    #expect(try fixture.livePages == [fixture.root.page])
  }

  @Test func `accepts keys only in ascending order`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    var builder = try TreeBuilder(pages: fixture.pages, root: fixture.root)
    for (key, isInOrder) in [([UInt8(2)], true), ([2], false), ([1, 9], false), ([2, 0], true)] {
      let isTaken: Bool
      do {
        try key.withSearchKey { key throws(StorageError) in
          try builder.append(key: key, value: Bytes.empty)
        }
        isTaken = true
      } catch {
        #expect(error.kind == .invalidArgument)
        isTaken = false
      }
      #expect(isTaken == isInOrder)
    }
    try builder.finish()
    try fixture.check(entryCount: 2)
  }

  @Test func `changes no page if nothing is appended`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    for key in 0..<100 { _ = try fixture.put([UInt8(key)], [UInt8](repeating: 1, count: 300)) }
    let balancing = try TreeBuilder(continuing: fixture.root, pages: fixture.pages)
    try balancing.finish()
    try fixture.beginTransaction()
    let builder = try TreeBuilder(continuing: fixture.root, pages: fixture.pages)
    #expect(fixture.pages.isUnchanged)
    try builder.finish()
    #expect(fixture.pages.isUnchanged)
    try fixture.check(entryCount: 100)
  }

  /// Range deletions by earlier versions left empty leaves at the end of a tree.
  @Test(arguments: [0, 1, 60, 119])
  func `appends after the last entry if empty leaves follow`(count: Int) throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    // Four entries fit in a leaf.
    let value = [UInt8](repeating: 1, count: 900)
    for key in 0..<120 { _ = try fixture.put([UInt8(key)], value) }
    let block = ByteBlock(count: 1024, alignment: 16)
    defer { block.keep() }
    for page in try fixture.livePages {
      let editor = NodeEditor(try fixture.pages.writable(page))
      guard editor.node.isLeaf else { continue }
      for slot in (0..<editor.node.count).reversed() {
        let key = editor.node.copyKey(slot, to: block.bytes)
        if key.load8(0) >= count { editor.remove(at: slot) }
      }
    }
    var builder =
      count == 0
      ? try TreeBuilder(pages: fixture.pages, root: fixture.root)
      : try TreeBuilder(continuing: fixture.root, pages: fixture.pages)
    // The keys sort between the last entry and the next key that was removed.
    let new = (0..<30).map { count == 0 ? [UInt8(0), $0] : [UInt8(count - 1), $0] }
    for key in new {
      try key.withSearchKey { key throws(StorageError) in
        try value.withBytes { value throws(StorageError) in
          try builder.append(key: key, value: value)
        }
      }
    }
    try builder.finish()
    try fixture.check(entryCount: count + new.count)
    for key in (0..<count).map({ [UInt8($0)] }) + new { #expect(try fixture.get(key) == value) }
  }

  @Test func `rejects a tree with entries`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    _ = try fixture.put([1], [1])
    #expect(throws: StorageError.self) {
      try TreeBuilder(pages: fixture.pages, root: fixture.root)
    }
  }
}
