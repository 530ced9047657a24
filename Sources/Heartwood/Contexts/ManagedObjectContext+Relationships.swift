extension ManagedObjectContext {
  // MARK: Reading

  /// Returns the target of a to-one relationship, or `nil` if there is none.
  ///
  /// The target may be a fault.
  func toOneTarget(of object: ManagedObject, _ property: PropertyDescription) -> ManagedObject? {
    if object.isFault { fire(object) }
    switch object.target(property) {
    case .none: return nil
    case .object(let target):
      // In a child context, hide a reference that comes from the parent if the target was deleted
      // here.
      let isHidden = parent != nil && !deleted.isEmpty && !object.isDeleted
      return isHidden && forgets(target, object, property) ? nil : target
    case .number(let bits):
      guard let target = self.object(ObjectNumber(bits: bits)) else { return nil }
      // Hide a target that was deleted here, but keep its number, so that the target becomes
      // visible again if its deletion is reverted.
      if !deleted.isEmpty, forgets(target, object, property) { return nil }
      object.setTarget(.object(target), property)
      return target
    }
  }

  /// Returns the members of a to-many relationship, loading them if necessary.
  func loadedMembers(of object: ManagedObject, _ property: PropertyDescription) -> [ManagedObject] {
    if object.isFault { fire(object) }
    if object.hasMembers(property) { return object.members(property) ?? [] }
    confinement?.enter()
    defer { confinement?.leave() }
    let members = members(of: object, property)
    object.setMembers(members, property)
    discardNoOpMemberEdits(of: object, property)
    return members
  }

  private func members(
    of object: ManagedObject, _ property: PropertyDescription
  ) -> [ManagedObject] {
    guard let entity = object.entityDescription else { return [] }
    var members: [ManagedObject] = []
    if let parent, !object.isInserted {
      if let original = parent.existingObject(object.number) {
        members = parent.loadedMembers(of: original, property).compactMap { self.object($0.number) }
      }
    } else if !object.isInserted {
      do {
        let view = try currentView()
        // A fault has no row in this generation, but may get one when the pin moves. Therefore, its
        // members may also become stale.
        let isStale = view.snapshot.map { object.version >= $0.generation.frame } ?? false
        if isStale || object.isFault { object.state.insert(.membersMayBeStale) }
        let numbers = try view.numbers(
          in: model.memberKeyspace(property, of: entity), [.integer(object.number.bits)])
        members = numbers.compactMap { self.object($0) }
      } catch {
        // If inaccessible objects are treated as deleted and the store was removed, return no
        // members instead of recording the error.
        if !model.isRemoved || !rootContext.shouldDeleteInaccessibleFaults {
          recordFaultError(error)
        }
      }
    }
    var changes = object.changes?.members[property.slot]
    if let edit = changes, !object.isInserted {
      // Omit changes that other contexts have also made, because the loaded members already reflect
      // them. Keep all changes if the members come from an older generation, or if another context
      // or the parent has deleted the object, because it must stay edited (C-02, N-04).
      if !isPinnedToThePast, isPresent(object) {
        changes = edit.without(theirs: Set(members.map(\.number))) {
          undoLog?.forget($0, of: object, property)
        }
      }
      if property.isOrdered { changes?.base = members }
      object.changes?.members[property.slot] = changes
    }
    let removed = changes?.removed ?? MemberSet()
    if !deleted.isEmpty {
      members.removeAll { member in
        guard forgets(member, object, property) else { return false }
        // If the deletion is reverted, a member in `removed` is restored from that set. Any other
        // member can be restored only by loading the list again, so record that the list is
        // incomplete.
        if !removed.contains(member) { hidingMembers.insert(object.number) }
        return true
      }
    }
    guard let changes else { return members }
    members.removeAll { removed.contains($0) }
    let present = Set(members)
    return members + changes.added.filter { !present.contains($0) }
  }

  // MARK: Setting

  func relate(_ object: ManagedObject, _ property: PropertyDescription, to target: ManagedObject?) {
    confinement?.enter()
    defer { confinement?.leave() }
    if let target { requireSameContext(target) }
    let old = toOneTarget(of: object, property)
    guard old !== target else { return }
    if let old { detach(object, from: old, property) }
    setToOne(object, property, target)
    if let target { attach(object, to: target, property) }
  }

  func relate(
    _ object: ManagedObject, _ property: PropertyDescription, to members: [ManagedObject]
  ) {
    guard property.isOrdered else {
      return relate(object, property, to: Set(members), hashed: nil)
    }
    confinement?.enter()
    defer { confinement?.leave() }
    requireMembers(of: object, property)
    let difference = members.withUnsafeBufferPointer { new in
      object.withList(property) { MemberDifference(from: $0, to: new) }
    }
    change(object, property, difference)
    if difference.position == nil {
      var seen: Set<ManagedObject> = []
      reorder(object, property, members.filter { seen.insert($0).inserted })
    }
    keepSpare(members, of: object, property)
  }

  /// Keeps a spare copy of an object's list, so that the next in-place mutation does not have to
  /// copy the list.
  ///
  /// If `members` equals the list but has separate storage, `members` becomes the spare copy.
  /// Otherwise, the method does nothing.
  private func keepSpare(
    _ members: [ManagedObject], of object: ManagedObject, _ property: PropertyDescription
  ) {
    let isOther = members.withUnsafeBufferPointer { new in
      object.withList(property) { old in
        new.baseAddress != old.baseAddress && MemberDifference.areEqual(old, new)
      }
    }
    if isOther { object.ownChanges.spareLists[property.slot] = members }
  }

  func relate(
    _ object: ManagedObject, _ property: PropertyDescription, to members: Set<ManagedObject>,
    hashed: [ObjectIdentifier]?
  ) {
    confinement?.enter()
    defer { confinement?.leave() }
    requireMembers(of: object, property)
    guard let old = object.set(at: property.offset) else { return }
    let difference = MemberDifference(from: old, to: members, hashed: hashed)
    let isOther =
      unsafeBitCast(old, to: UnsafeRawPointer.self)
      != unsafeBitCast(members, to: UnsafeRawPointer.self)
    // Release this reference to the old set, so that changing the members does not copy the set.
    withExtendedLifetime(consume old) {}
    // Do not keep a spare copy if a new member is not in this context yet, because inserting the
    // member calls `awakeFromInsert`, which may change the relationship again.
    let isQuiet = difference.added.allSatisfy { $0.source === self }
    change(object, property, difference)
    if isOther, isQuiet, object.set(at: property.offset)?.count == members.count {
      object.ownChanges.spareSets[property.slot] = members
    }
  }

  private func requireMembers(of object: ManagedObject, _ property: PropertyDescription) {
    if object.isFault || !object.hasMembers(property) { _ = loadedMembers(of: object, property) }
  }

  /// Removes members from a to-many relationship, adds other members, and updates the inverse.
  private func change(
    _ object: ManagedObject, _ property: PropertyDescription, _ difference: MemberDifference
  ) {
    for member in difference.added { requireSameContext(member) }
    for member in difference.removed {
      drop(member, from: object, property)
      detach(object, from: member, property)
    }
    for (index, member) in difference.added.enumerated() {
      add(member, to: object, property, at: difference.position.map { $0 + index })
      attach(object, to: member, property)
    }
  }

  /// Changes the order of a relationship's members without adding or removing members.
  func reorder(
    _ object: ManagedObject, _ property: PropertyDescription, _ members: [ManagedObject]
  ) {
    let old = loadedMembers(of: object, property)
    guard old != members else { return }
    recordMemberChange(of: object, property) { _ in }
    undoLog?.record(.order(object, property, old))
    object.setMembers(members, property)
    discardNoOpMemberEdits(of: object, property)
    object.notifyIfObserved(property)
  }

  /// Ensures that an object is in this context, inserting it if it is in no context yet.
  ///
  /// Traps if the object is in another context, or if it has a row but no context.
  func requireSameContext(_ object: ManagedObject) {
    guard object.source !== self else { return }
    if object.source == nil, !object.hasRow { return insert(object) }
    if let other = object.storeContext, other.store !== store {
      // Use `fatalError`, because `precondition` would drop the message in a release build.
      fatalError(
        "This \(type(of: object)) is in another store, so a relationship cannot refer to it. "
          + "Instead, store the URI of its objectID in an attribute.")
    }
    fatalError(
      "This \(type(of: object)) is not in this context, so a relationship cannot refer to it. If "
        + "the object is new, save it in its own context first. Then look it up in this context by "
        + "its objectID.")
  }

  /// Clears a relationship and its inverse for an object that is being deleted.
  func unrelate(_ object: ManagedObject, _ property: PropertyDescription) {
    if case .toOne = property.kind { return relate(object, property, to: nil) }
    let members = loadedMembers(of: object, property)
    guard !members.isEmpty else { return }
    for member in members { detach(object, from: member, property) }
    recordMemberChange(of: object, property) { change in
      for member in members { change.remove(member) }
    }
    undoLog?.record(.cleared(object, property, members))
    object.setMembers([], property)
    discardNoOpMemberEdits(of: object, property)
    object.notifyIfObserved(property)
  }

  /// Removes `object` from the inverse of `property` in the related object `other`.
  func detach(
    _ object: ManagedObject, from other: ManagedObject, _ property: PropertyDescription
  ) {
    guard let inverse = object.entityDescription?.inverses[property.slot] else { return }
    let there = inverse.property
    // Skip an object that is being deleted, because it loses all members of the relationship at
    // once.
    if !clearing.isEmpty, clearing.contains(ClearedRelationship(other, there)) { return }
    // Do nothing if an object is related to itself through a relationship that is its own inverse,
    // because there is no other side to change.
    if object === other, there.slot == property.slot { return }
    if other.isFault { fire(other) }
    if case .toOne = there.kind {
      if isOlder(other, than: object), toOneTarget(of: other, there) !== object {
        rereadTarget(of: other, there, from: object, property)
      }
      if toOneTarget(of: other, there) === object { setToOne(other, there, nil) }
    } else {
      drop(object, from: other, there)
    }
  }

  /// Adds `object` to the inverse of `property` in the related object `other`.
  ///
  /// If the inverse is a to-one relationship, `other` is first detached from its previous target.
  func attach(
    _ object: ManagedObject, to other: ManagedObject, _ property: PropertyDescription
  ) {
    guard let inverse = object.entityDescription?.inverses[property.slot] else { return }
    let there = inverse.property
    if object === other, there.slot == property.slot { return }
    if other.isFault { fire(other) }
    guard case .toOne = there.kind else {
      if isOlder(other, than: object), other.containsMember(object, there) {
        rereadMembers(of: other, there)
        if other.containsMember(object, there) { return }
      }
      return add(object, to: other, there, isListed: isListed(object, other, there))
    }
    if let before = toOneTarget(of: other, there), before !== object {
      // The other object can have only one target, so first detach it from its current target.
      if case .toOne = property.kind {
        // The current target may have been related to another object since `other` was read.
        if toOneTarget(of: before, property) === other { setToOne(before, property, nil) }
      } else {
        drop(other, from: before, property)
      }
    }
    setToOne(other, there, object)
  }

  // MARK: Changing one side

  func setToOne(
    _ object: ManagedObject, _ property: PropertyDescription, _ target: ManagedObject?
  ) {
    if object.isFault { fire(object) }
    if let undoLog {
      let isFirst = isFirstChange(of: object, property)
      undoLog.record(
        .target(object, property, toOneTarget(of: object, property), isFirst: isFirst))
    }
    willChange(object, property)
    object.setTarget(target.map { .object($0) } ?? .none, property)
    object.notifyIfObserved(property)
  }

  /// Adds a member to one side of a relationship.
  ///
  /// - Parameters:
  ///   - position: The position in an ordered relationship, or `nil` to append the member.
  ///   - isListed: Whether the loaded members already contain the member, because another context
  ///     has added it.
  func add(
    _ member: ManagedObject, to object: ManagedObject, _ property: PropertyDescription,
    at position: Int? = nil, isListed: Bool = false
  ) {
    loadMembersIfShared(member, object, property)
    if property.isOrdered, !object.hasMembers(property),
      object.changes?.members[property.slot]?.removed.contains(member) == true
    {
      // Load the list, so that re-adding the removed member is recorded as a move to the end.
      _ = loadedMembers(of: object, property)
    }
    recordMemberChange(of: object, property) { $0.add(member) }
    undoLog?.record(.joined(object, property, member))
    if !isListed { object.insertMember(member, at: position, property) }
    discardNoOpMemberEdits(of: object, property)
    object.notifyIfObserved(property)
  }

  /// Removes a member from one side of a relationship.
  ///
  /// The method does nothing if the loaded list no longer contains the member because another
  /// context removed it.
  func drop(
    _ member: ManagedObject, from object: ManagedObject, _ property: PropertyDescription
  ) {
    loadMembersIfShared(member, object, property)
    // Load an ordered list, so that undo can return the member to its position even after a save.
    if property.isOrdered, undoLog != nil, !object.hasMembers(property) {
      _ = loadedMembers(of: object, property)
    }
    var position: Int?
    func isMember() -> Bool {
      guard object.hasMembers(property) else { return true }
      guard property.isOrdered else { return object.containsMember(member, property) }
      position = object.withList(property) { ObjectSearch.position(of: member, in: $0) }
      return position != nil
    }
    if !isMember() {
      guard isOlder(object, than: member) else { return }
      rereadMembers(of: object, property)
      guard isMember() else { return }
    }
    recordMemberChange(of: object, property) { $0.remove(member) }
    recordRemoval(
      of: member, object, property, at: object.removeMember(member, property, at: position))
    discardNoOpMemberEdits(of: object, property)
    object.notifyIfObserved(property)
  }

  /// Records the addition or removal of members.
  ///
  /// Call this method before the undo log records the change and before the list is changed.
  /// Changes to inserted objects are recorded too, although their members are not in the store.
  func recordMemberChange(
    of object: ManagedObject, _ property: PropertyDescription,
    _ change: (inout MemberChanges) -> Void
  ) {
    if object.isFault { fire(object) }
    if object.isInserted {
      object.ownChanges.count += 1
      change(&object.ownChanges.members[property.slot, default: MemberChanges()])
      if isFollowed { notifyFollowers(of: object, isRefreshed: false) }
      return
    }
    recordChange(of: object) { changes in
      if property.isOrdered, changes.members[property.slot] == nil {
        undoLog?.record(.original(object, property))
        changes.members[property.slot] = MemberChanges(base: object.members(property))
      }
      change(&changes.members[property.slot, default: MemberChanges()])
    }
  }

  /// Discards the record of changed members if the members are the same as when they were read.
  func discardNoOpMemberEdits(of object: ManagedObject, _ property: PropertyDescription) {
    guard let changes = object.changes,
      changes.members[property.slot]?.hasSameMembers == true
    else { return }
    if let base = changes.members[property.slot]?.base {
      let isSame = base.withUnsafeBufferPointer { base in
        object.withList(property) { MemberDifference.areEqual($0, base) }
      }
      guard isSame else { return }
    }
    changes.members[property.slot] = nil
    unmarkIfUnchanged(object)
  }
}
