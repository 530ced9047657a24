import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

/// Writers on threads of their own, and a power cut at the moment each commit is acknowledged.
@Suite("Acknowledged commits of several writers")
struct AcknowledgementTests {
  /// Commits that share a sync are acknowledged after it, and never before an older one is durable.
  @Test(.evidence("D1"), .evidence("I3"), arguments: 0..<4 as Range<UInt64>)
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
