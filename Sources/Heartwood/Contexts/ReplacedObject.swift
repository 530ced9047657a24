/// A new object that leaves its context because a save merged it into an existing row (C-12).
///
/// The context already has another object for that row.
struct ReplacedObject {
  let context: ManagedObjectContext
  let object: ManagedObject
  /// The row's object, which replaces the new object.
  let successor: ManagedObject
}

extension ManagedObjectContext {
  /// Removes replaced objects from their contexts, and substitutes their successors.
  ///
  /// Relationships that pointed to a removed object now point to its successor. The removed object
  /// gets its successor's attribute values, and looking up its ID returns the successor.
  ///
  /// - Complexity: O(objects in the contexts).
  static func dismiss(_ replacedObjects: [ReplacedObject]) {
    var rest = replacedObjects
    while let context = rest.first?.context {
      let own = rest.filter { $0.context === context }
      rest.removeAll { $0.context === context }
      context.dismiss(own)
    }
  }

  private func dismiss(_ replacedObjects: [ReplacedObject]) {
    var successors: [ManagedObject: ManagedObject] = [:]
    for replaced in replacedObjects {
      successors[replaced.object] = replaced.successor
      transferEdits(of: replaced)
    }
    for object in allRegistered() where !object.isFault { redirect(object, successors) }
    for replaced in replacedObjects {
      let (object, successor) = (replaced.object, replaced.successor)
      if successor.isFault { fire(successor) }
      for property in object.entityDescription?.properties ?? [] where property.isAttribute {
        object.copy(property, from: successor)
      }
      object.changes = nil
      object.state.remove(.inserted)
      abandon(object)
    }
    notifyFollowersOfAllObjects()
  }

  /// Applies the unsaved changes of a replaced object to its successor.
  ///
  /// Only a replaced object in a child context can have unsaved changes.
  private func transferEdits(of replaced: ReplacedObject) {
    let (object, successor) = (replaced.object, replaced.successor)
    if object.isDeleted {
      deleted.remove(object)
      delete(successor)
    } else if updated.contains(object) {
      copyEdits(of: object, to: successor)
      updated.remove(object)
    }
  }

  private func copyEdits(of object: ManagedObject, to successor: ManagedObject) {
    guard let changes = object.changes else { return }
    if successor.isFault { fire(successor) }
    for property in object.entityDescription?.properties ?? [] {
      if let edit = changes.members[property.slot] {
        let members = loadedMembers(of: successor, property).filter { !edit.removed.contains($0) }
        relate(successor, property, to: members + edit.added.filter { !members.contains($0) })
      } else if changes.originals[property.slot] == nil {
        continue
      } else if property.isReference {
        relate(successor, property, to: toOneTarget(of: object, property))
      } else {
        willChange(successor, property)
        successor.copy(property, from: object)
      }
    }
  }

  /// Replaces the objects that are leaving the context with their successors in an object's
  /// relationships.
  private func redirect(_ object: ManagedObject, _ successors: [ManagedObject: ManagedObject]) {
    for property in object.entityDescription?.relationships ?? [] {
      if property.isReference {
        guard case .object(let target) = object.target(property),
          let successor = successors[target]
        else { continue }
        object.setTarget(.object(successor), property)
        observer?.recordChange(of: object)
      } else if let members = object.members(property),
        members.contains(where: { successors[$0] != nil })
      {
        object.setMembers(MemberSet(members.map { successors[$0] ?? $0 }).map { $0 }, property)
        observer?.recordChange(of: object)
      }
      object.changes?.members[property.slot]?.replace(successors)
    }
  }
}
