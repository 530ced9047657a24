import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The bytes of a file that is replaced whole, and what those who change them bring about.
struct WholeFileBytes: Sendable {
  static let identity = StoreIdentity(high: 11, low: 0xABCD_EF01_2345_6789)

  let file: WholeFile
  let bytes: [UInt8]
  private let identity: StoreIdentity

  init(_ file: WholeFile, _ bytes: [UInt8], of identity: StoreIdentity) {
    self.file = file
    self.bytes = bytes
    self.identity = identity
  }

  init(_ map: SurvivorMap) {
    let block = map.encoded(for: Self.identity)
    defer { block.keep() }
    self.init(SurvivorMap.file, block.bytes.bytes.copied(), of: Self.identity)
  }

  init(_ list: KeptGenerations) {
    let block = list.encoded(for: Self.identity)
    defer { block.keep() }
    self.init(KeptGenerations.file, block.bytes.bytes.copied(), of: Self.identity)
  }

  /// The bytes after a change, with the hash a liar would give them.
  func forged(_ change: (MutableBytes) -> Void) -> [UInt8] {
    let block = ByteBlock(count: bytes.count)
    defer { block.keep() }
    bytes.withBytes { block.bytes.copy($0, to: 0) }
    change(block.bytes)
    let end = bytes.count - WholeFileLayout.hashByteCount
    block.bytes.store64(XXH64.hash(block.bytes.bytes.slice(0, end), seed: identity.seed), end)
    return block.bytes.bytes.copied()
  }

  /// The map in these bytes.
  static func map(_ bytes: [UInt8]) throws(StorageError) -> SurvivorMap {
    try bytes.withBytes { bytes throws(StorageError) in
      try SurvivorMap.decode(bytes, of: identity)
    }
  }

  /// The list in these bytes.
  static func list(_ bytes: [UInt8]) throws(StorageError) -> KeptGenerations {
    try bytes.withBytes { bytes throws(StorageError) in
      try KeptGenerations.decode(bytes, of: identity)
    }
  }

  /// Expects that reading these bytes as such a file is refused.
  func expectError(
    _ kind: StorageError.Kind, _ bytes: [UInt8], _ place: String,
    _ location: SourceLocation = #_sourceLocation
  ) {
    do {
      if file.name == SurvivorMap.file.name {
        _ = try Self.map(bytes)
      } else {
        _ = try Self.list(bytes)
      }
      Issue.record("\(place): no error", sourceLocation: location)
    } catch {
      #expect(error.kind == kind, "\(place)", sourceLocation: location)
      #expect(error.file == file.name, "\(place)", sourceLocation: location)
    }
  }
}
