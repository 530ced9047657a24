import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The file `kept` as bytes: what was written, or an error.
@Suite("A list of kept generations")
struct KeptListTests {
  private static let identity = StoreIdentity(high: 11, low: 0xABCD_EF01_2345_6789)

  private static func list(_ names: [String]) -> KeptGenerations {
    var list = KeptGenerations()
    for (place, name) in names.enumerated() {
      list.rows[name] = KeptGenerations.Row(
        lineage: 7, generation: UInt64(place) + 20, time: 1_750_000_000_000)
    }
    return list
  }

  private static func bytes(of list: KeptGenerations) -> [UInt8] {
    let block = list.encoded(for: identity)
    return withExtendedLifetime(block) { block.bytes.bytes.copied() }
  }

  /// The bytes of a list after a change, with the hash a liar would give them.
  private func forged(_ names: [String], _ change: (MutableBytes) -> Void) -> [UInt8] {
    let block = Self.list(names).encoded(for: Self.identity)
    defer { block.keep() }
    change(block.bytes)
    let end = block.bytes.count - 8
    let hash = XXH64.hash(block.bytes.bytes.slice(0, end), seed: Self.identity.seed)
    block.bytes.store64(hash, end)
    return block.bytes.bytes.copied()
  }

  private func decoded(
    _ bytes: [UInt8], of identity: StoreIdentity = Self.identity
  ) throws(StorageError) -> KeptGenerations {
    try bytes.withBytes { bytes throws(StorageError) in
      try KeptGenerations.decode(bytes, of: identity)
    }
  }

  private func expectError(
    _ kind: StorageError.Kind, _ bytes: [UInt8], of identity: StoreIdentity = Self.identity,
    _ place: String, _ location: SourceLocation = #_sourceLocation
  ) {
    do {
      _ = try decoded(bytes, of: identity)
      Issue.record("\(place): no error", sourceLocation: location)
    } catch {
      #expect(error.kind == kind, "\(place)", sourceLocation: location)
      #expect(error.file == KeptGenerations.name, "\(place)", sourceLocation: location)
    }
  }

  @Test(
    arguments: [
      [], ["a"], ["before", "after", "é", String(repeating: "x", count: 255)],
    ] as [[String]])
  func `says what was written`(names: [String]) throws {
    let list = Self.list(names)
    #expect(try decoded(Self.bytes(of: list)) == list)
  }

  /// A pass that took a kept generation for forgotten would destroy it.
  @Test(.evidence("K1"), .evidence("B2"))
  func `is damaged when any byte of it has changed or is missing`() {
    let whole = Self.bytes(of: Self.list(["a", "before an upgrade"]))
    for offset in whole.indices {
      var changed = whole
      changed[offset] ^= 0x10
      expectError(.corrupt, changed, "byte \(offset)")
      expectError(.corrupt, Array(whole.prefix(offset)), "\(offset) bytes")
    }
  }

  @Test(.evidence("B3")) func `belongs to one store`() {
    let other = StoreIdentity(high: Self.identity.high + 1, low: Self.identity.low)
    expectError(.corrupt, Self.bytes(of: Self.list(["a"])), of: other, "another store")
  }

  @Test(.evidence("B4")) func `of another version is named as such`() {
    expectError(
      .incompatibleFormat, forged(["a"]) { $0.store32(2, KeptLayout.version.offset) }, "version 2")
  }

  @Test(.evidence("B3")) func `is damaged when what it counts is not there`() {
    for count: UInt32 in [0, 1, 3, .max] {
      let bytes = forged(["a", "b"]) { $0.store32(count, KeptLayout.rowCount.offset) }
      expectError(.corrupt, bytes, "\(count) rows")
    }
    for count: UInt32 in [0, 9, 256, .max] {
      let bytes = forged(["a"]) {
        $0.store32(count, KeptLayout.rows + KeptLayout.nameByteCount.offset)
      }
      expectError(.corrupt, bytes, "\(count) bytes in a name")
    }
  }

  @Test(.evidence("B3")) func `is damaged when a row makes no sense`() {
    let generation = forged(["a"]) {
      $0.store64(.max, KeptLayout.rows + KeptLayout.generation.offset)
    }
    expectError(.corrupt, generation, "no log has such a frame")
    let name = forged(["a"]) { $0.store8(0xFF, KeptLayout.rows + KeptLayout.rowName) }
    expectError(.corrupt, name, "no UTF-8")
  }
}
