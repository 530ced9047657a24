import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests processes that commit to a store while it is deleted, moved or replaced.
///
/// A process must report that its store is no longer at the path. It must not write to the store
/// that is now at the path. That store must remain complete and unchanged.
@Suite("A store displaced under several processes", .serialized, .waiting)
struct DisplacedStoreTests {
  enum Change: String, CaseIterable, Sendable {
    case deleted, replacedByNewStore, restoredFromCopy, restoredInPlace
  }

  private static let processCount = 3
  private let files = FileManager.default
  private let campaign: ProcessCampaign
  private var path: String { campaign.directory.path(of: "store") }
  private var copy: String { campaign.directory.path(of: "copy") }

  init() throws {
    campaign = try ProcessCampaign(seed: 5)
    let store = try Store(at: campaign.directory.path(of: "store"))
    try store.write { try $0.keyspace("k").put(1, [1]) }
    try store.copy(store.snapshot(), to: campaign.directory.path(of: "copy"))
    try store.close()
  }

  private func start() throws {
    for index in 0..<Self.processCount {
      try campaign.add(.displaced, index) { $0.isMapped = index != 1 }
    }
    try wait(for: .acknowledged, 20)
  }

  /// Waits until each process has added at least `count` more records of the given kind.
  private func wait(for kind: Ledger.Kind, _ count: Int) throws {
    func counts() -> [Int] {
      campaign.ledgers(.displaced).map { $0.records.count { $0.kind == kind } }
    }
    let wanted = counts().map { $0 + count }
    let end = Date(timeIntervalSinceNow: ProcessCampaign.seconds)
    while Date() < end {
      if zip(counts(), wanted).allSatisfy({ $0 >= $1 }) { return }
      usleep(2000)
    }
    throw SharedContent.Violation("\(kind): \(counts()), not \(wanted)")
  }

  private func makeNewStore() throws {
    let store = try Store(at: path)
    try store.write { try $0.keyspace("new").put(1, [9]) }
    try store.close()
  }

  private func apply(_ change: Change) throws {
    switch change {
    case .deleted:
      try removeStore()
    case .replacedByNewStore:
      try removeStore()
      try makeNewStore()
    case .restoredFromCopy:
      try removeStore()
      try files.copyItem(atPath: copy, toPath: path)
    case .restoredInPlace:
      let names = try files.contentsOfDirectory(atPath: copy)
      for name in names.filter({ $0 == "pages" || $0 == "locks" }) { try replace(name) }
      for name in try files.contentsOfDirectory(atPath: path)
      where name != "pages" && name != "locks" {
        try files.removeItem(atPath: path + "/" + name)
      }
      for name in names where name != "pages" && name != "locks" { try replace(name) }
    }
  }

  /// Removes the store's directory.
  ///
  /// The removal fails if a process that has the store open creates a file at the same time. This
  /// method then repeats the removal.
  private func removeStore() throws {
    for _ in 0..<100 {
      do { return try files.removeItem(atPath: path) } catch { Thread.sleep(forTimeInterval: 0.01) }
    }
    try files.removeItem(atPath: path)
  }

  /// Replaces a file of the store with the same file of the copy, like a program that restores a
  /// backup.
  private func replace(_ name: String) throws {
    try files.copyItem(atPath: copy + "/" + name, toPath: copy + "/restored")
    guard rename(copy + "/restored", path + "/" + name) == 0 else {
      throw StorageError(.io, "The file could not be replaced.", file: name, errno: errno)
    }
  }

  /// Returns the bytes of all files at the path, or an empty dictionary if the store was deleted.
  private func bytes() throws -> [String: Data] {
    guard files.fileExists(atPath: path) else { return [:] }
    var found: [String: Data] = [:]
    for name in try files.contentsOfDirectory(atPath: path) {
      found[name] = try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
    }
    return found
  }

  @Test(.evidence("D17"), arguments: Change.allCases)
  func `is written by none of them`(change: Change) throws {
    try start()
    try apply(change)
    let before = try bytes()
    try wait(for: .refused, 20)
    try campaign.finish()
    for (index, records) in campaign.ledgers(.displaced) {
      let refused = records.firstIndex { $0.kind == .refused } ?? 0
      #expect(records[refused...].allSatisfy { $0.kind == .refused }, "process \(index)")
    }
    #expect(try bytes() == before)
    guard change != .deleted else { return }
    let store = try Store(at: path)
    let snapshot = try store.snapshot()
    #expect(try snapshot.keyspaceNames == [change == .replacedByNewStore ? "new" : "k"])
    #expect(try store.verify().findings == [])
    try store.close()
  }

  @Test(.evidence("D17")) func `continues in all of them after it is moved`() throws {
    try start()
    let moved = campaign.directory.path(of: "moved")
    try files.moveItem(atPath: path, toPath: moved)
    try makeNewStore()
    let before = try bytes()
    try wait(for: .acknowledged, 200)
    try campaign.finish()
    #expect(try bytes() == before)
    let store = try Store(at: moved)
    let own = try #require(try store.snapshot().keyspace("own"))
    for (index, records) in campaign.ledgers(.displaced) {
      #expect(records.allSatisfy { $0.kind != .refused }, "process \(index)")
      let last = try #require(records.last { $0.kind == .acknowledged }).number
      #expect(try own.get(index) == Array("\(last)".utf8), "process \(index)")
    }
    #expect(try store.verify().findings == [])
    try store.close()
  }
}
