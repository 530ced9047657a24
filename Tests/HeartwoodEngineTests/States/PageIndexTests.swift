import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

/// Tests the persistent index that maps pages to frames.
@Suite("A page index")
struct PageIndexTests {
  /// Returns a random page number from one of several distributions.
  private func page(_ random: inout SeededGenerator) -> PageNumber {
    let number = UInt32(truncatingIfNeeded: random.next())
    switch random.below(6) {
    case 0: return number % 64
    case 1: return number % 5000
    case 2: return number % (1 << 20)
    case 3: return PageNumber.max - 1 - number % 70
    case 4: return 1 << (number % 32)
    default: return min(number, .max - 1)
    }
  }

  private func entries(_ index: PageIndex) -> [PageNumber: FrameNumber] {
    var entries: [PageNumber: FrameNumber] = [:]
    var last: PageNumber?
    index.forEach { page, frame in
      if let last { #expect(last < page, "out of order") }
      last = page
      entries[page] = frame
    }
    return entries
  }

  @Test(arguments: TestScale.seeds(quick: 2, all: 20))
  func `has the same contents as a dictionary`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let index = PageIndex()
    var model: [PageNumber: FrameNumber] = [:]
    for _ in 0..<800 {
      let page = page(&random)
      let frame = random.next() >> 8 | 1
      index.set(page, to: frame)
      model[page] = frame
    }
    #expect(entries(index) == model, "seed \(seed)")
    for _ in 0..<2000 {
      let page = page(&random)
      guard index.frame(of: page) != model[page] ?? 0 else { continue }
      Issue.record("page \(page), seed \(seed)")
    }
  }

  @Test func `is empty at first`() {
    let index = PageIndex()
    #expect(entries(index).isEmpty)
    for page: PageNumber in [0, 1, 63, 64, 4096, .max - 1, .max] {
      #expect(index.frame(of: page) == 0)
    }
    #expect(entries(PageIndex(sharing: index)).isEmpty)
  }

  @Test func `reaches every page number a store can have`() {
    let pages: [PageNumber] = [
      0, 63, 64, 4095, 4096, 262_143, 262_144, 1 << 24, 1 << 30, 1 << 31, .max - 1,
    ]
    // Insert the pages once in ascending and once in descending order.
    for order in [pages, Array(pages.reversed())] {
      let index = PageIndex()
      for page in order { index.set(page, to: UInt64(page) + 5) }
      let expected = Dictionary(uniqueKeysWithValues: pages.map { ($0, UInt64($0) + 5) })
      #expect(entries(index) == expected)
      for page in pages {
        #expect(index.frame(of: page + 1) == (pages.contains(page + 1) ? UInt64(page) + 6 : 0))
      }
    }
  }

  @Test(.evidence("I1"), arguments: TestScale.seeds(quick: 3, all: 10))
  func `leaves older versions unchanged`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var versions: [(index: PageIndex, model: [PageNumber: FrameNumber])] = []
    var model: [PageNumber: FrameNumber] = [:]
    for number in 0..<60 {
      // Base the new version on the newest version or, less often, on the previous version.
      let old = versions.isEmpty ? nil : versions[max(0, versions.count - 1 - random.below(2))]
      let index = old.map { PageIndex(sharing: $0.index) } ?? PageIndex()
      model = old?.model ?? [:]
      for _ in 0..<random.below(40) {
        let page = page(&random)
        let frame = UInt64(number * 1000 + random.below(1000) + 1)
        index.set(page, to: frame)
        model[page] = frame
      }
      versions.append((index, model))
      if random.isTrue(in256: 60) { versions.remove(at: random.below(versions.count)) }
      if versions.isEmpty { continue }
    }
    for (index, model) in versions { #expect(entries(index) == model, "seed \(seed)") }
  }

  @Test func `copies few nodes for a small change`() {
    let index = PageIndex()
    for page in 0..<50_000 as Range<PageNumber> { index.set(page, to: UInt64(page) + 1) }
    let next = PageIndex(sharing: index)
    let before = probe(next, from: 0..<50_000)
    next.set(40_000, to: 7)
    #expect(next.frame(of: 40_000) == 7)
    #expect(index.frame(of: 40_000) == 40_001)
    #expect(probe(index, from: 0..<50_000) == before)
  }

  private func probe(_ index: PageIndex, from pages: Range<PageNumber>) -> UInt64 {
    pages.reduce(0) { $0 &* 31 &+ index.frame(of: $1) }
  }

  @Test(arguments: TestScale.seeds(quick: 3, all: 10))
  func `finds the entries above a frame in any version`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var versions = [PageIndex()]
    var models: [[PageNumber: FrameNumber]] = [[:]]
    for _ in 0..<60 {
      let position = random.below(versions.count)
      let index = PageIndex(sharing: versions[position])
      var model = models[position]
      // Insert few or many entries. Some of them replace a page's frame with a lower one.
      for _ in 0..<random.below(random.isTrue(in256: 30) ? 400 : 20) {
        let page = page(&random)
        let frame = UInt64(random.below(10_000) + 1)
        index.set(page, to: frame)
        model[page] = frame
      }
      versions.append(index)
      models.append(model)
    }
    for (index, model) in zip(versions, models) {
      for limit in [0, 1, 5000, 9900, 9999, 10_000, UInt64(random.below(10_000))] {
        var found: [PageNumber: FrameNumber] = [:]
        var last: PageNumber?
        index.forEach(newerThan: limit) { page, frame in
          if let last { #expect(last < page, "out of order") }
          last = page
          found[page] = frame
        }
        #expect(found == model.filter { $0.value > limit }, "above \(limit), seed \(seed)")
      }
    }
  }

  // Use a separate process, because other tests in this process create and free nodes all the time.
  @Test(.spawning) func `uses memory in proportion to its entries`() async {
    await #expect(processExitsWith: .success) {
      let start = PageIndex.liveByteCount.load(ordering: .relaxed)
      func byteCount(_ count: Int, stride: Int) -> Int {
        let index = PageIndex()
        for page in 0..<count { index.set(PageNumber(page * stride), to: UInt64(page) + 1) }
        defer { withExtendedLifetime(index) {} }
        return PageIndex.liveByteCount.load(ordering: .relaxed) - start
      }
      let count = TestScale.pick(quick: 1 << 16, all: 1 << 18)
      for (stride, most) in [(64, 65), (16, 17), (3, 14), (1, 9)] {
        #expect(byteCount(count, stride: stride) <= count * most)
      }
      #expect(PageIndex.liveByteCount.load(ordering: .relaxed) == start)
    }
  }

  // Use a separate process, because other tests in this process create and free nodes all the time.
  @Test(.spawning) func `shows its memory in the statistics of a store`() async {
    await #expect(processExitsWith: .success) {
      try StoreFixture.inMemory().run { store in
        let start = store.statistics.indexByteCount
        try store.write { try $0.keyspace("rows").put(1, [UInt8](repeating: 1, count: 200 << 10)) }
        #expect(store.statistics.indexByteCount > start)
        let live = PageIndex.liveByteCount.load(ordering: .relaxed)
        #expect(store.statistics.indexByteCount == live)
      }
    }
  }

  // Use a separate process, because other tests in this process create and free nodes all the time.
  @Test(.spawning) func `frees its nodes with the last version that has them`() async {
    await #expect(processExitsWith: .success) {
      let start = PageIndex.liveNodeCount.load(ordering: .relaxed)
      let startBytes = PageIndex.liveByteCount.load(ordering: .relaxed)
      for seed in 0..<5 as Range<UInt64> {
        var random = SeededGenerator(seed: seed)
        var versions = [PageIndex()]
        for _ in 0..<300 {
          let index = PageIndex(sharing: versions[random.below(versions.count)])
          for _ in 0..<random.below(20) {
            let page = PageNumber(truncatingIfNeeded: random.next() >> UInt64(random.below(40)))
            index.set(min(page, .max - 1), to: random.next() | 1)
          }
          versions.append(index)
          if versions.count > 10 { versions.remove(at: random.below(versions.count)) }
        }
        let most = PageIndex.liveNodeCount.load(ordering: .relaxed)
        withExtendedLifetime(versions) {}
        versions = []
        #expect(most > start)
        #expect(PageIndex.liveNodeCount.load(ordering: .relaxed) == start, "seed \(seed)")
        #expect(PageIndex.liveByteCount.load(ordering: .relaxed) == startBytes, "seed \(seed)")
      }
    }
  }
}
