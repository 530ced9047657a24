public import Observation

/// An object that represents a row in the store, or a row that the next save will insert.
///
/// Declare a subclass for each kind of object, using the wrappers ``Attribute``, ``ToOne``,
/// ``ToMany``, ``OrderedToMany`` and ``Transient``:
///
/// ```swift
/// final class Note: ManagedObject {
///   @Attribute var text: String = ""
///   @Attribute var created: Date = .now
/// }
/// ```
///
/// An object belongs to one context. It can be used only in that context, and by only one thread at
/// a time. Each context has its own object for each row, and two objects are equal only if they are
/// the same instance.
///
/// A fetched object has its values in memory. An object that is reached through a relationship may
/// be a *fault*, whose values are loaded when one of its properties is first used.
nonisolated open class ManagedObject: Hashable, Identifiable, Observable {
  /// The kinds of property access that require extra work.
  ///
  /// For most objects, this set is empty.
  // Every property access reads some of the variables below, so exclusivity checks are disabled for
  // them to save time. This is safe, because only the object's thread writes the variables, and no
  // other code runs during an access. A new object starts with `.writing`, because its insertion
  // into a context may depend on which properties were set.
  @exclusivity(unchecked) @usableFromInline final var hooks: AccessHooks = .writing
  @exclusivity(unchecked) final var state: ObjectState = []
  @exclusivity(unchecked) final var number = ObjectNumber(bits: 0)
  /// The version of the object's row when the context last read or wrote it, or 0 if there is no
  /// row.
  ///
  /// A row's version is the base of the transaction that wrote the row. The base of a transaction
  /// is the number of its first frame. In a child context, `version` is the version that the
  /// parent's object had when this object was filled from it.
  @exclusivity(unchecked) final var version: UInt64 = 0
  /// The value of `version` for an object whose row was missing when the context tried to load the
  /// object.
  static let missingRowVersion = UInt64.max
  @exclusivity(unchecked) final var entityDescription: EntityDescription?
  /// The object's context, or `nil` if the object is not in a context.
  ///
  /// When a context is deallocated, it clears this reference in its objects.
  @exclusivity(unchecked) final unowned(unsafe) var source: (any ObjectSource)?
  @exclusivity(unchecked) final var changes: ObjectChanges?
  /// The stored values of unedited attributes whose values in memory differ from the row, keyed by
  /// slot.
  @exclusivity(unchecked) final var keptValues: [Int: KeptValue]?
  /// The object's index in the context's list of changed objects.
  ///
  /// The index is undefined if the object is not in that list.
  @exclusivity(unchecked) final var listPosition = 0

  /// Creates an object that does not yet belong to a context.
  ///
  /// Call `insert` to add the object to a context.
  ///
  /// - Precondition: Every property of the subclass is declared with an initial value. Subclasses
  ///   therefore need no `init`.
  public required init() {}

  deinit {
    if state.contains(.registered) { source?.forget(number) }
    if changes != nil || entityDescription?.relationships.isEmpty == false { releaseChain() }
  }

  /// The declaration of the class's entity: its name in the store and its rules.
  ///
  /// By default, the entity has the name of the class and no rules.
  open class var entity: Entity { Entity(String(describing: self)) }

  // MARK: State

  /// A Boolean value that indicates whether the object is a fault, which means that its values are
  /// not loaded.
  public final var isFault: Bool { state.contains(.fault) }
  /// A Boolean value that indicates whether the next save inserts a row for the object.
  public final var isInserted: Bool { state.contains(.inserted) }
  /// A Boolean value that indicates whether any property has been set since the object was last
  /// read or saved.
  ///
  /// Setting a property to its current value is also considered an update.
  public final var isUpdated: Bool { state.contains(.updated) && !isDeleted && !isInserted }
  /// A Boolean value that indicates whether the object's row no longer exists or will be deleted by
  /// the next save.
  public final var isDeleted: Bool { state.contains(.deleted) }
  /// A Boolean value that indicates whether the object was inserted, updated or deleted.
  public final var hasChanges: Bool { isInserted || isUpdated || isDeleted }

  /// A Boolean value that indicates whether the object is treated as deleted although `delete` was
  /// not called.
  ///
  /// An object is treated as deleted if its row was missing when the context tried to load it.
  final var isInaccessible: Bool { isDeleted && version == Self.missingRowVersion }

  // MARK: Callbacks

  /// Called once, after the object has been inserted into a context for the first time.
  open func awakeFromInsert() {}
  /// Called each time the values of a fault have been loaded.
  ///
  /// Setting an attribute of the object in this method is not considered a change. The row keeps
  /// the attribute's stored value until the attribute is set outside this method.
  open func awakeFromFetch() {}
  /// Called before the context is saved.
  ///
  /// If the object changes itself in this method, the method is called again.
  open func willSave() throws {}
  /// Called after the context has been saved.
  open func didSave() {}
  /// Called when the object is deleted, before its relationships are updated.
  open func prepareForDeletion() {}
  /// Called before the object becomes a fault, while its values can still be read.
  open func willTurnIntoFault() {}
  /// Called after the object has become a fault.
  open func didTurnIntoFault() {}
  /// Throws an error if the object's current state is invalid and must not be saved.
  ///
  /// Each save calls this method on inserted and updated objects.
  open func validate() throws {}

  // MARK: Identity

  /// Returns whether two references refer to the same instance.
  public static func == (first: ManagedObject, second: ManagedObject) -> Bool { first === second }

  /// Hashes the object's identity, without loading its values.
  public final func hash(into hasher: inout Hasher) {
    if HashRecorder.isRecording { HashRecorder.record(ObjectIdentifier(self)) }
    hasher.combine(ObjectIdentifier(self))
  }
}

/// The conditions under which a property access needs extra work.
@usableFromInline
struct AccessHooks: OptionSet, Sendable {
  @usableFromInline let rawValue: UInt8
  @usableFromInline init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Reads must first load the object's values or record the property as read.
  @usableFromInline static let reading = AccessHooks(rawValue: 1)
  /// Writes must first notify the context.
  @usableFromInline static let writing = AccessHooks(rawValue: 2)
  /// Reads and writes must be reported to observers.
  ///
  /// This option is always combined with `reading`.
  @usableFromInline static let observed = AccessHooks(rawValue: 4)
}

/// The state of an object.
struct ObjectState: OptionSet, Sendable {
  let rawValue: UInt16

  static let registered = ObjectState(rawValue: 1)
  static let fault = ObjectState(rawValue: 2)
  static let inserted = ObjectState(rawValue: 4)
  static let updated = ObjectState(rawValue: 8)
  static let deleted = ObjectState(rawValue: 16)
  /// The object exists only to resolve key paths.
  static let prototype = ObjectState(rawValue: 32)
  static let hasAwoken = ObjectState(rawValue: 64)
  /// `willSave` was called in the current save, so it is called again only if the object changes.
  static let willSaveCalled = ObjectState(rawValue: 128)
  /// The members of the object's relationships may have been read from a different generation than
  /// the object's values.
  static let membersMayBeStale = ObjectState(rawValue: 256)
  /// The object was marked as deleted without having been loaded, because it has no row.
  static let withoutValues = ObjectState(rawValue: 512)
  /// The object's `awakeFromFetch` is running, so setting an attribute is not considered an edit.
  static let awakening = ObjectState(rawValue: 1024)
  /// The object was deleted in its context, and a merge has found that others have deleted its row.
  static let deletedElsewhere = ObjectState(rawValue: 2048)
}
