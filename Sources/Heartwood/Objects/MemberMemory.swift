/// Methods that access the members of an object's to-many relationships directly in the object's
/// memory.
///
/// Lists and sets of a ``ManagedObject`` subclass have the same memory layout as lists and sets of
/// ``ManagedObject``. The methods access each collection in place, because converting it would
/// allocate a new collection.
extension ManagedObject {
  /// Returns a pointer to the members of the ordered relationship at the given offset.
  ///
  /// The pointee is `nil` if the members are not loaded.
  private func listLocation(at offset: Int) -> UnsafeMutablePointer<[ManagedObject]?> {
    (memory + offset).assumingMemoryBound(to: [ManagedObject]?.self)
  }

  /// Returns a pointer to the members of the unordered relationship at the given offset.
  ///
  /// The pointee is `nil` if the members are not loaded.
  private func setLocation(at offset: Int) -> UnsafeMutablePointer<Set<ManagedObject>?> {
    (memory + offset).assumingMemoryBound(to: Set<ManagedObject>?.self)
  }

  /// Returns whether the members of a to-many relationship are loaded.
  final func hasMembers(_ property: PropertyDescription) -> Bool {
    defer { withExtendedLifetime(self) {} }
    return property.isOrdered
      ? listLocation(at: property.offset).pointee != nil
      : setLocation(at: property.offset).pointee != nil
  }

  /// Returns the members of a to-many relationship, or `nil` if they are not loaded.
  ///
  /// - Complexity: O(1) for an ordered relationship; O(members) for an unordered relationship.
  final func members(_ property: PropertyDescription) -> [ManagedObject]? {
    defer { withExtendedLifetime(self) {} }
    return property.isOrdered
      ? listLocation(at: property.offset).pointee
      : setLocation(at: property.offset).pointee.map { Array($0) }
  }

  /// Returns the members of the ordered relationship at the given offset, or `nil` if they are not
  /// loaded.
  final func list(at offset: Int) -> [ManagedObject]? {
    defer { withExtendedLifetime(self) {} }
    return listLocation(at: offset).pointee
  }

  /// Returns the members of the unordered relationship at the given offset, or `nil` if they are
  /// not loaded.
  final func set(at offset: Int) -> Set<ManagedObject>? {
    defer { withExtendedLifetime(self) {} }
    return setLocation(at: offset).pointee
  }

  /// Calls `body` with the members of an ordered relationship, without copying them.
  ///
  /// If the members are not loaded, the buffer is empty.
  final func withList<Result>(
    _ property: PropertyDescription, _ body: (UnsafeBufferPointer<ManagedObject>) -> Result
  ) -> Result {
    defer { withExtendedLifetime(self) {} }
    guard let result = listLocation(at: property.offset).pointee?.withUnsafeBufferPointer(body)
    else {
      return body(UnsafeBufferPointer(start: nil, count: 0))
    }
    return result
  }

  /// Sets the members of a to-many relationship without notifying observers.
  ///
  /// - Parameter members: The members, or `nil` to mark them as not loaded.
  final func setMembers(_ members: [ManagedObject]?, _ property: PropertyDescription) {
    defer { withExtendedLifetime(self) {} }
    if property.isOrdered {
      changes?.spareLists[property.slot] = nil
      listLocation(at: property.offset).pointee = members
    } else {
      changes?.spareSets[property.slot] = nil
      setLocation(at: property.offset).pointee = members.map { Set($0) }
    }
  }

  /// Adds a member to a to-many relationship without notifying observers.
  ///
  /// If the members are not loaded, this method does nothing.
  ///
  /// - Parameter position: The position at which to insert the member into an ordered relationship.
  ///   The default is the end of the list.
  final func insertMember(
    _ member: ManagedObject, at position: Int? = nil, _ property: PropertyDescription
  ) {
    defer { withExtendedLifetime(self) {} }
    if property.isOrdered {
      let location = listLocation(at: property.offset)
      guard let count = location.pointee?.count else { return }
      let position = min(position ?? count, count)
      location.pointee?.insert(member, at: position)
      changes?.spareLists[property.slot]?.insert(member, at: position)
    } else {
      setLocation(at: property.offset).pointee?.insert(member)
      changes?.spareSets[property.slot]?.insert(member)
    }
  }

  /// Removes a member from a to-many relationship without notifying observers.
  ///
  /// If the members are not loaded, this method does nothing.
  ///
  /// - Parameter known: The position of the member in an ordered relationship, or `nil` if the
  ///   position is not known.
  /// - Returns: The former position of the member, or `nil` if the relationship is unordered or did
  ///   not contain the member.
  @discardableResult
  final func removeMember(
    _ member: ManagedObject, _ property: PropertyDescription, at known: Int? = nil
  ) -> Int? {
    defer { withExtendedLifetime(self) {} }
    guard property.isOrdered else {
      setLocation(at: property.offset).pointee?.remove(member)
      changes?.spareSets[property.slot]?.remove(member)
      return nil
    }
    let found = known ?? withList(property) { ObjectSearch.position(of: member, in: $0) }
    guard let position = found else { return nil }
    listLocation(at: property.offset).pointee?.remove(at: position)
    changes?.spareLists[property.slot]?.remove(at: position)
    return position
  }

  /// Returns whether an object is a member of a to-many relationship.
  ///
  /// Returns `false` if the members are not loaded.
  final func containsMember(_ member: ManagedObject, _ property: PropertyDescription) -> Bool {
    defer { withExtendedLifetime(self) {} }
    return property.isOrdered
      ? withList(property) { ObjectSearch.position(of: member, in: $0) != nil }
      : setLocation(at: property.offset).pointee?.contains(member) ?? false
  }

  // MARK: Releasing

  /// Releases all related objects without notifying observers.
  final func releaseRelated() {
    for property in entityDescription?.relationships ?? [] {
      if case .toOne = property.kind {
        setTarget(.none, property)
      } else {
        setMembers(nil, property)
      }
    }
  }

  /// Releases the related objects one after another while this object is being deallocated.
  ///
  /// Without this method, deallocating the properties would release the objects of a long chain
  /// recursively and overflow the stack.
  final func releaseChain() {
    var rest: [ManagedObject] = []
    moveRelated(to: &rest)
    while var object = rest.popLast() {
      if isKnownUniquelyReferenced(&object) { object.moveRelated(to: &rest) }
    }
  }

  /// Clears the relationships of this object, and adds the related objects to `objects`.
  ///
  /// A to-one target that has other owners is not added, because releasing it here does not
  /// deallocate it.
  private func moveRelated(to objects: inout [ManagedObject]) {
    for property in entityDescription?.relationships ?? [] {
      if case .toOne = property.kind {
        guard case .object(var target) = target(property) else { continue }
        setTarget(.none, property)
        if isKnownUniquelyReferenced(&target) { objects.append(target) }
      } else if hasMembers(property) {
        objects += members(property) ?? []
        setMembers(nil, property)
      }
    }
    guard let changes else { return }
    for change in changes.members.values { objects += change.all }
    for related in changes.pending.values { objects += related.all }
    self.changes = nil
  }
}

extension PropertyDescription {
  /// A Boolean value that indicates whether the property is an ordered to-many relationship.
  var isOrdered: Bool {
    if case .toMany(isOrdered: true) = kind { return true }
    return false
  }
}
