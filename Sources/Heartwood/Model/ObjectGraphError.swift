/// A failure in the object graph: in a model, an object or a save.
///
/// A failure of the underlying store is reported as a `StorageError`.
public struct ObjectGraphError: Error, Sendable {
  /// A kind of failure.
  ///
  /// The type is a struct rather than an enumeration, so that new kinds do not break `switch`
  /// statements in existing code.
  public struct Kind: Hashable, Sendable {
    let name: String

    /// Another context saved a change to an object after this context had read it.
    public static let mergeConflict = Kind(name: "mergeConflict")
    /// Two objects would have the same values for attributes declared as unique in the model.
    public static let constraintConflict = Kind(name: "constraintConflict")
    /// Validation failed for one or more objects.
    public static let validation = Kind(name: "validation")
    /// An object cannot be deleted because a relationship with the delete rule `deny` is not empty.
    public static let deniedDelete = Kind(name: "deniedDelete")
    /// A class is not part of the model.
    public static let unknownEntity = Kind(name: "unknownEntity")
    /// A key path does not refer to a stored property.
    public static let unknownProperty = Kind(name: "unknownProperty")
    /// The model has an error.
    ///
    /// The message names the class and the property.
    public static let invalidModel = Kind(name: "invalidModel")
    /// The store's model cannot be migrated to the model that your classes declare.
    public static let incompatibleSchema = Kind(name: "incompatibleSchema")
    /// An object was used in a context to which it does not belong.
    public static let foreignObject = Kind(name: "foreignObject")
    /// A child context was used for an operation that only a root context supports.
    public static let childContext = Kind(name: "childContext")
    /// A context that merges changes automatically cannot stay pinned to a generation.
    public static let autoMergeNeedsCurrentGeneration = Kind(
      name: "autoMergeNeedsCurrentGeneration")
    /// An operation would discard unsaved changes to relationships.
    public static let unsavedRelationships = Kind(name: "unsavedRelationships")
    /// Some of the transactions that follow a history token have been deleted.
    public static let historyExpired = Kind(name: "historyExpired")
    /// The store required by an operation was removed from the container.
    public static let removedStore = Kind(name: "removedStore")
    /// The changes belong to several stores, but one commit can change only one store.
    public static let multipleStores = Kind(name: "multipleStores")
    /// The store has no object with the requested ID.
    public static let missingObject = Kind(name: "missingObject")
    /// A predicate contains an expression that a store cannot evaluate.
    ///
    /// The message names the expression.
    public static let unsupportedPredicate = Kind(name: "unsupportedPredicate")
    /// The sum of an attribute's values does not fit in the attribute's type.
    public static let numericOverflow = Kind(name: "numericOverflow")
    /// The format of a predicate cannot be parsed.
    ///
    /// The message states the column and what was expected there.
    public static let predicateSyntax = Kind(name: "predicateSyntax")
    /// A JSON element cannot be imported.
    ///
    /// The message contains the path to the invalid value.
    public static let invalidElement = Kind(name: "invalidElement")
    /// The `willSave` callbacks were still changing objects after 100 rounds.
    public static let saveDidNotConverge = Kind(name: "saveDidNotConverge")
  }

  /// The kind of failure.
  public var kind: Kind
  /// An explanation of what happened and what to do about it.
  public var message: String
  /// The ID of the affected object, if there is one.
  ///
  /// If there are several failures, this is the ID from the first failure.
  public var objectID: ManagedObjectID?
  /// The individual failures if there are several; otherwise, an empty array.
  public var failures: [ObjectGraphError] = []

  /// The stored name of the affected class, or `nil` if it is not known.
  public var entityName: String?
  /// The name of the affected property, or `nil` if it is not known.
  public var propertyName: String?
  /// The error that caused the failure, if any, such as an error that `validate` threw.
  public var underlyingError: (any Error)?

  /// The objects and attributes involved, if the failure is a conflict over unique values.
  var uniqueConflict: UniqueConflict?

  /// Creates an error of the given kind.
  ///
  /// - Parameters:
  ///   - kind: The kind of failure.
  ///   - message: An explanation of what happened and what to do about it.
  ///   - property: The name of the affected property.
  ///   - objectID: The ID of the affected object. If `validate` throws the error, the save sets
  ///     this ID.
  ///   - underlyingError: The underlying error.
  public init(
    _ kind: Kind, _ message: String, property: String? = nil, objectID: ManagedObjectID? = nil,
    underlyingError: (any Error)? = nil
  ) {
    self.kind = kind
    self.message = message
    self.objectID = objectID
    entityName = objectID?.entityName
    propertyName = property
    self.underlyingError = underlyingError
  }
}

/// A conflict over the unique values of two rows.
///
/// A row belongs to several objects if new objects are merged into it.
struct UniqueConflict: Sendable {
  /// The slots of the properties that determine the conflicting values.
  ///
  /// A derived attribute is represented by the property from which it is derived.
  let slots: [Int]
  let objects: [ManagedObjectID]
  /// The objects of the other row.
  let others: [ManagedObjectID]
}

extension [ObjectGraphError] {
  /// Throws the failure if there is only one, or a combined error if there are several.
  ///
  /// If there are no failures, the method does nothing.
  ///
  /// - Parameters:
  ///   - kind: The kind of the combined error.
  ///   - predicate: The part of the combined error's message that follows "*n* objects".
  func throwAll(_ kind: ObjectGraphError.Kind, _ predicate: String) throws {
    guard let first else { return }
    guard count > 1 else { throw first }
    var all = ObjectGraphError(
      kind, "\(count) objects \(predicate). See `failures` for the reasons.",
      objectID: first.objectID)
    all.failures = self
    throw all
  }
}

extension ObjectGraphError: CustomStringConvertible {
  /// The message, followed by the individual failures.
  ///
  /// If the names of the class and the property are known, they precede the message unless it
  /// already contains them.
  public var description: String {
    let isNamed = propertyName == nil && entityName.map(message.contains) ?? true
    let subject = [entityName, propertyName].compactMap { $0 }.joined(separator: ".")
    let line = isNamed ? message : "\(subject): \(message)"
    return ([line] + failures.map { "- \($0)" }).joined(separator: "\n")
  }
}

extension ObjectGraphError.Kind: CustomStringConvertible {
  /// The name of the static property that represents this kind, such as `validation`.
  public var description: String { name }
}
