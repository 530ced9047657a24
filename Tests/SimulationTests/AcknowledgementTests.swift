import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

/// Cuts the power whenever one of several writer threads has acknowledged a commit.
@Suite("Acknowledged commits of several writers")
struct AcknowledgementTests {
  /// A commit that shares a sync may be acknowledged only after this sync, and only when all older
  /// commits are durable.
  @Test(.evidence("D1"), .evidence("I3"), arguments: TestScale.seeds(quick: 2, all: 4))
  func `survive a power cut with all commits before them`(seed: UInt64) throws {
    let disk = SimulatedDisk(seed: seed)
    var options = CrashHistory.options()
    options.busyTimeout = .seconds(60)
    let store = try Store(at: "/store", options: options, fileSystem: disk)
    let findings = Mutex<[String]>([])
    let group = DispatchGroup()
    for writer in 0..<4 {
      group.enter()
      Thread.detachNewThread {
        defer { group.leave() }
        do {
          for number in 0..<8 {
            let durability: StoreOptions.Durability = (writer + number) % 3 == 0 ? .normal : .full
            var count = 0
            try store.write(durability: durability) { transaction in
              let log = try transaction.keyspace("log")
              count = try log.count() + 1
              try log.put(count, [UInt8(writer), UInt8(number)])
            }
            guard durability == .full else { continue }
            let cut = try Store(
              at: "/store", options: CrashHistory.options(), fileSystem: disk.crashed(.nothing))
            let found = try cut.snapshot().keyspace("log")?.count() ?? 0
            if found < count { findings.withLock { $0.append("\(count) acknowledged, \(found)") } }
            let faults = try cut.verify().findings
            findings.withLock { $0 += faults }
          }
        } catch {
          findings.withLock { $0.append("\(error)") }
        }
      }
    }
    group.wait()
    #expect(findings.withLock { $0 } == [], "seed \(seed)")
    #expect(try store.snapshot().keyspace("log")?.count() == 32)
    try StoreFixture.expectSound(store)
  }
}
