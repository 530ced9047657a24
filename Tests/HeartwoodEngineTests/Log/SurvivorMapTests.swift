import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The file `map` as bytes: what was written, or an error.
@Suite("A map of what is left of the log")
struct SurvivorMapTests {
  private static let identity = StoreIdentity(high: 11, low: 0xABCD_EF01_2345_6789)

  private static func map(boundaryCount: UInt64 = 2, lineageCount: UInt64 = 1) -> SurvivorMap {
    SurvivorMap(
      serial: 4711, start: 10,
      boundaries: (1...boundaryCount).map {
        CommitPoint(
          frame: $0 * 200, digest: $0 << 40, lineage: 7, pageCount: PageNumber($0 + 8),
          time: $0 + 1_750_000_000_000)
      },
      lineages: (0..<lineageCount).map { EndedLineage(lineage: $0 + 5, end: $0 + 3) },
      survivors: [(11, 3), (50, 0), (120, 3)].map { SurvivorMap.Survivor(frame: $0, page: $1) })
  }

  private static func bytes(of map: SurvivorMap) -> [UInt8] {
    let block = map.encoded(for: identity)
    return withExtendedLifetime(block) { block.bytes.bytes.copied() }
  }

  private func decoded(
    _ bytes: [UInt8], of identity: StoreIdentity = Self.identity
  ) throws(StorageError) -> SurvivorMap {
    try bytes.withBytes { bytes throws(StorageError) in
      try SurvivorMap.decode(bytes, of: identity)
    }
  }

  /// The bytes of a map after a change, with the hash a liar would give them.
  private func forged(_ change: (MutableBytes) -> Void) -> [UInt8] {
    let block = Self.map().encoded(for: Self.identity)
    defer { block.keep() }
    change(block.bytes)
    let end = block.bytes.count - 8
    let hash = XXH64.hash(block.bytes.bytes.slice(0, end), seed: Self.identity.seed)
    block.bytes.store64(hash, end)
    return block.bytes.bytes.copied()
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
      #expect(error.file == SurvivorMap.name, "\(place)", sourceLocation: location)
    }
  }

  @Test(arguments: [1, 2, 300] as [UInt64]) func `says what was written`(count: UInt64) throws {
    let map = Self.map(boundaryCount: count, lineageCount: min(count, 64))
    #expect(try decoded(Self.bytes(of: map)) == map)
  }

  @Test(.evidence("B2")) func `is damaged when any byte of it has changed or is missing`() {
    let whole = Self.bytes(of: Self.map())
    for offset in whole.indices {
      var changed = whole
      changed[offset] ^= 0x10
      expectError(.corrupt, changed, "byte \(offset)")
      expectError(.corrupt, Array(whole.prefix(offset)), "\(offset) bytes")
    }
  }

  @Test(.evidence("B3")) func `belongs to one store`() {
    let bytes = Self.bytes(of: Self.map())
    let other = StoreIdentity(high: Self.identity.high + 1, low: Self.identity.low)
    expectError(.corrupt, bytes, of: other, "another store")
  }

  @Test(.evidence("B4")) func `of another version is named as such`() {
    expectError(
      .incompatibleFormat, forged { $0.store32(2, MapLayout.version.offset) }, "version 2")
  }

  @Test(.evidence("B3")) func `is damaged when what it counts is not there`() {
    for field in [MapLayout.boundaryCount, MapLayout.lineageCount, MapLayout.survivorCount] {
      for count: UInt32 in [0, 200, .max] {
        expectError(
          .corrupt, forged { $0.store32(count, field.offset) }, "\(count) as \(field.name)")
      }
    }
  }

  /// Counts that fit the length, and still make no map.
  @Test(.evidence("B3")) func `is damaged when it has no boundary or too many lineages`() {
    let bytes = forged {
      // Two boundaries of 40 bytes have the room of five lineages of 16.
      $0.store32(0, MapLayout.boundaryCount.offset)
      $0.store32(6, MapLayout.lineageCount.offset)
    }
    expectError(.corrupt, bytes, "no boundary")
    let block = Self.map(boundaryCount: 40, lineageCount: 0).encoded(for: Self.identity)
    defer { block.keep() }
    block.bytes.store32(2, MapLayout.boundaryCount.offset)
    block.bytes.store32(95, MapLayout.lineageCount.offset)
    let end = block.bytes.count - 8
    block.bytes.store64(
      XXH64.hash(block.bytes.bytes.slice(0, end), seed: Self.identity.seed), end)
    expectError(.corrupt, block.bytes.bytes.copied(), "95 lineages")
  }

  @Test(.evidence("B3")) func `is damaged when its rows are not in order`() {
    let second = MapLayout.rows + MapLayout.boundaryByteCount
    let survivors = second + MapLayout.boundaryByteCount + MapLayout.lineageByteCount
    let last = survivors + 2 * MapLayout.survivorByteCount
    let changes: [(String, UInt64, Int)] = [
      ("boundaries descend", 199, second), ("a boundary is there twice", 200, second),
      ("no log has such a frame", .max, second), ("survivors descend", 49, last),
      ("a survivor is there twice", 50, last), ("a survivor lies behind the end", 401, last),
      ("a survivor lies before the start", 10, survivors),
    ]
    for (place, frame, offset) in changes {
      expectError(.corrupt, forged { $0.store64(frame, offset) }, place)
    }
  }
}
