import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Compares the computed difference of two states with the result of checking every page.
@Suite("The difference of two states")
struct PageDifferenceTests {
  private struct Version {
    let state: GenerationState
    let used: Set<PageNumber>
  }

  private func take(_ fixture: TreeFixture) throws -> PageNumber {
    let page = try fixture.pages.allocate(.overflow, tree: TreeFixture.tree, level: 0)
    // Turn the page into an overflow page that is valid enough to be read again.
    try fixture.pages.writable(page).store32(1, OverflowLayout.payloadCount.offset)
    return page
  }

  /// Allocates, frees and changes some pages, and returns the resulting state.
  private func change(
    _ fixture: TreeFixture, _ random: inout SeededGenerator
  ) throws -> Version {
    var used = try fixture.livePages.subtracting([fixture.root.page]).sorted()
    for _ in 0..<random.below(60) {
      if used.isEmpty || random.isTrue(in256: 100) {
        used.append(try take(fixture))
      } else {
        let position = random.below(used.count)
        if random.isTrue(in256: 128) {
          try fixture.pages.free(used.remove(at: position))
        } else {
          _ = try fixture.pages.writable(used[position])
        }
      }
    }
    try fixture.beginTransaction()
    return Version(state: fixture.pages.state, used: try fixture.livePages)
  }

  @Test(arguments: TestScale.seeds(quick: 2, all: 8))
  func `contains the pages written and freed between them`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try TreeFixture(pageByteCount: 4096)
    var versions = [Version(state: fixture.pages.state, used: [])]
    for _ in 0..<20 { versions.append(try change(fixture, &random)) }
    for (position, older) in versions.enumerated() {
      for newer in versions[position...] {
        let changed = Set(
          older.used.union(newer.used).filter {
            newer.state.index.frame(of: $0) > older.state.generation
          })
        let difference = try PageDifference(from: older.state, to: newer.state)
        let written = newer.used.intersection(changed)
        let replaced = older.used.intersection(changed.union(older.used.subtracting(newer.used)))
        #expect(difference.written == written.sorted(), "seed \(seed)")
        #expect(difference.replaced == replaced.sorted(), "seed \(seed)")
      }
    }
    #expect(fixture.pinnedCount == 0)
  }

  @Test func `contains every page of a state whose bitmaps were removed`() throws {
    var random = SeededGenerator(seed: 1)
    let fixture = try TreeFixture(pageByteCount: 4096)
    let older = try change(fixture, &random)
    var point = older.state.point
    point.frame += 1
    point.pageCount = 0
    let newer = try GenerationState(
      point: point, index: older.state.index, segments: older.state.segments,
      files: older.state.files)
    let difference = try PageDifference(from: older.state, to: newer)
    #expect(difference.written == [])
    #expect(difference.replaced == older.used.sorted())
  }
}
