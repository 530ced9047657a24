/// The effect of deleting an object on the objects that a relationship leads to.
public enum DeleteRule: String, Hashable, Codable, Sendable {
  /// They lose their reference to the deleted object.
  case nullify
  /// They are deleted, too.
  case cascade
  /// The object cannot be deleted while there are related objects: saving throws.
  case deny
  /// None: they keep a dangling reference to the deleted object.
  case noAction
}
