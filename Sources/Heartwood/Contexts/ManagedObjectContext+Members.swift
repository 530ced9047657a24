/// Methods that count, find and change the members of to-many relationships without loading them.
extension ManagedObjectContext {
  /// The stored entries of a relationship that is not loaded, and the unsaved changes to the
  /// relationship.
  private struct StoredMembers {
    let owner: ObjectNumber
    let property: PropertyDescription
    let inverse: PropertyDescription?
    let view: StoreView
    /// The keyspace that contains the entries.
    let keyspace: String
    let changes: MemberChanges?

    func count() throws -> Int {
      var count = try view.keyspace(keyspace)?.count(EntryRange([.integer(owner.bits)])) ?? 0
      guard let changes else { return count }
      for member in changes.added where try !isStored(member) { count += 1 }
      for member in changes.removed where try isStored(member) { count -= 1 }
      return count
    }

    func contains(_ member: ManagedObject) throws -> Bool {
      if changes?.added.contains(member) == true { return true }
      if changes?.removed.contains(member) == true { return false }
      return try isStored(member)
    }

    /// Returns whether this context has an unsaved addition or removal of `member` that another
    /// context has also made and saved.
    func isSharedChange(_ member: ManagedObject) throws -> Bool {
      guard let changes else { return false }
      return changes.added.contains(member)
        ? try isStored(member)
        : changes.removed.contains(member) ? try !isStored(member) : false
    }

    private func isStored(_ member: ManagedObject) throws -> Bool {
      guard !member.number.isTemporary else { return false }
      guard property.isOrdered else { return try hasEdge(keyspace, owner, member.number) }
      // Search the inverse relationship if possible, because the keys of a list's entries contain
      // positions instead of members.
      if let inverse, let storage = view.model.storage(of: member.number) {
        if inverse.isReference {
          let target = try view.withRecord(member.number, storage) {
            try storage.value(inverse.slot, $0)
          }
          return target?.reference == owner
        }
        if !inverse.isOrdered {
          let keyspace = view.model.memberKeyspace(inverse, of: storage.entity)
          return try hasEdge(keyspace, member.number, owner)
        }
      }
      return try view.numbers(in: keyspace, [.integer(owner.bits)]).contains(member.number)
    }

    private func hasEdge(
      _ keyspace: String, _ owner: ObjectNumber, _ member: ObjectNumber
    ) throws -> Bool {
      let key = EntryKey.key([.integer(owner.bits), .integer(member.bits)])
      return try view.keyspace(keyspace)?.withValue(key) { _ in true } ?? false
    }
  }

  /// Returns the stored members of a relationship, or `nil` if the loaded members must be used
  /// instead.
  ///
  /// The result is `nil` if the members are already loaded, or if they must be loaded to determine
  /// which members are visible in this context.
  private func storedMembers(
    of object: ManagedObject, _ property: PropertyDescription
  ) throws -> StoredMembers? {
    if object.isFault { fire(object) }
    guard !object.hasMembers(property), !object.isInserted, parent == nil, deleted.isEmpty,
      !model.isRemoved, let entity = object.entityDescription
    else { return nil }
    let view = try currentView()
    // Do not use a view that is older than the object, because some of the object's members may be
    // missing from that view.
    if let read = view.snapshot?.generation.frame, object.version >= read { return nil }
    return StoredMembers(
      owner: object.number, property: property, inverse: entity.inverses[property.slot]?.property,
      view: view, keyspace: model.memberKeyspace(property, of: entity),
      changes: object.changes?.members[property.slot])
  }

  func memberCount(of object: ManagedObject, _ property: PropertyDescription) -> Int {
    confinement?.enter()
    defer { confinement?.leave() }
    if object.hooks.contains(.observed) { didRead(object, property) }
    if let count = try? storedMembers(of: object, property)?.count() { return count }
    return loadedMembers(of: object, property).count
  }

  func hasMember(
    _ member: ManagedObject, in object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    confinement?.enter()
    defer { confinement?.leave() }
    if object.hooks.contains(.observed) { didRead(object, property) }
    return isMember(member, of: object, property)
  }

  private func isMember(
    _ member: ManagedObject, of object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    guard member.source === self else { return false }
    if let found = try? storedMembers(of: object, property)?.contains(member) { return found }
    // If reading fails, load the members, because loading records the error.
    _ = loadedMembers(of: object, property)
    return object.containsMember(member, property)
  }

  /// Returns whether an object that is about to be added or removed currently belongs to the
  /// relationship.
  private func isMemberBeforeChange(
    _ member: ManagedObject, of object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    loadMembersIfShared(member, object, property)
    return isMember(member, of: object, property)
  }

  /// Loads the members of a relationship if this context has an unsaved addition or removal of
  /// `member` that another context has also saved.
  ///
  /// Loading discards the addition or removal, so that the next change is recorded as a new edit
  /// instead of cancelling the earlier one.
  func loadMembersIfShared(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) {
    guard !object.isInserted, !object.hasMembers(property),
      let edit = object.changes?.members[property.slot],
      edit.added.contains(member) || edit.removed.contains(member)
    else { return }
    let isShared = try? storedMembers(of: object, property)?.isSharedChange(member)
    if isShared != false { _ = loadedMembers(of: object, property) }
  }

  func insertMember(
    _ member: ManagedObject, in object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    confinement?.enter()
    defer { confinement?.leave() }
    requireSameContext(member)
    guard !isMemberBeforeChange(member, of: object, property) else { return false }
    add(member, to: object, property)
    attach(object, to: member, property)
    return true
  }

  func removeMember(
    _ member: ManagedObject, from object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    confinement?.enter()
    defer { confinement?.leave() }
    // Load the list, because undo needs the member's position in the list.
    if property.isOrdered, undoLog != nil { _ = loadedMembers(of: object, property) }
    guard isMemberBeforeChange(member, of: object, property) else { return false }
    drop(member, from: object, property)
    detach(object, from: member, property)
    return true
  }
}
