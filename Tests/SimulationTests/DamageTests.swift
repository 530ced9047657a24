import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Damages every file at every position: flips bits, and truncates, extends and replaces files.
@Suite("A store with damaged files")
struct DamageTests {
  /// Expects that the damage was detected, or that the store shows one of its newest commits.
  ///
  /// The last `lost` commits may be missing if nothing proves that they were durable.
  ///
  /// - Returns: `true` if the damage was detected.
  private func expectRightOrNoticed(
    _ outcome: WrittenStore.Outcome, _ sample: WrittenStore, _ context: String, lost: Int = 1
  ) -> Bool {
    switch outcome {
    case .right(let commit):
      #expect(commit >= sample.history.acknowledgedCount - lost, "\(context)")
      return false
    case .noticed:
      return true
    case .wrong(let what):
      Issue.record("\(context): \(what)")
      return false
    }
  }

  @Test func `has every kind of file and page before it is damaged`() throws {
    let sample = try WrittenStore(seed: 21)
    let last = sample.history.acknowledgedCount
    #expect(try sample.outcome(of: sample.files) == .right(commit: last))
    for name in ["pages", "map", "kept", "counters", "reserve"] {
      #expect(sample.files[name]?.isEmpty == false, "\(name)")
    }
    let segments = sample.files.filter { $0.key.hasPrefix("wal-") }
    #expect(segments.count > 1)
    let footer = 7 * WrittenStore.pageByteCount
    #expect(segments.values.contains { Array($0[footer..<footer + 4]) == Array("HWFT".utf8) })
  }

  /// Flips one bit in each byte, with bits 0 to 7 in turn.
  ///
  /// A short run skips many bytes.
  @Test(.evidence("B1"), .evidence("B2"), arguments: 0..<8)
  func `returns correct data or detects each flipped bit`(group: Int) throws {
    let sample = try WrittenStore(seed: 21)
    var generator = SeededGenerator(seed: UInt64(group))
    var (count, noticed) = (0, 0)
    for (name, bytes) in sample.files.sorted(by: { $0.key < $1.key }) where name != "reserve" {
      let few = TestScale.pick(quick: 32_768, all: 512, long: 24)
      var offset = group
      while offset < bytes.count {
        let context = "bit \(offset % 8) of byte \(offset) of \(name)"
        var files = sample.files
        files[name]?[offset] ^= UInt8(1 << (offset % 8))
        if expectRightOrNoticed(try sample.outcome(of: files), sample, context) { noticed += 1 }
        count += 1
        let isEmpty = sample.isEmptyPage(name, at: offset)
        offset += few * (isEmpty ? 64 : 1)
        if TestScale.current < .long { offset += generator.below(few) }
      }
    }
    print("flipped bits: \(count), of which \(noticed) were noticed (group \(group))")
    #expect(noticed > 0)
  }

  @Test(.evidence("B2"), .evidence("D10"))
  func `returns correct data or detects every truncated or extended file`() throws {
    let sample = try WrittenStore(seed: 22)
    var count = 0
    let last = sample.files.keys.filter {
      $0.hasPrefix("wal-") && !sample.isEmptyPage($0, at: WrittenStore.pageByteCount)
    }.max()
    for (name, bytes) in sample.files.sorted(by: { $0.key < $1.key }) where name != "reserve" {
      let step = WrittenStore.pageByteCount * TestScale.pick(quick: 72, all: 8, long: 1) / 8
      let isSmall = bytes.count < WrittenStore.pageByteCount
      let small = TestScale.pick(quick: 64, all: 8)
      for end in stride(from: 0, through: bytes.count, by: isSmall ? small : step) {
        for offset in [-1, 0, 1] where (0..<bytes.count).contains(end + offset) {
          var files = sample.files
          files[name] = Array(bytes.prefix(end + offset))
          let outcome = try sample.outcome(of: files)
          // Truncating the last segment also removes the durable watermarks that its commits
          // contain, so the result cannot be distinguished from that of a power cut.
          _ = expectRightOrNoticed(
            outcome, sample, "\(name) cut to \(end + offset) bytes", lost: name == last ? 5 : 1)
          count += 1
        }
      }
      for (extra, value) in [(1, 0), (1, 0xFF), (512, 0), (5000, 0xA5), (70_000, 0)] {
        var files = sample.files
        files[name] = bytes + [UInt8](repeating: UInt8(value), count: extra)
        let outcome = try sample.outcome(of: files)
        let context = "\(name) with \(extra) more bytes"
        let isNoticed = expectRightOrNoticed(outcome, sample, context)
        // An extended file must be rejected if it contains its own length. The page file and the
        // segments may be longer than necessary.
        #expect(isNoticed == (name == "map" || name == "kept"), "\(context): \(outcome)")
        count += 1
      }
    }
    print("files cut and extended: \(count)")
  }

  private enum Exchange: CaseIterable {
    case missing, empty, ofAnotherStore, ofAnEarlierCopy
  }

  @Test(.evidence("B2"), .evidence("D10"))
  func `shows one state or detects every replaced file`() throws {
    let sample = try WrittenStore(seed: 23)
    let other = try WrittenStore(seed: 24)
    let earlier = try earlierCopy(seed: 23)
    let names = Set(sample.files.keys).union(earlier.keys).union(other.files.keys).sorted()
    for exchange in Exchange.allCases {
      for name in names where !["reserve", "counters"].contains(name) {
        var files = sample.files
        switch exchange {
        case .missing: files[name] = nil
        case .empty: files[name] = []
        case .ofAnotherStore: files[name] = other.files[name]
        case .ofAnEarlierCopy: files[name] = earlier[name]
        }
        if files == sample.files { continue }
        let outcome = try sample.outcome(of: files)
        if case .wrong(let what) = outcome {
          Issue.record("\(name) \(exchange): \(what)")
        }
        // The page file is required, because it identifies the store to which the other files must
        // belong.
        if name == "pages", exchange == .missing || exchange == .ofAnotherStore {
          #expect(outcome == .noticed("corrupt"), "\(exchange)")
        }
      }
    }
    // If all files come from the earlier copy, they form a valid but older store.
    if case .right = try sample.outcome(of: earlier) {} else { Issue.record("the earlier copy") }
  }

  /// Returns the files of the sample as they were in the middle of its history.
  private func earlierCopy(seed: UInt64) throws -> [String: [UInt8]] {
    let run = CrashHistory(disk: SimulatedDisk(seed: seed), seed: seed)
    try run.run([
      .write(.full, operationCount: 60, valueByteCount: 500),
      .write(.full, operationCount: 3, valueByteCount: 9000), .checkpoint, .keep("x"),
      .write(.full, operationCount: 3, valueByteCount: 9000),
    ])
    run.abandon()
    var files: [String: [UInt8]] = [:]
    for name in try run.disk.list("/store") ?? [] where name != "locks" {
      files[name] = run.disk.bytes(of: "/store/" + name)
    }
    return files
  }

  @Test(.evidence("D12"), .evidence("B2"))
  func `needs one of its two header slots`() throws {
    let sample = try WrittenStore(seed: 25)
    let offsets = HeaderSlotLayout.offsets.map { Int($0) }
    for damaged in [[offsets[0]], [offsets[1]], offsets] {
      for length in [1, 512, HeaderSlotLayout.byteCount - 8] {
        var files = sample.files
        for offset in damaged {
          for position in offset + 8..<offset + 8 + length { files["pages"]?[position] ^= 0xFF }
        }
        let outcome = try sample.outcome(of: files)
        if damaged.count == 2 {
          #expect(outcome == .noticed("corrupt"))
        } else {
          _ = expectRightOrNoticed(outcome, sample, "slot at \(damaged), \(length) bytes")
        }
      }
    }
  }
}
