extension ManagedObjectContext {
  // MARK: Reading

  /// The target of a to-one relationship, a fault perhaps.
  func toOneTarget(of object: ManagedObject, _ property: PropertyDescription) -> ManagedObject? {
    if object.isFault { fire(object) }
    switch object.target(property) {
    case .none: return nil
    case .object(let target): return target
    case .number(let bits):
      guard let target = self.object(ObjectNumber(bits: bits)) else { return nil }
      object.setTarget(.object(target), property)
      return target
    }
  }

  /// The members of a to-many relationship, which are loaded first if need be.
  func loadedMembers(of object: ManagedObject, _ property: PropertyDescription) -> [ManagedObject] {
    if object.isFault { fire(object) }
    if let members = object.members(property) { return members }
    confinement?.enter()
    defer { confinement?.leave() }
    let members = members(of: object, property)
    object.setMembers(members, property)
    return members
  }

  private func members(
    of object: ManagedObject, _ property: PropertyDescription
  ) -> [ManagedObject] {
    guard let entity = object.entityDescription else { return [] }
    var members: [ManagedObject] = []
    if let parent, !object.isInserted, let original = parent.object(object.number) {
      members = parent.loadedMembers(of: original, property).compactMap { self.object($0.number) }
    } else if !object.isInserted {
      do {
        let numbers = try currentView().numbers(
          in: model.memberKeyspace(property, of: entity), [.integer(object.number.bits)])
        members = numbers.compactMap { self.object($0) }
      } catch {
        // Of a store that was removed, nobody is related to anybody.
        if !model.isRemoved || !whole.shouldDeleteInaccessibleFaults { noteUnreadable(error) }
      }
    }
    guard let changes = object.changes?.members[property.slot] else { return members }
    if case .toMany(isOrdered: true) = property.kind, !object.isInserted {
      object.changes?.members[property.slot]?.base = members
    }
    members.removeAll { changes.removed.contains($0) }
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
    confinement?.enter()
    defer { confinement?.leave() }
    for member in members { requireSameContext(member) }
    let old = loadedMembers(of: object, property)
    let (before, after) = (Set(old), Set(members))
    for member in old where !after.contains(member) {
      drop(member, from: object, property)
      detach(object, from: member, property)
    }
    for member in members where !before.contains(member) {
      add(member, to: object, property)
      attach(object, to: member, property)
    }
    guard case .toMany(isOrdered: true) = property.kind else { return }
    var seen: Set<ManagedObject> = []
    reorder(object, property, members.filter { seen.insert($0).inserted })
  }

  /// Sets the order of the members of a relationship, who stay the same.
  func reorder(
    _ object: ManagedObject, _ property: PropertyDescription, _ members: [ManagedObject]
  ) {
    let old = loadedMembers(of: object, property)
    guard old != members else { return }
    undoLog?.record(.order(object, property, old))
    noteMembers(of: object, property) { _ in }
    object.setMembers(members, property)
    object.tellIfObserved(property)
  }

  private func requireSameContext(_ object: ManagedObject) {
    if object.source == nil, object.number.bits == 0 { return insert(object) }
    guard object.source !== self else { return }
    if let other = object.part, other.store !== store {
      // Not a precondition: those do not say in release builds what is wrong.
      fatalError(
        "A \(type(of: object)) of another store cannot be related to: keep the URI of its objectID "
          + "in an attribute instead.")
    }
    fatalError(
      "A \(type(of: object)) of another context cannot be related to: take this context's object "
        + "with its objectID.")
  }

  /// Takes an object out of all its relationships of a kind, and the others' sides of it.
  func unrelate(_ object: ManagedObject, _ property: PropertyDescription) {
    if case .toOne = property.kind {
      relate(object, property, to: nil)
    } else {
      relate(object, property, to: [])
    }
  }

  /// Lets the other side of a relationship forget an object.
  private func detach(
    _ object: ManagedObject, from other: ManagedObject, _ property: PropertyDescription
  ) {
    guard let inverse = object.entityDescription?.inverses[property.slot] else { return }
    if other.isFault { fire(other) }
    let there = inverse.property
    if case .toOne = there.kind {
      if toOneTarget(of: other, there) === object { setToOne(other, there, nil) }
    } else {
      drop(object, from: other, there)
    }
  }

  /// Lets the other side of a relationship know of an object, and whoever had it before forget it.
  private func attach(
    _ object: ManagedObject, to other: ManagedObject, _ property: PropertyDescription
  ) {
    guard let inverse = object.entityDescription?.inverses[property.slot] else { return }
    if other.isFault { fire(other) }
    let there = inverse.property
    guard case .toOne = there.kind else { return add(object, to: other, there) }
    if let before = toOneTarget(of: other, there), before !== object {
      // It can be related to one only, and leaves the one it was related to.
      if case .toOne = property.kind {
        setToOne(before, property, nil)
      } else {
        drop(other, from: before, property)
      }
    }
    setToOne(other, there, object)
  }

  // MARK: One side

  func setToOne(
    _ object: ManagedObject, _ property: PropertyDescription, _ target: ManagedObject?
  ) {
    if object.isFault { fire(object) }
    if undoLog != nil {
      undoLog?.record(.target(object, property, toOneTarget(of: object, property)))
    }
    willChange(object, property)
    object.setTarget(target.map { .object($0) } ?? .none, property)
    object.tellIfObserved(property)
  }

  func add(
    _ member: ManagedObject, to object: ManagedObject, _ property: PropertyDescription
  ) {
    undoLog?.record(.joined(object, property, member))
    noteMembers(of: object, property) { $0.join(member) }
    object.insertMember(member, property)
    object.tellIfObserved(property)
  }

  func drop(
    _ member: ManagedObject, from object: ManagedObject, _ property: PropertyDescription
  ) {
    if undoLog != nil, case .toMany(isOrdered: true) = property.kind {
      // Taken back last, when the member is there again: at the end, and not where it was.
      undoLog?.record(.order(object, property, loadedMembers(of: object, property)))
    }
    undoLog?.record(.left(object, property, member))
    noteMembers(of: object, property) { $0.leave(member) }
    object.removeMember(member, property)
    object.tellIfObserved(property)
  }

  /// Notes who joins or leaves, before the list itself is changed; of an inserted object too, whose
  /// members are not in the store.
  private func noteMembers(
    of object: ManagedObject, _ property: PropertyDescription,
    _ change: (inout MemberChanges) -> Void
  ) {
    if object.isFault { fire(object) }
    if object.isInserted {
      change(&object.ownChanges.members[property.slot, default: MemberChanges()])
      if isFollowed { tellFollowers(of: object, isRefreshed: false) }
      return
    }
    noteChange(of: object) { changes in
      if case .toMany(isOrdered: true) = property.kind, changes.members[property.slot] == nil {
        changes.members[property.slot] = MemberChanges(base: object.members(property))
      }
      change(&changes.members[property.slot, default: MemberChanges()])
    }
  }
}
