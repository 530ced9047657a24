/// The effect of deleting an object on its related objects.
public enum DeleteRule: String, Hashable, Codable, Sendable {
  /// The related objects lose their references to the deleted object.
  case nullify
  /// The related objects are also deleted.
  case cascade
  /// The object cannot be deleted while it has related objects.
  ///
  /// Saving the deletion throws an error.
  case deny
  /// The related objects keep dangling references to the deleted object.
  case noAction
}
