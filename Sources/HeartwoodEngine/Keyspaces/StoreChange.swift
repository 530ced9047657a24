/// A key whose entry differs between two generations of a store.
public struct StoreChange: Hashable, Sendable {
  /// The kind of change from the first generation to the second.
  public enum Kind: Hashable, Sendable {
    /// The key exists only in the second generation.
    case inserted
    /// The key exists in both generations, with different values.
    case updated
    /// The key exists only in the first generation.
    case deleted
  }

  /// The name of the keyspace.
  public var keyspace: String
  /// The encoded key; see ``Key/init(encoded:)``.
  public var key: [UInt8]
  /// The kind of change.
  public var kind: Kind

  /// Creates a change of the given kind.
  public init(keyspace: String, key: [UInt8], kind: Kind) {
    self.keyspace = keyspace
    self.key = key
    self.kind = kind
  }
}
