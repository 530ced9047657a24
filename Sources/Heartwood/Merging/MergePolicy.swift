/// A policy that determines how a save handles conflicts.
///
/// An object is in conflict if another context has changed it since it was read, or if it would
/// have the same unique values as another object.
///
/// If only one side has changed a property, a merge-by-property or custom policy keeps that change.
/// The policies work like Core Data's merge policies.
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

  /// A policy that causes the save to throw an error and write nothing.
  public static let error = MergePolicy(.error)
  /// A policy that keeps the value in the store if both sides changed a property.
  public static let mergeByPropertyStoreTrump = MergePolicy(.storeTrump)
  /// A policy that saves the value in the context if both sides changed a property.
  public static let mergeByPropertyObjectTrump = MergePolicy(.objectTrump)
  /// A policy that saves all of the context's values for conflicting objects.
  public static let overwrite = MergePolicy(.overwrite)
  /// A policy that keeps all of the store's values for conflicting objects.
  public static let rollback = MergePolicy(.rollback)

  /// Creates a policy that calls `resolve` to resolve each conflict, property by property.
  ///
  /// The closure is called for each object that this context and another context have both changed.
  /// The closure is also called if one context has changed an object and the other context has
  /// deleted it. If the closure throws, the save fails with the same error. Properties not set by
  /// the closure are merged as with ``mergeByPropertyObjectTrump``.
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

/// A conflict for a custom policy to resolve.
///
/// Either this context and another context have both changed the same object, or one context has
/// changed the object and the other context has deleted it.
public struct MergeConflict: Sendable {
  /// The ID of the object.
  public let objectID: ManagedObjectID
  /// The name of the object's entity.
  public let entityName: String
  /// The values of the attributes when the object was read, keyed by name.
  public let base: [String: StoredValue]
  /// The values of the attributes in this context, or an empty dictionary if the object was deleted
  /// in this context.
  public let mine: [String: StoredValue]
  /// The values of the attributes in the store, or `nil` if the object was deleted in the store.
  public let theirs: [String: StoredValue]?
  /// The targets of to-one relationships when the object was read, keyed by name.
  public let baseReferences: [String: ManagedObjectID]
  /// The targets of to-one relationships in this context, keyed by name.
  public let myReferences: [String: ManagedObjectID]
  /// The targets of to-one relationships in the store, keyed by name, or `nil` if the object was
  /// deleted in the store.
  public let theirReferences: [String: ManagedObjectID]?
  /// A Boolean value that indicates whether the object was deleted in this context.
  public let isDeletedHere: Bool
  /// The attribute values chosen by the policy, keyed by attribute name.
  public var result: [String: StoredValue] = [:]
  /// The to-one targets chosen by the policy, keyed by relationship name.
  public var resultReferences: [String: ManagedObjectID?] = [:]
  /// A Boolean value that indicates whether the save deletes the row.
  ///
  /// The initial value is `true` if the object was deleted in this context. A policy can set the
  /// property to `false` to keep a row that another context has changed, or to `true` to accept a
  /// deletion by another context.
  public var isDeleted = false
}
