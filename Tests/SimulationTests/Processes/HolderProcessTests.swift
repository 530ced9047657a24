import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the information that real processes obtain about each other.
@Suite("Processes that hold a store or a generation", .serialized, .waiting)
struct HolderProcessTests {
  /// Repeats a query until its result is `expected` or a minute has passed, and returns the last
  /// result.
  ///
  /// Processes publish what they hold only after a delay.
  private func stable<T: Equatable>(on expected: T, _ ask: () throws -> T) throws -> T {
    for _ in 0..<3000 {
      if try ask() == expected { break }
      usleep(20_000)
    }
    return try ask()
  }

  private func waitForAll(_ campaign: ProcessCampaign, _ count: Int) {
    while campaign.count(.opened, .holder) < count { usleep(2000) }
  }

  @Test(.evidence("I15"))
  func `are listed, with what they hold, until they end`() throws {
    let campaign = try ProcessCampaign(seed: 11)
    let store = try Store(at: campaign.directory.path(of: "store"))
    let held = try store.write { try $0.keyspace("k").put(1, [1]) }
    try campaign.add(.holder, 0) { $0.name = "importer" }
    try campaign.add(.holder, 1) { $0.name = "forgotten" }
    try campaign.add(.holder, 2) { assignment in
      assignment.name = "report"
      assignment.isReadOnly = true
    }
    waitForAll(campaign, 3)
    try store.write { try $0.keyspace("k").put(2, [2]) }
    let numbers = campaign.processNumbers
    // A read-only process cannot publish its name, so expect the system's name for its program.
    let names = ["importer", "forgotten", "heartwood-worker"]
    let expected = Dictionary(uniqueKeysWithValues: zip(numbers, names))
    func others(_ holders: [StoreHolder]) -> [Int32: String] {
      Dictionary(
        uniqueKeysWithValues: holders.filter { !$0.isThisProcess }.map {
          ($0.processID, $0.name ?? "?")
        })
    }
    #expect(others(try store.holders()) == expected)
    let readers = try store.holders().filter(\.isReadOnly)
    #expect(readers.map(\.processID) == [numbers[2]])
    #expect(readers.allSatisfy { $0.age == nil })
    func holders() throws -> [Int32: String] {
      let live = try store.liveGenerations().first { $0.generation == held }
      return others(live?.holders ?? [])
    }
    #expect(try stable(on: expected, holders) == expected)
    campaign.end(1)
    var rest = expected
    rest[numbers[1]] = nil
    #expect(others(try store.holders()) == rest)
    #expect(try holders() == rest)
    try campaign.finish()
    #expect(try store.holders().map(\.isThisProcess) == [true])
    #expect(try holders().isEmpty)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test(.evidence("I16")) func `are named to writers that they block`() throws {
    let campaign = try ProcessCampaign(seed: 12)
    try campaign.add(.holder, 0) { assignment in
      assignment.name = "importer"
      assignment.staysWriter = true
    }
    waitForAll(campaign, 1)
    var options = StoreOptions()
    options.busyTimeout = .milliseconds(50)
    let store = try Store(at: campaign.directory.path(of: "store"), options: options)
    let error = #expect(throws: StorageError.self) {
      try store.write { try $0.keyspace("k").put(1, [1]) }
    }
    #expect(error?.kind == .busy)
    let number = campaign.processNumbers[0]
    let holder = ": process \(number) (importer) has been writing for "
    #expect(error?.message.contains(holder) == true, "\(error)")
    campaign.end(0)
    try store.write { try $0.keyspace("k").put(1, [1]) }
    try StoreFixture.expectSound(store)
    try store.close()
  }
}
