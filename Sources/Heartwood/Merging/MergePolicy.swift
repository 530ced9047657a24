/// The handling of conflicts in a save: objects that another context changed since they were read,
/// and objects that would have the same unique values.
///
/// Conflicts are determined property by property: all merging policies keep a change that only one
/// side made. The meanings are those of Core Data's policies.
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

  /// The save throws, and writes nothing.
  public static let error = MergePolicy(.error)
  /// A property that both sides changed has the value in the store.
  public static let mergeByPropertyStoreTrump = MergePolicy(.storeTrump)
  /// A property that both sides changed has the value in the context.
  public static let mergeByPropertyObjectTrump = MergePolicy(.objectTrump)
  /// Objects in conflict are stored with all their values in the context.
  public static let overwrite = MergePolicy(.overwrite)
  /// Objects in conflict keep all their values in the store.
  public static let rollback = MergePolicy(.rollback)

  /// Resolves each conflict with `resolve`, property by property; an error it throws fails the
  /// save.
  ///
  /// It is called for each object that was changed or deleted here and also changed or deleted by
  /// another context. A property it does not set is merged as by ``mergeByPropertyObjectTrump``.
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

/// A conflict of an object that was changed both here and by another context, for a custom policy.
public struct MergeConflict: Sendable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The name of its entity.
  public let entityName: String
  /// The values of the attributes when the object was read, by name.
  public let base: [String: StoredValue]
  /// The values of the attributes in this context; empty if the object was deleted here.
  public let mine: [String: StoredValue]
  /// The values of the attributes in the store; `nil` if the object was deleted there.
  public let theirs: [String: StoredValue]?
  /// The targets of to-one relationships when the object was read, by name.
  public let baseReferences: [String: ManagedObjectID]
  /// The targets of to-one relationships in this context.
  public let myReferences: [String: ManagedObjectID]
  /// The targets of to-one relationships in the store; `nil` if the object was deleted there.
  public let theirReferences: [String: ManagedObjectID]?
  /// Whether the object was deleted in this context.
  public let isDeletedHere: Bool
  /// The resolved values of attributes, by name; set by the policy.
  public var result: [String: StoredValue] = [:]
  /// The resolved targets of to-one relationships, by name; set by the policy.
  public var resultReferences: [String: ManagedObjectID?] = [:]
  /// Whether the row is deleted; initially `true` if the object was deleted here.
  ///
  /// A policy that sets it overrides that: it can keep a row that others have changed, or accept a
  /// deletion by others.
  public var isDeleted = false
}
