/// What becomes of the objects at the other end of a relationship when an object is deleted.
public enum DeleteRule: String, Hashable, Codable, Sendable {
  /// They forget the deleted one.
  case nullify
  /// They are deleted too.
  case cascade
  /// The object cannot be deleted while there are any: saving throws.
  case deny
  /// Nothing: they go on referring to an object that is gone.
  case noAction
}
