import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The bytes of a file that is always replaced atomically, for tests that change and decode them.
struct AtomicFileBytes: Sendable {
  static let identity = StoreIdentity(high: 11, low: 0xABCD_EF01_2345_6789)

  let file: AtomicFile
  let bytes: [UInt8]
  private let identity: StoreIdentity

  init(_ file: AtomicFile, _ bytes: [UInt8], of identity: StoreIdentity) {
    self.file = file
    self.bytes = bytes
    self.identity = identity
  }

  init(_ map: RetainedFrameMap) {
    let block = map.encoded(for: Self.identity)
    defer { block.keep() }
    self.init(RetainedFrameMap.file, block.bytes.bytes.copied(), of: Self.identity)
  }

  init(_ list: NamedGenerations) {
    let block = list.encoded(for: Self.identity)
    defer { block.keep() }
    self.init(NamedGenerations.file, block.bytes.bytes.copied(), of: Self.identity)
  }

  /// Returns the bytes after the given change, with a recomputed hash.
  func forged(_ change: (MutableBytes) -> Void) -> [UInt8] {
    let block = ByteBlock(count: bytes.count)
    defer { block.keep() }
    bytes.withBytes { block.bytes.copy($0, to: 0) }
    change(block.bytes)
    let end = bytes.count - AtomicFileLayout.hashByteCount
    block.bytes.store64(XXH64.hash(block.bytes.bytes.slice(0, end), seed: identity.seed), end)
    return block.bytes.bytes.copied()
  }

  /// Decodes the bytes as a map.
  static func map(_ bytes: [UInt8]) throws(StorageError) -> RetainedFrameMap {
    try bytes.withBytes { bytes throws(StorageError) in
      try RetainedFrameMap.decode(bytes, of: identity)
    }
  }

  /// Decodes the bytes as a list of named generations.
  static func list(_ bytes: [UInt8]) throws(StorageError) -> NamedGenerations {
    try bytes.withBytes { bytes throws(StorageError) in
      try NamedGenerations.decode(bytes, of: identity)
    }
  }

  /// Expects an error of the given kind when `bytes` are decoded.
  func expectError(
    _ kind: StorageError.Kind, _ bytes: [UInt8], _ context: String,
    _ location: SourceLocation = #_sourceLocation
  ) {
    do {
      if file.name == RetainedFrameMap.file.name {
        _ = try Self.map(bytes)
      } else {
        _ = try Self.list(bytes)
      }
      Issue.record("\(context): no error", sourceLocation: location)
    } catch {
      #expect(error.kind == kind, "\(context)", sourceLocation: location)
      #expect(error.file == file.name, "\(context)", sourceLocation: location)
    }
  }
}
