/// The members of to-many relationships in the memory of objects.
///
/// A list of any class lies in memory as one of ``ManagedObject`` does, and so does a set: it is
/// used as that here, because converting it would take a new one.
extension ManagedObject {
  /// The place of the members of an ordered relationship; `nil` there if they were not loaded.
  private func listPlace(at offset: Int) -> UnsafeMutablePointer<[ManagedObject]?> {
    (memory + offset).assumingMemoryBound(to: [ManagedObject]?.self)
  }

  /// The place of the members of a relationship without an order.
  private func setPlace(at offset: Int) -> UnsafeMutablePointer<Set<ManagedObject>?> {
    (memory + offset).assumingMemoryBound(to: Set<ManagedObject>?.self)
  }

  /// Whether the members of a to-many relationship were loaded.
  final func hasMembers(_ property: PropertyDescription) -> Bool {
    defer { withExtendedLifetime(self) {} }
    return property.isOrdered
      ? listPlace(at: property.offset).pointee != nil
      : setPlace(at: property.offset).pointee != nil
  }

  /// The members of a to-many relationship; `nil` if they were not loaded.
  ///
  /// - Complexity: O(1) with an order, O(members) without.
  final func members(_ property: PropertyDescription) -> [ManagedObject]? {
    defer { withExtendedLifetime(self) {} }
    return property.isOrdered
      ? listPlace(at: property.offset).pointee
      : setPlace(at: property.offset).pointee.map { Array($0) }
  }

  /// The members in order that lie at an offset.
  final func list(at offset: Int) -> [ManagedObject]? {
    defer { withExtendedLifetime(self) {} }
    return listPlace(at: offset).pointee
  }

  /// The members without an order that lie at an offset.
  final func set(at offset: Int) -> Set<ManagedObject>? {
    defer { withExtendedLifetime(self) {} }
    return setPlace(at: offset).pointee
  }

  /// Calls `body` with the members of an ordered relationship, where they lie.
  final func withList<Result>(
    _ property: PropertyDescription, _ body: (UnsafeBufferPointer<ManagedObject>) -> Result
  ) -> Result {
    defer { withExtendedLifetime(self) {} }
    guard let result = listPlace(at: property.offset).pointee?.withUnsafeBufferPointer(body) else {
      return body(UnsafeBufferPointer(start: nil, count: 0))
    }
    return result
  }

  /// Sets the members of a to-many relationship without telling anybody.
  final func setMembers(_ members: [ManagedObject]?, _ property: PropertyDescription) {
    defer { withExtendedLifetime(self) {} }
    if property.isOrdered {
      changes?.spareLists[property.slot] = nil
      listPlace(at: property.offset).pointee = members
    } else {
      changes?.spareSets[property.slot] = nil
      setPlace(at: property.offset).pointee = members.map { Set($0) }
    }
  }

  /// Adds a member to a to-many relationship if that was loaded, without telling anybody.
  ///
  /// - Parameter position: The position in an ordered relationship; by default the end.
  final func insertMember(
    _ member: ManagedObject, at position: Int? = nil, _ property: PropertyDescription
  ) {
    defer { withExtendedLifetime(self) {} }
    if property.isOrdered {
      let place = listPlace(at: property.offset)
      guard let count = place.pointee?.count else { return }
      let position = min(position ?? count, count)
      place.pointee?.insert(member, at: position)
      changes?.spareLists[property.slot]?.insert(member, at: position)
    } else {
      setPlace(at: property.offset).pointee?.insert(member)
      changes?.spareSets[property.slot]?.insert(member)
    }
  }

  /// Removes a member from a to-many relationship if that was loaded, without telling anybody.
  ///
  /// - Returns: The position it had in an ordered relationship.
  @discardableResult
  final func removeMember(_ member: ManagedObject, _ property: PropertyDescription) -> Int? {
    defer { withExtendedLifetime(self) {} }
    guard property.isOrdered else {
      setPlace(at: property.offset).pointee?.remove(member)
      changes?.spareSets[property.slot]?.remove(member)
      return nil
    }
    guard let position = withList(property, { ObjectSearch.position(of: member, in: $0) }) else {
      return nil
    }
    listPlace(at: property.offset).pointee?.remove(at: position)
    changes?.spareLists[property.slot]?.remove(at: position)
    return position
  }

  /// Whether somebody is a member of a to-many relationship that was loaded.
  final func containsMember(_ member: ManagedObject, _ property: PropertyDescription) -> Bool {
    defer { withExtendedLifetime(self) {} }
    return property.isOrdered
      ? withList(property) { ObjectSearch.position(of: member, in: $0) != nil }
      : setPlace(at: property.offset).pointee?.contains(member) ?? false
  }

  // MARK: Releasing

  /// Lets go of all related objects, without telling anybody.
  final func releaseRelated() {
    for property in entityDescription?.relationships ?? [] {
      if case .toOne = property.kind {
        setTarget(.none, property)
      } else {
        setMembers(nil, property)
      }
    }
  }

  /// Releases the related objects of an object that goes, one after the other.
  ///
  /// Released by their properties, a long chain of objects would be released one within the other,
  /// which takes more stack than there is.
  final func releaseChain() {
    var rest: [ManagedObject] = []
    moveRelated(to: &rest)
    while var object = rest.popLast() {
      if isKnownUniquelyReferenced(&object) { object.moveRelated(to: &rest) }
    }
  }

  /// Moves related objects that may go with this one out of it.
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
  /// Whether it is a to-many relationship with an order.
  var isOrdered: Bool {
    if case .toMany(isOrdered: true) = kind { return true }
    return false
  }
}
