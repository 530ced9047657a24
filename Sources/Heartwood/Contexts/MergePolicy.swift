/// What a save does when others have changed the same objects since they were read, or when two
/// objects would have the same unique values.
///
/// "Changed" is meant property by property: what only one side has changed is kept by all policies
/// that merge. The meanings are those of Core Data's policies.
public struct MergePolicy: Sendable {
  enum Kind: Equatable, Sendable {
    case error, storeTrump, objectTrump, overwrite, rollback
  }

  let kind: Kind
  let resolve: (@Sendable (inout MergeConflict) throws -> Void)?

  private init(_ kind: Kind, resolve: (@Sendable (inout MergeConflict) throws -> Void)? = nil) {
    self.kind = kind
    self.resolve = resolve
  }

  /// The save throws, and changes nothing.
  public static let error = MergePolicy(.error)
  /// What both have changed is as in the store.
  public static let mergeByPropertyStoreTrump = MergePolicy(.storeTrump)
  /// What both have changed is as in the context.
  public static let mergeByPropertyObjectTrump = MergePolicy(.objectTrump)
  /// The objects in conflict are stored as they are in the context, every property.
  public static let overwrite = MergePolicy(.overwrite)
  /// The objects in conflict are left as they are in the store, every property.
  public static let rollback = MergePolicy(.rollback)

  /// Each conflict is settled by `resolve`, property by property; it may throw, and the save does.
  ///
  /// What it does not settle is merged as ``mergeByPropertyObjectTrump`` would.
  public static func custom(
    _ resolve: @escaping @Sendable (_ conflict: inout MergeConflict) throws -> Void
  ) -> MergePolicy {
    MergePolicy(.objectTrump, resolve: resolve)
  }
}

/// An object that was changed here and by others.
public struct MergeConflict: Sendable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The name of its entity.
  public let entityName: String
  /// What the properties were when they were read, by name.
  public let base: [String: StoredValue]
  /// What the properties are here.
  public let mine: [String: StoredValue]
  /// What they are in the store; `nil` if the object was deleted there.
  public let theirs: [String: StoredValue]?
  /// What they shall be, by name; set by a custom policy.
  public var result: [String: StoredValue] = [:]
}
