/// Rereads member lists that were read earlier than one of their members.
///
/// A fetch rereads unchanged objects, but not their related objects with unsaved changes (F-09).
/// Such a related object's list may therefore lack objects that refer to the related object, or
/// contain objects that do not. Before such a member is removed or added, the context rereads the
/// list and records the edit on both sides.
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
