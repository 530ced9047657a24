/// One key under which two generations of a store hold different things.
public struct StoreChange: Hashable, Sendable {
  /// What leads from the one generation to the other.
  public enum Kind: Hashable, Sendable {
    /// Only the second generation has the key.
    case inserted
    /// Both have the key, with different values.
    case updated
    /// Only the first generation has the key.
    case deleted
  }

  /// The name of the keyspace.
  public var keyspace: String
  /// The encoded key; see ``Key/init(encoded:)``.
  public var key: [UInt8]
  /// What happened to the key.
  public var kind: Kind

  /// Describes a change.
  public init(keyspace: String, key: [UInt8], kind: Kind) {
    self.keyspace = keyspace
    self.key = key
    self.kind = kind
  }
}
