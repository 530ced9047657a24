import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// What a store makes of files that somebody changed.
///
/// Whole stores are written, changed in their files, and used: opened, read in full, verified,
/// written to. Half of the mutants have their hashes repaired, so that what is behind the hash is
/// reached too. The outcome is the right data or a `StorageError`; a trap or a wild read would end
/// the test process.
@Suite("A store with changed files")
struct MutationTests {
  private static let names = ["pages", "segments", "counters"]

  /// A store of all kinds of pages, some in the page file, some in the log; its files by name.
  private func files(pageSize: Int) throws -> (files: [String: [UInt8]], contents: [Content]) {
    let disk = SimulatedDisk(seed: 3)
    let run = CrashHistory(
      disk: disk, seed: 3, options: CrashHistory.options(pageSize: pageSize))
    try run.run([
      .write(.full, operationCount: 60, valueByteCount: 700),
      .write(.full, operationCount: 4, valueByteCount: 15_000), .checkpoint,
      .write(.full, operationCount: 30, valueByteCount: 300), .removeKeyspace,
      .write(.full, operationCount: 3, valueByteCount: 9000),
    ])
    run.abandon()
    var files: [String: [UInt8]] = [:]
    for name in try disk.list("/store") ?? [] {
      files[name] = disk.bytes(of: "/store/" + name)
    }
    return (files, run.contents)
  }

  private func disk(_ files: [String: [UInt8]]) throws -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 5)
    try disk.createDirectory("/store")
    for (name, bytes) in files {
      let file = try #require(try disk.open("/store/" + name, .create))
      try bytes.withBytes { bytes throws(StorageError) in
        if bytes.count > 0 { try file.write([bytes], at: 0) }
      }
    }
    return disk
  }

  @Test(.evidence("B1"), .evidence("B2"), .evidence("B3"), .evidence("D10"), arguments: 0..<8)
  func `gives the right data or says what is wrong`(group: Int) throws {
    let pageSize = group % 4 == 3 ? 16_384 : 4096
    let (files, contents) = try files(pageSize: pageSize)
    let count = SimulationScale.count(80, timesWhenLong: 10)
    var refused = 0
    for number in 0..<count {
      let seed = UInt64(group * 100_000 + number)
      var mutator = Mutator(seed: seed, files: files, pageSize: pageSize)
      let place = "seed \(seed): \(mutator.mutate())"
      if use(try disk(mutator.files), pageSize, contents, mutator.repairs, place) { refused += 1 }
    }
    print("mutants: \(count), of which \(refused) met an error (group \(group))")
    #expect(refused > 0)
  }

  /// Uses a store as a program would; true if it met an error.
  private func use(
    _ disk: SimulatedDisk, _ pageSize: Int, _ contents: [Content], _ repairs: Bool, _ place: String
  ) -> Bool {
    do {
      let store = try Store(
        at: "/store", options: CrashHistory.options(pageSize: pageSize), fileSystem: disk)
      let findings = try store.verify().findings
      var metError = !findings.isEmpty
      do {
        let snapshot = try store.snapshot()
        let content = try CrashHistory.content(of: snapshot)
        if !repairs {
          let number = try CrashHistory.number(of: snapshot)
          let isRight =
            number < contents.count && content == contents[number].filter { !$0.value.isEmpty }
          #expect(isRight, "\(place): wrong data")
        }
      } catch is StorageError {
        metError = true
      }
      do {
        for key in 0..<30 {
          try store.write { transaction in
            try transaction.keyspace("a").put(Int64(key), [UInt8](repeating: 7, count: 600))
            try transaction.keyspace("c").delete(Int64(key))
          }
        }
        try store.checkpoint()
      } catch is StorageError {
        metError = true
      }
      return metError
    } catch is StorageError {
      return true
    } catch {
      Issue.record("\(place): \(error)")
      return true
    }
  }

  @Test(.evidence("B2"))
  func `notices every flipped byte of a small page file it reads`() throws {
    let (files, contents) = try files(pageSize: 4096)
    let pages = try #require(files["pages"])
    let stride = SimulationScale.isLong ? 61 : 997
    for offset in Swift.stride(from: 0, to: pages.count, by: stride) {
      var changed = files
      changed["pages"]?[offset] ^= 0x20
      _ = use(try disk(changed), 4096, contents, false, "byte \(offset) of pages")
    }
  }
}
