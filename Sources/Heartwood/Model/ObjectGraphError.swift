/// What went wrong in an object graph: a model, an object, a save.
///
/// What goes wrong below, in the store, is a `StorageError`.
public struct ObjectGraphError: Error, Sendable {
  /// The kind of failure; a struct, so that new kinds do not break a program's `switch`.
  public struct Kind: Hashable, Sendable {
    let name: String

    /// Another context has changed an object since it was read here.
    public static let mergeConflict = Kind(name: "mergeConflict")
    /// Two objects would have the same values where the model allows one.
    public static let constraintConflict = Kind(name: "constraintConflict")
    /// Objects are not as their class wants them; ``ObjectGraphError/failures`` says which.
    public static let validation = Kind(name: "validation")
    /// An object cannot be deleted while others refer to it.
    public static let deniedDelete = Kind(name: "deniedDelete")
    /// A class is no part of the model.
    public static let unknownEntity = Kind(name: "unknownEntity")
    /// A key path leads to no stored property.
    public static let unknownProperty = Kind(name: "unknownProperty")
    /// The model has an error; the message names class and property.
    public static let invalidModel = Kind(name: "invalidModel")
    /// The store was made with a model that this one cannot go on with.
    public static let incompatibleSchema = Kind(name: "incompatibleSchema")
    /// An object that belongs to another context, or to none, was used in this one.
    public static let foreignObject = Kind(name: "foreignObject")
    /// It was asked of a context below another what only the one at the top can do.
    public static let childContext = Kind(name: "childContext")
    /// A context that merges by itself was to stay at a given generation.
    public static let autoMergeNeedsCurrentGeneration = Kind(
      name: "autoMergeNeedsCurrentGeneration")
    /// An object was to give up relationships that were changed and not saved.
    public static let unsavedRelationships = Kind(name: "unsavedRelationships")
    /// What followed a token was deleted from the history.
    public static let historyExpired = Kind(name: "historyExpired")
    /// The store was removed from the container.
    public static let removedStore = Kind(name: "removedStore")
    /// What was changed is of several stores, and one commit is in one store.
    public static let severalStores = Kind(name: "severalStores")
    /// The store has no object of this ID.
    public static let missingObject = Kind(name: "missingObject")
    /// A predicate asks what cannot be asked of a store; the message names the part.
    public static let unsupportedPredicate = Kind(name: "unsupportedPredicate")
    /// The sum of an attribute does not fit its type.
    public static let numericOverflow = Kind(name: "numericOverflow")
    /// The format of a predicate cannot be read; the message says where, and what was expected.
    public static let predicateSyntax = Kind(name: "predicateSyntax")
    /// The willSave callbacks keep changing objects.
    public static let endlessSave = Kind(name: "endlessSave")
  }

  /// The kind of failure.
  public var kind: Kind
  /// A sentence: what happened and what to do about it.
  public var message: String
  /// The object concerned.
  public var objectID: ManagedObjectID?
  /// The single failures, if there are several.
  public var failures: [ObjectGraphError] = []

  /// The name of the class concerned, as the store has it.
  public var entityName: String?
  /// The name of the property concerned.
  public var propertyName: String?
  /// The error that led to this one, such as what `validate` threw.
  public var underlyingError: (any Error)?

  /// Describes a failure.
  ///
  /// - Parameters:
  ///   - kind: The kind of failure.
  ///   - message: A sentence: what happened and what to do about it.
  ///   - property: The name of the property concerned.
  ///   - objectID: The object concerned; a save fills in the one whose `validate` throws.
  ///   - underlyingError: The error that led to this one.
  public init(
    _ kind: Kind, _ message: String, property: String? = nil, objectID: ManagedObjectID? = nil,
    underlyingError: (any Error)? = nil
  ) {
    self.kind = kind
    self.message = message
    self.objectID = objectID
    propertyName = property
    self.underlyingError = underlyingError
  }
}

extension [ObjectGraphError] {
  /// Throws the failure if there is one, and one that has all of them if there are several.
  func throwAll(_ kind: ObjectGraphError.Kind, _ predicate: String) throws {
    guard let first else { return }
    guard count > 1 else { throw first }
    var all = ObjectGraphError(
      kind, "\(count) objects \(predicate).", objectID: first.objectID)
    all.failures = self
    throw all
  }
}

extension ObjectGraphError: CustomStringConvertible {
  /// The message, after the class and the property if they are known, and those of the single
  /// failures.
  public var description: String {
    let subject = [entityName, propertyName].compactMap { $0 }.joined(separator: ".")
    let line = subject.isEmpty ? message : "\(subject): \(message)"
    return ([line] + failures.map { "- \($0)" }).joined(separator: "\n")
  }
}

extension ObjectGraphError.Kind: CustomStringConvertible {
  /// The name of the static member.
  public var description: String { name }
}
