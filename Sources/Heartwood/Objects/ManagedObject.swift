public import Observation

/// An object of a graph: a row of the store, or one that will be.
///
/// Declare a class for each kind of object, with the wrappers ``Attribute``, ``ToOne``, ``ToMany``,
/// ``OrderedToMany`` and ``Transient``:
///
/// ```swift
/// final class Note: ManagedObject {
///   @Attribute var text: String = ""
///   @Attribute var created: Date = .now
/// }
/// ```
///
/// An object belongs to one context and is used where that is: by one thread at a time. It is
/// identical to itself only; another context has another object for the same row. One that was
/// fetched is a *fault* until a property is used.
nonisolated open class ManagedObject: Hashable, Identifiable, Observable {
  /// What has to be asked before a property is read or written; zero for most objects.
  // Unchecked, as is what follows: it is asked at every access, is only ever changed by the same
  // thread, and nobody is called meanwhile.
  // One that is in no context yet notes what is set, which an insertion may have to know.
  @exclusivity(unchecked) @usableFromInline final var help: ObjectHelp = .writing
  @exclusivity(unchecked) final var state: ObjectState = []
  @exclusivity(unchecked) final var number = ObjectNumber(bits: 0)
  /// The base of the transaction that wrote the row as it is here; 0 if there is none.
  @exclusivity(unchecked) final var version: UInt64 = 0
  /// The version of an object whose row was gone when it was to be read.
  static let goneVersion = UInt64.max
  @exclusivity(unchecked) final var entityDescription: EntityDescription?
  /// The context, which clears this when it goes.
  @exclusivity(unchecked) final unowned(unsafe) var source: (any ObjectSource)?
  @exclusivity(unchecked) final var changes: ObjectChanges?
  /// What the row holds of attributes that show another value, as the program cannot read it.
  @exclusivity(unchecked) final var unreadable: [Int: StoredValue]?
  /// Its place in the list of changed objects it is in.
  @exclusivity(unchecked) final var listPosition = 0

  /// Makes an object that belongs to no context yet; `insert` takes it into one.
  ///
  /// - Precondition: Every property has a value: subclasses declare defaults and need no `init`.
  public required init() {}

  deinit {
    if state.contains(.registered) { source?.forget(number) }
    if changes != nil || entityDescription?.relationships.isEmpty == false { releaseChain() }
  }

  /// What the class is called in the store, and its rules; by default its name, and none.
  open class var entity: Entity { Entity(String(describing: self)) }

  // MARK: State

  /// Whether its values have not been loaded.
  public final var isFault: Bool { state.contains(.fault) }
  /// Whether it will be a new row when its context is saved.
  public final var isInserted: Bool { state.contains(.inserted) }
  /// Whether its row will be changed when its context is saved.
  public final var isUpdated: Bool { state.contains(.updated) && !isDeleted && !isInserted }
  /// Whether its row will be gone when its context is saved, or is gone.
  public final var isDeleted: Bool { state.contains(.deleted) }
  /// Whether saving its context would do something to it.
  public final var hasChanges: Bool { isInserted || isUpdated || isDeleted }

  /// Whether it counts as deleted because its row was gone, and not because somebody asked for it.
  final var isGivenUp: Bool { isDeleted && version == Self.goneVersion }

  // MARK: Callbacks

  /// Called once, when the object has been inserted into its first context.
  open func awakeFromInsert() {}
  /// Called each time the values of a fault were loaded; what it sets is no change.
  open func awakeFromFetch() {}
  /// Called before the context is saved, again if a round of these calls has changed the object.
  open func willSave() throws {}
  /// Called after the context was saved.
  open func didSave() {}
  /// Called when the object is deleted, before its relationships are.
  open func prepareForDeletion() {}
  /// Called before the object becomes a fault; its values can still be read.
  open func willTurnIntoFault() {}
  /// Called after the object has become a fault.
  open func didTurnIntoFault() {}
  /// Throws if the object must not be saved as it is; called for those inserted and updated.
  open func validate() throws {}

  // MARK: Identity

  /// Whether both are the same object.
  public static func == (first: ManagedObject, second: ManagedObject) -> Bool { first === second }

  /// Feeds its identity, which loads nothing.
  public final func hash(into hasher: inout Hasher) {
    if HashRecorder.isRecording { HashRecorder.note(ObjectIdentifier(self)) }
    hasher.combine(ObjectIdentifier(self))
  }
}

/// When properties of an object cannot simply be used.
@usableFromInline
struct ObjectHelp: OptionSet, Sendable {
  @usableFromInline let rawValue: UInt8
  @usableFromInline init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Reading has to load something, or is only asked which property it would read.
  @usableFromInline static let reading = ObjectHelp(rawValue: 1)
  /// Writing has to be told of.
  @usableFromInline static let writing = ObjectHelp(rawValue: 2)
  /// Reading and writing are told to those who observe the object; reading has to be asked then.
  @usableFromInline static let observed = ObjectHelp(rawValue: 4)
}

/// Where an object stands.
struct ObjectState: OptionSet, Sendable {
  let rawValue: UInt16

  static let registered = ObjectState(rawValue: 1)
  static let fault = ObjectState(rawValue: 2)
  static let inserted = ObjectState(rawValue: 4)
  static let updated = ObjectState(rawValue: 8)
  static let deleted = ObjectState(rawValue: 16)
  /// Made to find out which properties a key path names.
  static let prototype = ObjectState(rawValue: 32)
  static let hasAwoken = ObjectState(rawValue: 64)
  /// Asked whether it may be saved.
  static let isAsked = ObjectState(rawValue: 128)
  /// Its members may have been read in another generation than its values.
  static let hasOtherMembers = ObjectState(rawValue: 256)
}
