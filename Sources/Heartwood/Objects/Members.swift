extension ToMany {
  /// The members of an unordered to-many relationship, which can be counted, found and changed
  /// without loading them.
  ///
  /// The projected value of a ``ToMany`` property returns it:
  ///
  /// ```swift
  /// note.$tags.insert(tag)
  /// if note.$tags.count > 10 { note.$tags.remove(tag) }
  /// ```
  ///
  /// All results are the same as those of the loaded set.
  ///
  /// - Complexity: If the members are not loaded, counting reads the leaves that list them, and
  ///   finding, inserting or removing one reads a few pages. The members are loaded only if the
  ///   context is a child or has unsaved deletions.
  public struct Members {
    private let owner: ManagedObject
    private let offset: Int

    @usableFromInline
    init(of owner: ManagedObject, at offset: Int) {
      self.owner = owner
      self.offset = offset
    }

    /// The number of members.
    public var count: Int {
      owner.inSource(at: offset) { $0.memberCount(of: owner, $1) }
        ?? owner.loadedSet(at: offset).count
    }

    /// Whether there are no members.
    public var isEmpty: Bool { count == 0 }

    /// Returns whether an object is a member.
    public func contains(_ member: Destination) -> Bool {
      owner.inSource(at: offset) { $0.hasMember(member, in: owner, $1) }
        ?? owner.loadedSet(at: offset).contains(member)
    }

    /// Adds a member, on both sides of the relationship, and returns `false` if it was present.
    ///
    /// Like an assignment to the property, it inserts the member into the context if it is in none.
    @discardableResult
    public func insert(_ member: Destination) -> Bool {
      owner.joinContext(of: member)
      let isNew = owner.inSource(at: offset) { $0.insertMember(member, in: owner, $1) }
      if let isNew { return isNew }
      var members = owner.loadedSet(at: offset)
      guard members.insert(member).inserted else { return false }
      owner.setSet(members, at: offset)
      return true
    }

    /// Removes a member, on both sides of the relationship, and returns `false` if it was absent.
    @discardableResult
    public func remove(_ member: Destination) -> Bool {
      let wasPresent = owner.inSource(at: offset) { $0.removeMember(member, from: owner, $1) }
      if let wasPresent { return wasPresent }
      var members = owner.loadedSet(at: offset)
      guard members.remove(member) != nil else { return false }
      owner.setSet(members, at: offset)
      return true
    }
  }
}

extension ManagedObject {
  /// Calls `body` with this object's context and a property, or returns `nil` if the object is in
  /// no context.
  fileprivate final func inSource<Result>(
    at offset: Int, _ body: (any ObjectSource, PropertyDescription) -> Result
  ) -> Result? {
    guard let source, let property = entityDescription?.property(at: offset) else { return nil }
    return body(source, property)
  }

  /// Inserts this object into another object's context, if only the other one is in a context.
  fileprivate final func joinContext(of other: ManagedObject) {
    if source == nil, other.source != nil { insertIntoContext(of: other) }
  }
}
