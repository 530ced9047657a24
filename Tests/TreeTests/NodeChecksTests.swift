import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The check of a node")
struct NodeChecksTests {
  private func makeTree(
    _ shape: TreeModel.KeyShape, _ seed: UInt64, pageByteCount: Int
  ) throws -> TreeFixture {
    var random = SeededGenerator(seed: seed)
    let fixture = try TreeFixture(pageByteCount: pageByteCount)
    for _ in 0..<1200 {
      _ = try fixture.put(shape.key(&random), TreeModel.value(&random, pageByteCount: 4096))
    }
    return fixture
  }

  /// Reads everything that a page contains.
  ///
  /// An offset outside the page causes a trap.
  private func readAll(_ page: Bytes, _ scratch: MutableBytes, _ random: inout SeededGenerator) {
    guard page.load8(PageLayout.kind.offset) <= PageKind.branch.rawValue else { return }
    let node = NodeView(page)
    for index in 0..<node.count {
      let key = node.copyKey(index, to: scratch)
      if node.isLeaf {
        _ = node.value(index).copied()
        _ = node.isOverflow(index)
        #expect(NodeSearch.leafSlot(node, SearchKey(key)) == (index, true))
      } else {
        _ = node.child(index)
        if index > 0 { #expect(NodeSearch.childSlot(node, SearchKey(key)) == index) }
      }
    }
  }

  /// Applies `damage` to a copy of each page in turn.
  ///
  /// - Returns: How often the damage was detected.
  private func tryDamage(
    _ fixture: TreeFixture, rounds: Int, _ random: inout SeededGenerator,
    _ damage: (MutableBytes, inout SeededGenerator) -> Void
  ) throws -> (found: Int, unseen: Int) {
    let pageByteCount = fixture.view.pageByteCount
    let copy = ByteBlock(count: pageByteCount)
    let scratch = ByteBlock(count: Limits.maxKeyByteCount + 16)
    var found = 0
    var unseen = 0
    let pages = try fixture.livePages.sorted().filter { number in
      let reference = try fixture.view.page(number)
      defer { fixture.view.release(reference) }
      return reference.bytes.load8(PageLayout.kind.offset) <= PageKind.branch.rawValue
    }
    for round in 0..<rounds {
      let reference = try fixture.view.page(pages[round % pages.count])
      copy.bytes.copy(reference.bytes, to: 0)
      fixture.view.release(reference)
      damage(copy.bytes, &random)
      if NodeChecks.check(copy.bytes.bytes) == nil {
        readAll(copy.bytes.bytes, scratch.bytes, &random)
        unseen += 1
      } else {
        found += 1
      }
    }
    withExtendedLifetime((copy, scratch)) {}
    return (found, unseen)
  }

  private static let roundCount = TestScale.pick(quick: 1000, all: 2000)

  @Test(arguments: TreeModel.KeyShape.allCases, TestScale.some([UInt64(1), 2]))
  func `keeps accesses within the page for any flipped bits`(
    _ shape: TreeModel.KeyShape, _ seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try makeTree(shape, seed, pageByteCount: 4096)
    let result = try tryDamage(fixture, rounds: Self.roundCount, &random) { page, random in
      for _ in 0...random.next() % 3 {
        let offset = Int(random.next() % UInt64(random.next() % 2 == 0 ? 600 : page.count))
        let bit = UInt8(1) << UInt8(random.next() % 8)
        page.store8(page.bytes.load8(offset) ^ bit, offset)
      }
    }
    #expect(result.found > Self.roundCount / 20)
    #expect(result.unseen > Self.roundCount / 20)
  }

  @Test(arguments: TreeModel.KeyShape.allCases, TestScale.some([UInt64(3), 4]))
  func `keeps accesses within the page for any field value`(
    _ shape: TreeModel.KeyShape, _ seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try makeTree(shape, seed, pageByteCount: 4096)
    let values: [UInt16] = [
      0, 1, 2, 8, 9, 39, 40, 41, 960, 961, 4095, 4096, 0x7FFF, 0x8000, 0xFFFF,
    ]
    let result = try tryDamage(fixture, rounds: Self.roundCount, &random) { page, random in
      let value = values[Int(random.next() % UInt64(values.count))]
      let range = UInt64([26, 300, 2048][Int(random.next() % 3)])
      let offset = range == 26 ? 24 + Int(random.next() % 8) * 2 : Int(random.next() % range) * 2
      page.store16(value, min(offset, page.count - 2))
    }
    #expect(result.found > Self.roundCount / 20)
  }

  @Test(.evidence("B3"), arguments: [4096, 65536])
  func `rejects overlapping cells even if their total size fits`(pageByteCount: Int) throws {
    let fixture = try TreeFixture(pageByteCount: pageByteCount)
    for key in UInt8(1)...20 { _ = try fixture.put([key], [UInt8](repeating: key, count: 60)) }
    let page = try fixture.pages.writable(fixture.root.page)
    let node = NodeView(page.bytes)
    #expect(node.isLeaf && NodeChecks.check(page.bytes) == nil)
    let slots = node.heads + node.count * 8
    page.store16(UInt16(node.leafSlot(19)), slots + 4 * 2)
    #expect(NodeChecks.check(page.bytes) == "Two cells of the leaf overlap.")
  }

  @Test func `describes the fault`() throws {
    let fixture = try makeTree(.integers, 1, pageByteCount: 4096)
    let page = try fixture.pages.writable(fixture.root.page)
    let check = { NodeChecks.check(page.bytes) }
    #expect(check() == nil)
    page.store8(9, PageLayout.kind.offset)
    #expect(check() == "A page of this kind cannot be part of a tree.")
    page.store8(PageKind.leaf.rawValue, PageLayout.kind.offset)
    #expect(check() == "A leaf has a level above 0.")
    page.store8(PageKind.branch.rawValue, PageLayout.kind.offset)
    page.store16(0, NodeLayout.count.offset)
    #expect(check() == "A branch has no children.")
    page.store16(0xFFFF, NodeLayout.count.offset)
    #expect(check() == "The entries of the node do not fit between its prefix and its cells.")
  }
}

@Suite("The check of a tree")
struct TreeChecksTests {
  @Test(arguments: TestScale.some([UInt64(1), 2, 3, 4, 5, 6], every: 6))
  func `terminates on any damage, as does every other operation`(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<TestScale.pick(quick: 15, all: 40) {
      let fixture = try TreeFixture(pageByteCount: 4096)
      for _ in 0..<400 {
        _ = try fixture.put(
          TreeModel.KeyShape.mixedPrefixes.key(&random),
          TreeModel.value(&random, pageByteCount: 4096))
      }
      // Damage references and values in a way that leaves each page valid on its own.
      let pages = try fixture.livePages.sorted()
      for _ in 0...random.next() % 4 {
        let number = pages[Int(random.next() % UInt64(pages.count))]
        let page = try fixture.pages.writable(number)
        let node = NodeView(page.bytes)
        let kind = page.bytes.load8(PageLayout.kind.offset)
        if kind == PageKind.branch.rawValue, random.next() % 2 == 0 {
          let child = Int(random.next() % UInt64(node.count))
          let other = pages[Int(random.next() % UInt64(pages.count))]
          page.store32(other, node.heads + node.count * 8 + child * 4)
        }
        let original = page.bytes.copied()
        page.store8(UInt8(truncatingIfNeeded: random.next() % 7), 20 + Int(random.next() % 1000))
        if NodeChecks.check(page.bytes) != nil {
          original.withBytes { bytes in page.copy(bytes, to: 0) }
        }
      }
      var visited: Set<PageNumber> = []
      _ = TreeChecks(view: fixture.view, root: fixture.root) { visited.insert($0).inserted }
      _ = try? fixture.scan()
      for _ in 0..<300 {
        let key = TreeModel.KeyShape.mixedPrefixes.key(&random)
        _ = try? fixture.get(key)
        _ = try? fixture.put(key, [1])
        _ = try? fixture.delete(TreeModel.KeyShape.mixedPrefixes.key(&random))
      }
      #expect(fixture.pinnedCount == 0)
    }
  }

  @Test func `reports a page that is referred to twice`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    for number in 0..<500 {
      _ = try fixture.put(TreeModel.bigEndian(UInt64(number)), TreeModel.value(1, count: 50))
    }
    let root = try fixture.pages.writable(fixture.root.page)
    let node = NodeView(root.bytes)
    root.store32(node.child(1), node.heads + node.count * 8 + 8)
    var visited: Set<PageNumber> = []
    let checks = TreeChecks(view: fixture.view, root: fixture.root) { visited.insert($0).inserted }
    #expect(
      checks.findings == [
        "Page \(node.child(1)), a child of page \(fixture.root.page), "
          + "is referenced more than once."
      ])
    let cursor = fixture.cursor()
    #expect(throws: StorageError.self) {
      var isAtRow = try cursor.moveToFirst()
      while isAtRow { isAtRow = try cursor.moveToNext() }
    }
    withExtendedLifetime(fixture) {}
  }
}
