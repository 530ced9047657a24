extension ToMany {
  /// The members of an unordered to-many relationship, which can be counted, found and changed
  /// without being loaded.
  ///
  /// This is the projected value of a ``ToMany`` property:
  ///
  /// ```swift
  /// note.$tags.insert(tag)
  /// if note.$tags.count > 10 { note.$tags.remove(tag) }
  /// ```
  ///
  /// All operations return the same results as the corresponding operations on the loaded set.
  ///
  /// - Complexity: If the members are not loaded, counting them reads the leaf pages that list
  ///   them. Finding, inserting or removing a member reads a few pages. The members are loaded only
  ///   if the context is a child or has unsaved deletions.
  public struct Members {
    private let members: UnloadedMembers

    @usableFromInline
    init(of owner: ManagedObject, at offset: Int) {
      members = UnloadedMembers(owner: owner, offset: offset, isOrdered: false)
    }

    /// The number of members.
    public var count: Int { members.count }

    /// A Boolean value that indicates whether there are no members.
    public var isEmpty: Bool { count == 0 }

    /// Returns whether an object is a member.
    public func contains(_ member: Destination) -> Bool { members.contains(member) }

    /// Adds a member to the relationship and updates the inverse.
    ///
    /// If the member is not in a context, it is inserted into the owner's context, as if it were
    /// assigned to the property.
    ///
    /// - Returns: `false` if the relationship already contained the member.
    @discardableResult
    public func insert(_ member: Destination) -> Bool { members.add(member) }

    /// Removes a member from the relationship and updates the inverse.
    ///
    /// - Returns: `false` if the relationship did not contain the member.
    @discardableResult
    public func remove(_ member: Destination) -> Bool { members.remove(member) }
  }
}

extension OrderedToMany {
  /// The members of an ordered to-many relationship, which can be counted, found, appended and
  /// removed without being loaded.
  ///
  /// This is the projected value of an ``OrderedToMany`` property:
  ///
  /// ```swift
  /// album.$tracks.append(track)
  /// ```
  ///
  /// All operations return the same results as the corresponding operations on the loaded list.
  ///
  /// - Complexity: If the members are not loaded, counting them reads the leaf pages that list
  ///   them. Appending or removing a member reads a few pages and, if the inverse is also ordered,
  ///   the leaf pages as well. The members are loaded only if the context is a child or has unsaved
  ///   deletions. Saving a changed list reads all leaf pages.
  public struct Members {
    private let members: UnloadedMembers

    @usableFromInline
    init(of owner: ManagedObject, at offset: Int) {
      members = UnloadedMembers(owner: owner, offset: offset, isOrdered: true)
    }

    /// The number of members.
    public var count: Int { members.count }

    /// A Boolean value that indicates whether there are no members.
    public var isEmpty: Bool { count == 0 }

    /// Returns whether an object is a member.
    public func contains(_ member: Destination) -> Bool { members.contains(member) }

    /// Appends a member to the relationship and updates the inverse.
    ///
    /// If the member is not in a context, it is inserted into the owner's context, as if it were
    /// assigned to the property.
    ///
    /// - Returns: `false` if the relationship already contained the member.
    @discardableResult
    public func append(_ member: Destination) -> Bool { members.add(member) }

    /// Removes a member from the relationship and updates the inverse.
    ///
    /// - Returns: `false` if the relationship did not contain the member.
    @discardableResult
    public func remove(_ member: Destination) -> Bool { members.remove(member) }
  }
}

/// The member operations shared by ordered and unordered to-many relationships.
///
/// The owner need not be in a context.
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

  /// Calls `body` with the owner's context and the property.
  ///
  /// - Returns: The result of `body`, or `nil` if the owner is not in a context.
  private func inSource<Result>(
    _ body: (any ObjectSource, PropertyDescription) -> Result
  ) -> Result? {
    guard let source = owner.source, let property = owner.entityDescription?.property(at: offset)
    else { return nil }
    return body(source, property)
  }

  /// The members that were assigned to an owner that is not in a context.
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
