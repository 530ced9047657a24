/// Rereads member lists that were loaded before one of their members was read.
///
/// A fetch rereads unchanged objects, but not related objects that have unsaved changes (F-09). The
/// member list of such a related object may therefore lack objects that refer to it, or contain
/// objects that no longer do. Before one of those objects is added or removed, the context rereads
/// the list, so that the edit is recorded on both sides of the relationship.
extension ManagedObjectContext {
  /// Returns whether `object` may have been read earlier than `member`.
  func isOlder(_ object: ManagedObject, than member: ManagedObject) -> Bool {
    !object.isInserted && !member.isInserted && (member.version > object.version || parent != nil)
  }

  /// Reads the members of a relationship again, and merges unsaved changes into them.
  ///
  /// - Complexity: O(members).
  func rereadMembers(of object: ManagedObject, _ property: PropertyDescription) {
    if property.isOrdered, let changes = object.changes, changes.members[property.slot] != nil {
      do { try mergeMembers(of: object, property, under: changes) } catch {
        recordFaultError(error)
      }
    } else {
      object.setMembers(nil, property)
      _ = loadedMembers(of: object, property)
    }
  }
}
