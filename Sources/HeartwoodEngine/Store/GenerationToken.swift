/// A token that identifies one generation of one store.
///
/// A token can be passed to another thread or process, or saved in a file.
///
/// A token does not keep its generation readable. Hold a snapshot of the generation until the
/// recipient has its own snapshot, or keep the generation under a name. The text of a token
/// contains no spaces and can be passed on a command line.
public struct GenerationToken: Hashable, Sendable {
  package let store: StoreIdentity
  private let lineage: UInt64
  private let digest: UInt64
  /// The generation that the token identifies.
  public let generation: Generation

  fileprivate init(store: StoreIdentity, point: CommitPoint) {
    self.store = store
    lineage = point.lineage
    digest = point.digest
    generation = Generation(frame: point.frame)
  }

  /// Returns whether the token belongs to the store with the given identity.
  ///
  /// A copy of the store's files has the same identity.
  fileprivate func names(_ store: StoreIdentity) -> Bool { self.store == store }

  fileprivate func names(_ point: CommitPoint) -> Bool {
    lineage == point.lineage && digest == point.digest && generation.frame == point.frame
  }
}

extension GenerationToken: LosslessStringConvertible {
  /// The token as text.
  ///
  /// The text contains the two halves of the store's identity, the lineage and the digest in
  /// hexadecimal, followed by the generation in decimal. Periods separate these five numbers.
  public var description: String {
    let words = [store.high, store.low, lineage, digest]
    return words.map { String($0, radix: 16) }.joined(separator: ".") + ".\(generation.frame)"
  }

  /// Creates a token from its text, or returns `nil` if the text does not represent a token.
  public init?(_ description: String) {
    let parts = description.split(separator: ".", omittingEmptySubsequences: false)
    let words = parts.prefix(4).compactMap { UInt64($0, radix: 16) }
    guard parts.count == 5, words.count == 4, let frame = UInt64(parts[4]) else { return nil }
    store = StoreIdentity(high: words[0], low: words[1])
    lineage = words[2]
    digest = words[3]
    generation = Generation(frame: frame)
  }
}

extension GenerationToken: Codable {
  /// Creates a token by decoding its text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let token = GenerationToken(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "The text is not a valid generation token.")
    }
    self = token
  }

  /// Encodes the token as text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension Snapshot {
  /// A token for the snapshot's generation.
  public var token: GenerationToken {
    GenerationToken(store: state.files.identity, point: state.point)
  }
}

extension Store {
  /// Pins the generation that a token identifies, and returns a snapshot of it.
  ///
  /// The token may have been created by any process, even before the machine was restarted.
  ///
  /// - Throws: `foreignStore` if the token belongs to another store, or to a copy of this store
  ///   that has diverged. Also throws any error from ``snapshot(at:)-(Generation)``.
  /// - Complexity: The same as ``snapshot(at:)-(Generation)``.
  public func snapshot(at token: GenerationToken) throws -> Snapshot {
    try requireOpen()
    guard token.names(files.identity) else { throw foreign("another store") }
    let snapshot = try snapshot(at: token.generation)
    guard token.names(snapshot.state.point) else {
      throw foreign("a copy of this store that has diverged")
    }
    return snapshot
  }

  private func foreign(_ origin: String) -> StorageError {
    StorageError(
      .foreignStore,
      "The token belongs to \(origin). Open the store that created the token.",
      file: files.directory)
  }
}
