extension ToMany {
  /// The members of an unordered to-many relationship, which can be counted, found and changed
  /// without loading them.
  ///
  /// This is the projected value of a ``ToMany`` property:
  ///
  /// ```swift
  /// note.$tags.insert(tag)
  /// if note.$tags.count > 10 { note.$tags.remove(tag) }
  /// ```
  ///
  /// All results are the same as those of the loaded set.
  ///
  /// - Complexity: If the members are not loaded, counting reads the leaf pages that list them, and
  ///   finding, inserting or removing one reads a few pages. The members are loaded only if the
  ///   context is a child or has unsaved deletions.
  public struct Members {
    private let members: UnloadedMembers

    @usableFromInline
    init(of owner: ManagedObject, at offset: Int) {
      members = UnloadedMembers(owner: owner, offset: offset, isOrdered: false)
    }

    /// The number of members.
    public var count: Int { members.count }

    /// Whether there are no members.
    public var isEmpty: Bool { count == 0 }

    /// Returns whether an object is a member.
    public func contains(_ member: Destination) -> Bool { members.contains(member) }

    /// Adds a member to the relationship and updates the inverse, or returns `false` if the member
    /// is already present.
    ///
    /// Like an assignment to the property, this inserts a member that is in no context.
    @discardableResult
    public func insert(_ member: Destination) -> Bool { members.add(member) }

    /// Removes a member from the relationship and updates the inverse, or returns `false` if the
    /// member is absent.
    @discardableResult
    public func remove(_ member: Destination) -> Bool { members.remove(member) }
  }
}

extension OrderedToMany {
  /// The members of an ordered to-many relationship, which can be counted, found, appended and
  /// removed without loading them.
  ///
  /// This is the projected value of an ``OrderedToMany`` property:
  ///
  /// ```swift
  /// album.$tracks.append(track)
  /// ```
  ///
  /// All results are the same as those of the loaded list.
  ///
  /// - Complexity: If the members are not loaded, counting reads the leaf pages that list them, and
  ///   appending or removing one reads a few pages, plus those leaf pages if the inverse is also
  ///   ordered. The members are loaded only if the context is a child or has unsaved deletions.
  ///   Saving a changed list reads all leaf pages.
  public struct Members {
    private let members: UnloadedMembers

    @usableFromInline
    init(of owner: ManagedObject, at offset: Int) {
      members = UnloadedMembers(owner: owner, offset: offset, isOrdered: true)
    }

    /// The number of members.
    public var count: Int { members.count }

    /// Whether there are no members.
    public var isEmpty: Bool { count == 0 }

    /// Returns whether an object is a member.
    public func contains(_ member: Destination) -> Bool { members.contains(member) }

    /// Appends a member to the relationship and updates the inverse, or returns `false` if the
    /// member is already present.
    ///
    /// Like an assignment to the property, this inserts a member that is in no context.
    @discardableResult
    public func append(_ member: Destination) -> Bool { members.add(member) }

    /// Removes a member from the relationship and updates the inverse, or returns `false` if the
    /// member is absent.
    @discardableResult
    public func remove(_ member: Destination) -> Bool { members.remove(member) }
  }
}

/// The members of a to-many relationship of an object that may be in no context.
private struct UnloadedMembers {
  let owner: ManagedObject
  let offset: Int
  let isOrdered: Bool

  var count: Int { inSource { $0.memberCount(of: owner, $1) } ?? assigned.count }

  func contains(_ member: ManagedObject) -> Bool {
    inSource { $0.hasMember(member, in: owner, $1) } ?? assigned.contains(member)
  }

  func add(_ member: ManagedObject) -> Bool {
    if owner.source == nil, member.source != nil { owner.insertIntoContext(of: member) }
    let isNew = inSource { $0.insertMember(member, in: owner, $1) }
    if let isNew { return isNew }
    guard !assigned.contains(member) else { return false }
    assign(assigned + [member])
    return true
  }

  func remove(_ member: ManagedObject) -> Bool {
    let wasPresent = inSource { $0.removeMember(member, from: owner, $1) }
    if let wasPresent { return wasPresent }
    guard assigned.contains(member) else { return false }
    assign(assigned.filter { $0 !== member })
    return true
  }

  /// Calls `body` with the owner's context and the property, or returns `nil` if the owner is in no
  /// context.
  private func inSource<Result>(
    _ body: (any ObjectSource, PropertyDescription) -> Result
  ) -> Result? {
    guard let source = owner.source, let property = owner.entityDescription?.property(at: offset)
    else { return nil }
    return body(source, property)
  }

  /// The members that were assigned to an owner that is in no context.
  private var assigned: [ManagedObject] {
    isOrdered ? owner.loadedList(at: offset) : Array(owner.loadedSet(at: offset))
  }

  private func assign(_ members: [ManagedObject]) {
    if isOrdered {
      owner.setList(members, at: offset)
    } else {
      owner.setSet(Set(members), at: offset)
    }
  }
}
