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
  /// It is called for each object that was changed or deleted here, and changed or deleted by
  /// others.
  /// What it does not set is merged as ``mergeByPropertyObjectTrump`` would.
  ///
  /// ```swift
  /// context.mergePolicy = .custom { conflict in
  ///   guard case .integer(let mine)? = conflict.mine["count"],
  ///     case .integer(let theirs)? = conflict.theirs?["count"],
  ///     case .integer(let base)? = conflict.base["count"]
  ///   else { return }
  ///   conflict.result["count"] = .integer(theirs + mine - base)
  /// }
  /// ```
  public static func custom(
    _ resolve: @escaping @Sendable (_ conflict: inout MergeConflict) throws -> Void
  ) -> MergePolicy {
    MergePolicy(.objectTrump, resolve: resolve)
  }
}

/// An object that was changed here and by others, as a custom policy sees it.
public struct MergeConflict: Sendable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The name of its entity.
  public let entityName: String
  /// The values of the attributes when the object was read, by name.
  public let base: [String: StoredValue]
  /// The values of the attributes here; empty if the object was deleted here.
  public let mine: [String: StoredValue]
  /// The values of the attributes in the store; `nil` if the object was deleted there.
  public let theirs: [String: StoredValue]?
  /// The objects that to-one relationships led to when the object was read, by name.
  public let baseReferences: [String: ManagedObjectID]
  /// The objects that to-one relationships lead to here.
  public let myReferences: [String: ManagedObjectID]
  /// The objects that to-one relationships lead to in the store; `nil` if the object was deleted
  /// there.
  public let theirReferences: [String: ManagedObjectID]?
  /// Whether the object was deleted here.
  public let isDeletedHere: Bool
  /// The values that attributes are to have, by name; set by the policy.
  public var result: [String: StoredValue] = [:]
  /// The objects that to-one relationships are to lead to, by name; set by the policy.
  public var resultReferences: [String: ManagedObjectID?] = [:]
  /// Whether the row is to be gone: true at first if the object was deleted here.
  ///
  /// A policy that sets it decides otherwise: to keep a row that others have changed, or to leave
  /// one deleted that others have deleted.
  public var isDeleted = false
}
