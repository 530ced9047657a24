/// Names one generation of one store, wherever it is taken to: another thread, another process, or
/// a file.
///
/// It keeps nothing alive. Who hands one over holds a snapshot until the other has his own, or
/// keeps the generation by name. Its text has no spaces and fits a command line.
public struct GenerationToken: Hashable, Sendable {
  /// The store it is of.
  package let store: StoreIdentity
  private let lineage: UInt64
  private let digest: UInt64
  /// The generation it names.
  public let generation: Generation

  fileprivate init(store: StoreIdentity, point: CommitPoint) {
    self.store = store
    lineage = point.lineage
    digest = point.digest
    generation = Generation(frame: point.frame)
  }

  /// Whether it is of this store; a copy made file by file counts as the same one.
  fileprivate func names(_ store: StoreIdentity) -> Bool { self.store == store }

  /// Whether it is this commit that it names.
  fileprivate func names(_ point: CommitPoint) -> Bool {
    lineage == point.lineage && digest == point.digest && generation.frame == point.frame
  }
}

extension GenerationToken: LosslessStringConvertible {
  /// The token as text: store, lineage and digest in hexadecimal digits, then the generation.
  public var description: String {
    let words = [store.high, store.low, lineage, digest]
    return words.map { String($0, radix: 16) }.joined(separator: ".") + ".\(generation.frame)"
  }

  /// The token of which this is the text; `nil` if it is none.
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
  /// Reads the text of a token.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let token = GenerationToken(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "This is not the text of a generation's token.")
    }
    self = token
  }

  /// Writes its text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension Snapshot {
  /// What names this generation elsewhere.
  public var token: GenerationToken {
    GenerationToken(store: state.files.identity, point: state.point)
  }
}

extension Store {
  /// Pins the generation that a token names, whoever made the token: this process or another one,
  /// now or before a restart.
  ///
  /// - Throws: `foreignStore` if it is of another store, or of a copy of this one that has gone on
  ///   by itself; else as ``snapshot(at:)-(Generation)``.
  /// - Complexity: As ``snapshot(at:)-(Generation)``.
  public func snapshot(at token: GenerationToken) throws -> Snapshot {
    try requireOpen()
    guard token.names(files.identity) else { throw foreign("another store") }
    let snapshot = try snapshot(at: token.generation)
    guard token.names(snapshot.state.point) else {
      throw foreign("a copy of this store that has gone on by itself")
    }
    return snapshot
  }

  private func foreign(_ origin: String) -> StorageError {
    StorageError(
      .foreignStore,
      "The token is of \(origin). Open the store that it was taken from.", file: files.directory)
  }
}
