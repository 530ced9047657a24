/// Methods that reread a member list if one of its members was read after the list was loaded.
///
/// A fetch rereads unchanged objects, but not related objects that have unsaved changes (F-09). The
/// member list of such a related object may therefore omit objects that refer to that object, or
/// contain objects that no longer refer to it. Before one of those objects is added or removed, the
/// context rereads the list, so that the edit is recorded on both sides of the relationship.
extension ManagedObjectContext {
  /// Returns whether `object` may have been read earlier than `member`.
  func isOlder(_ object: ManagedObject, than member: ManagedObject) -> Bool {
    !object.isInserted && !member.isInserted && (member.version > object.version || parent != nil)
  }

  /// Reads the members of a relationship again, and merges unsaved changes into them.
  ///
  /// - Complexity: O(members).
  func rereadMembers(of object: ManagedObject, _ property: PropertyDescription) {
    // First reread the members in the parent, because they may be stale too.
    if let parent, let original = parent.registeredObject(object.number), !original.isFault,
      !original.isInserted, original.hasMembers(property)
    {
      parent.rereadMembers(of: original, property)
    }
    if property.isOrdered, let changes = object.changes, changes.members[property.slot] != nil {
      do { try mergeMembers(of: object, property, under: changes) } catch {
        recordFaultError(error)
      }
    } else {
      object.setMembers(nil, property)
      _ = loadedMembers(of: object, property)
    }
  }

  /// Updates a to-one relationship whose target in the store may be `object`.
  ///
  /// The relationship is the inverse of `property`, through which `object` refers to `other`. The
  /// method has no effect if this context has changed a to-one side of the relationship.
  func rereadTarget(
    of other: ManagedObject, _ inverse: PropertyDescription, from object: ManagedObject,
    _ property: PropertyDescription
  ) {
    guard object.changes?.originals[property.slot] == nil,
      other.changes?.originals[inverse.slot] == nil
    else { return }
    guard let parent else {
      guard other.hasChanges else {
        do { return try reread([other.number], in: try currentView()) } catch {
          return recordFaultError(error)
        }
      }
      return other.setTarget(.object(object), inverse)
    }
    guard let theirs = parent.object(other.number), let former = parent.object(object.number),
      parent.leads(former, to: theirs, property)
    else { return }
    if parent.isOlder(theirs, than: former), parent.toOneTarget(of: theirs, inverse) !== former {
      parent.rereadTarget(of: theirs, inverse, from: former, property)
    }
    if parent.toOneTarget(of: theirs, inverse) === former, toOneTarget(of: other, inverse) == nil {
      other.setTarget(.object(object), inverse)
    }
  }

  /// Returns whether `other` is the target or a member of a relationship of `object`.
  private func leads(
    _ object: ManagedObject, to other: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    property.isReference
      ? toOneTarget(of: object, property) === other
      : loadedMembers(of: object, property).contains { $0 === other }
  }

  /// Returns whether a loaded ordered list already contains a member that another context has
  /// added.
  ///
  /// The method searches the list, because the versions of the two objects do not show whether the
  /// list was loaded after the member.
  func isListed(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    guard property.isOrdered, !member.isInserted, !object.isInserted,
      object.hasMembers(property)
    else { return false }
    if let base = object.changes?.members[property.slot]?.base,
      !base.contains(where: { $0 === member })
    {
      return false
    }
    return object.containsMember(member, property)
  }
}
