import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("Estimates of the entry count of a range")
struct KeyspaceEstimateTests {
  private func check(_ count: Int, bound: Double, _ keyspace: KeyspaceReader) throws {
    for (lower, upper) in [(0, count), (count / 4, count / 2), (count / 3, count), (7, 60)] {
      let estimate = try keyspace.estimatedCount(from: Key(lower), upTo: Key(upper))
      let exact = upper - lower
      #expect(
        Double(abs(estimate - exact)) <= bound * Double(exact) + 1,
        "\(lower)..<\(upper): \(estimate)")
    }
    #expect(try keyspace.estimatedCount(from: Key(5), upTo: Key(5)) == 0)
    #expect(try keyspace.estimatedCount(from: Key(9), upTo: Key(5)) == 0)
    #expect(try keyspace.estimatedCount(from: Key(count)) == 0)
    #expect(try keyspace.estimatedCount(upTo: Key(0)) == 0)
    #expect(try keyspace.estimatedCount() == count)
    try checkExactCounts(count, keyspace)
  }

  /// Compares exact counts with the expected counts.
  ///
  /// The keys are 0 to `count` - 1.
  private func checkExactCounts(_ count: Int, _ keyspace: KeyspaceReader) throws {
    var random = SeededGenerator(seed: UInt64(count))
    let edges: [Int?] = [nil, -1, 0, 1, count - 1, count, count + 1]
    let others: [Int?] = (0..<40).map { _ in random.below(count) }
    for lower in edges + others {
      for upper in edges + others.prefix(10) {
        let found = try keyspace.count(
          from: lower.map { Key($0) }, upTo: upper.map { Key($0) })
        let first = min(max(lower ?? 0, 0), count)
        let end = min(max(upper ?? count, 0), count)
        let all = max(end - first, 0)
        #expect(found == all, "\(lower ?? -9)..<\(upper ?? -9)")
        let limit = [-1, 0, 1, all, all + 1, random.below(count)][random.below(6)]
        let limited = try keyspace.count(
          from: lower.map { Key($0) }, upTo: upper.map { Key($0) }, limit: limit)
        #expect(
          limited == min(all, max(limit, 0)), "\(lower ?? -9)..<\(upper ?? -9), limit \(limit)")
      }
    }
  }

  @Test func `are exact within a leaf and close over many, in snapshots and transactions`() throws {
    let many = TestScale.pick(quick: 30_000, all: 100_000)
    try StoreFixture.inMemory().run { store in
      for (name, count) in [("one leaf", 100), ("many leaves", many)] {
        try store.write { transaction in
          let keyspace = try transaction.keyspace(name)
          // Insert the keys in scattered order, so that the nodes are filled unevenly.
          for number in 0..<count { try keyspace.put(number * 7919 % count, [1, 2, 3]) }
          let estimate = try keyspace.estimatedCount(from: Key(10), upTo: Key(60))
          #expect(estimate == 50)
        }
        let snapshot = try store.snapshot()
        let keyspace = try #require(try snapshot.keyspace(name))
        try check(count, bound: count == 100 ? 0 : 0.4, keyspace)
      }
    }
  }

  @Test func `are exact for a range from within the last leaf to the end`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try keyspace.load(sorted: (0..<1000).map { (Key($0), [1, 2, 3]) })
        let estimates = try (990...1001).map { try keyspace.estimatedCount(from: Key($0)) }
        #expect(estimates == (0...10).reversed() + [0])
      }
    }
  }

  @Test func `are 0 for an empty keyspace`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        let count = try transaction.keyspace("empty").estimatedCount()
        #expect(count == 0)
      }
    }
  }
}
