/// A workspace in which a program fetches, creates and changes objects.
///
/// A save commits all changes as one generation. A context has at most one object for each row, and
/// references its objects weakly unless they have unsaved changes.
///
/// A context and its objects must be used by only one thread at a time. If two threads use a
/// context at once, debug builds trap, but release builds trap only if `HEARTWOOD_CHECKS=1` is set
/// in the environment.
///
/// ```swift
/// let note = Note(context: context)
/// note.text = "milk"
/// try context.save()
/// ```
public final class ManagedObjectContext {
  let store: Store
  let model: StoreModel
  /// The stores of the container, including the store of this context.
  let group: StoreGroup
  /// The parent, which this context uses as its store, or `nil` if this is not a child context.
  let parent: ManagedObjectContext?
  /// The root context that owns this store context, or `nil` for a root context.
  unowned let owner: ManagedObjectContext?
  /// A Boolean value that indicates whether this store context was created with an owner, which may
  /// have been deallocated since.
  let isOwned: Bool
  /// The store contexts of all stores except the first, created on first use.
  @exclusivity(unchecked) var otherStoreContexts: [ManagedObjectContext] = []
  @exclusivity(unchecked) var children: [Child] = []
  /// The check that detects when two threads use the context, its parents or its children at the
  /// same time, or `nil` if the check is off.
  let confinement: ConfinementCheck?
  /// The name of the context in the log and in the history.
  public var name: String?
  /// The author that the history records for the context's changes.
  public var transactionAuthor: String?
  /// The policy for conflicts during a save.
  ///
  /// By default, a save throws an error if there is a conflict.
  public var mergePolicy: MergePolicy = .error
  /// A Boolean value that indicates whether reading an object whose row no longer exists marks it
  /// as deleted.
  ///
  /// If the property is `false`, reading such an object sets ``faultError``.
  public var shouldDeleteInaccessibleFaults = true
  /// A closure that decides whether to treat an object as deleted if its row no longer exists.
  ///
  /// If the property is `nil`, ``shouldDeleteInaccessibleFaults`` decides for all objects. The
  /// closure is not called while objects are being deleted. Methods such as
  /// `existingObject(_:with:)` do not call the closure either, because their results already show
  /// that a row is missing.
  public var shouldHandleInaccessibleFault: ((_ fault: ManagedObject) -> Bool)?
  /// A Boolean value that indicates whether the context retains all its objects, including objects
  /// without unsaved changes.
  @exclusivity(unchecked) public var retainsRegisteredObjects = false {
    didSet {
      retained = retainsRegisteredObjects ? allRegistered() : []
      for storeContext in otherStoreContexts {
        storeContext.retainsRegisteredObjects = retainsRegisteredObjects
      }
    }
  }
  /// The first error that prevented an object from being read, or `nil` if there was none.
  ///
  /// Fetches and saves throw this error until ``reset()`` is called.
  public internal(set) var faultError: (any Error)?

  /// The closure that is called after automatic merging has been turned on or off.
  var automaticMergingChanged: ((Bool) -> Void)?
  /// The state of automatic merging, or `nil` if it is off.
  var autoMerge: AutoMerge?

  /// The registered objects, keyed by number.
  ///
  /// The objects are not retained: each object removes itself when it is deallocated. Like the
  /// context's other collections, the table skips exclusivity checks, because it is used for every
  /// row. Skipping the checks is safe, because changing a table does not call any other code.
  @exclusivity(unchecked) var registered = NumberTable<Unmanaged<ManagedObject>>()
  var retained: [ManagedObject] = []
  @exclusivity(unchecked) var inserted = ObjectList()
  @exclusivity(unchecked) var updated = ObjectList()
  @exclusivity(unchecked) var deleted = ObjectList()
  /// The numbers of the objects that this child context has marked as deleted because they were
  /// missing.
  ///
  /// Some of these objects may no longer be marked as deleted.
  var missing: Set<ObjectNumber> = []
  /// The indexes over objects with unsaved changes, one for each unique attribute that has been
  /// used in a lookup.
  @exclusivity(unchecked) var pendingValues: [PendingValues] = []
  /// The unchanged objects that the next save checks for conflicts.
  var watched: Set<ManagedObject> = []
  /// The numbers of objects whose loaded relationships omit objects that were deleted in this
  /// context.
  var hidingMembers: Set<ObjectNumber> = []
  /// The stored relationships of the objects that were deleted in this context.
  var storedRelations = StoredRelations()
  /// The generation of the last save, or `nil` if some of the context's objects were not up to date
  /// with that generation.
  var upToDate: Generation?
  @exclusivity(unchecked) var undoLog: UndoLog?
  /// A Boolean value that indicates whether all changes during one event form one undo group.
  ///
  /// The default is `false`. In a view context, an event ends when the main actor becomes free. In
  /// a background context, an event ends when a `perform` block ends. In other contexts, the
  /// property has no effect.
  public var groupsUndoByEvent = false
  /// A Boolean value that indicates whether each save of changes discards the changes
  /// recorded for undo.
  ///
  /// If the property is `true`, ``undo()`` reverts only changes made since the last save. The
  /// default is `false`.
  public var discardsUndoOnSave = false
  /// A closure that is called at the first change of each undo group.
  ///
  /// The default is `nil`. Another undo manager can use the closure to register an action that
  /// calls ``undo()``.
  public var undoGroupBegan: (() -> Void)?
  /// The queues that receive the context's changes, one for each observer.
  @exclusivity(unchecked) var changeQueues: [WeakChangeQueue] = []
  /// The follower that maintains lists of this store context's objects.
  @exclusivity(unchecked) var follower: (any ContextFollower)?
  /// A Boolean value that indicates whether this store context or one of its children has a
  /// follower.
  @exclusivity(unchecked) var isFollowed = false
  /// The closure that schedules a call to ``processPendingChanges()``, or `nil` if calls cannot be
  /// scheduled.
  var scheduleProcessing: (() -> Void)?
  var isProcessingScheduled = false
  /// The object that notifies observers of this store context's objects, or `nil` if the objects
  /// are not observable.
  @exclusivity(unchecked) var observer: ContextObserver?
  /// The fast paths of the context, which tests can turn off.
  @exclusivity(unchecked) package var fastPaths = FastPaths()
  /// The entity of the most recently inserted object.
  @exclusivity(unchecked) private var recentEntity: EntityDescription?
  @exclusivity(unchecked) private var temporaryNumbers = TemporaryNumbers()
  /// The numbers that objects had before they were saved.
  ///
  /// All contexts in the tree of parents and children share this map.
  package let renumbered: RenumberedObjects
  /// The generation that the context reads.
  var pin = Pin.none {
    didSet { if case .at(let view) = pin { recordRead(view) } }
  }
  /// The pin to which the context returns after a temporary one, or `nil` if there is no temporary
  /// pin.
  var lastingPin: Pin?
  /// The newest generation that the context has read or saved, or `nil` if there is none.
  var newestRead: Generation?
  /// The view used by the last unpinned read.
  ///
  /// The context holds the view weakly; `model.recentViews` retains the view for a short time.
  weak var recentView: StoreView?
  /// The effect of a save on the context's pin.
  public var generationAfterSave = GenerationAfterSave.advance
  /// The objects whose deletion is in progress.
  ///
  /// The set ensures that a cyclic cascade ends.
  var isDeleting: Set<ObjectIdentifier> = []
  /// The relationships that are about to be cleared in one step because the objects that own them
  /// are being deleted.
  var clearing: Set<ClearedRelationship> = []

  /// Creates a context for the first store of a group.
  convenience init(_ group: StoreGroup) { self.init(group.first, of: group) }

  init(
    _ attached: StoreGroup.AttachedStore, of group: StoreGroup, parent: ManagedObjectContext? = nil,
    ownedBy owner: ManagedObjectContext? = nil
  ) {
    store = attached.store
    model = attached.model
    self.group = group
    self.parent = parent
    self.owner = owner
    isOwned = owner != nil
    renumbered = parent?.renumbered ?? RenumberedObjects()
    if let enclosing = owner ?? parent {
      confinement = enclosing.confinement
    } else {
      confinement = .ifOn()
    }
  }

  deinit {
    // Set the properties to `nil` before releasing the observers, because an observer may hold the
    // last reference to an object, whose deinitialiser reads these properties.
    let last = (follower, observer)
    (follower, observer, isFollowed) = (nil, nil, false)
    withExtendedLifetime(last) {}
    // The compiler may release the context right after its last use. Keep loaded attributes
    // readable, because the program may still use the objects.
    abandonAll(isOver: true)
    if !isOwned { for reference in changeQueues { reference.queue?.end() } }
  }

  /// The author and the context name that the history records for this context's changes.
  var origin: HistoryWriter.Origin {
    HistoryWriter.Origin(author: rootContext.transactionAuthor, contextName: rootContext.name)
  }

  // MARK: Changes

  /// A Boolean value that indicates whether a save would write anything.
  ///
  /// Objects deleted by other contexts do not count, and neither do objects whose properties were
  /// only set to their existing values.
  ///
  /// - Complexity: O(objects whose properties were only set to their existing values).
  public var hasChanges: Bool {
    defer { observer?.recordRead(\.hasChanges) }
    return storeContexts.contains(where: \.hasEffectiveChanges)
  }
  /// A Boolean value that indicates whether a save would write anything for this store context.
  private var hasEffectiveChanges: Bool {
    // Iterate over copies, because discarding edits changes the lists.
    let (updated, deleted) = (updated, deleted)
    return !inserted.isEmpty || deleted.contains { !$0.isInaccessible }
      || updated.contains { !discardNoOpEdits(of: $0) }
  }
  /// A Boolean value that indicates whether this store context has recorded changes, even if a save
  /// would write nothing for them.
  var hasOwnChanges: Bool { !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty }
  /// The objects that the next save will insert.
  public var insertedObjects: Set<ManagedObject> {
    defer { observer?.recordRead(\.insertedObjects) }
    return gather { $0.inserted.all }
  }
  /// The objects that the next save will update.
  public var updatedObjects: Set<ManagedObject> {
    defer { observer?.recordRead(\.updatedObjects) }
    return gather { one in one.updated.all.filter { !one.discardNoOpEdits(of: $0) } }
  }
  /// The objects that the next save will delete, and the objects whose rows have been deleted by
  /// other contexts.
  public var deletedObjects: Set<ManagedObject> {
    defer { observer?.recordRead(\.deletedObjects) }
    return gather { $0.deleted.all }
  }
  /// All objects that are registered in the context, including faults.
  public var registeredObjects: Set<ManagedObject> { gather { $0.allRegistered() } }

  private func gather(_ list: (ManagedObjectContext) -> [ManagedObject]) -> Set<ManagedObject> {
    performAndWait { Set(storeContexts.flatMap(list)) }
  }

  func allRegistered() -> [ManagedObject] { registered.values.map { $0.takeUnretainedValue() } }

  // MARK: Reading the store

  /// Throws the recorded error if an object could not be read.
  func requireReadable() throws {
    if let faultError = rootContext.faultError { throw faultError }
  }

  /// Records an error that prevented an object from being read, unless an error is already
  /// recorded.
  func recordFaultError(_ error: any Error) {
    if rootContext.faultError == nil { rootContext.faultError = error }
  }

  // MARK: Registration

  /// Returns a temporary number that no object has ever had in any context.
  func nextTemporaryNumber(_ entity: EntityDescription) -> ObjectNumber {
    if let parent { return parent.nextTemporaryNumber(entity) }
    return temporaryNumbers.next(
      entity: model.storage(of: entity).number, at: entity.position)
  }

  func register(_ object: ManagedObject, _ number: ObjectNumber) {
    object.number = number
    object.source = self
    object.state.insert(.registered)
    registered[number] = .passUnretained(object)
    if retainsRegisteredObjects { retained.append(object) }
    if observer != nil { object.becomeObservable() }
  }

  /// Removes an object from the context.
  ///
  /// Afterwards, the object belongs to no context. The object keeps its attributes, but releases
  /// all related objects to break reference cycles.
  func abandon(_ object: ManagedObject) {
    let (wasNew, assigned) = (object.isInserted, object.changes?.assigned)
    object.state.subtract([.registered, .inserted, .updated])
    object.hooks = []
    object.releaseRelated()
    leave(object)
    object.changes?.wasNew = wasNew
    if let assigned { object.changes?.assigned = assigned }
  }

  /// Unregisters an object without changing its ID.
  func leave(_ object: ManagedObject) {
    // Check the object, because another object may have this number by now.
    if registered[object.number]?.takeUnretainedValue() === object {
      registered[object.number] = nil
      observer?.forget(object.number)
    }
    object.hooks.remove(.observed)
    object.source = nil
    object.changes = ObjectChanges()
    object.changes?.space = model.space
  }

  /// Removes all objects from this store context.
  ///
  /// - Parameter isOver: Whether the context is being deallocated. If it is, values that have not
  ///   been loaded can no longer be read.
  func abandonAll(isOver: Bool = false) {
    forgetUndo()
    for object in allRegistered() {
      // Unmark the object, because the deletion was not saved and the row still exists.
      if !object.isInaccessible { object.state.remove(.deleted) }
      abandon(object)
      guard isOver else { continue }
      if object.isFault { object.hooks = [.reading, .writing] }
      object.changes?.isOrphaned = true
    }
    registered.removeAll()
    retained = []
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    watched.removeAll()
    hidingMembers = []
    notifyFollowersOfAllObjects()
  }

  /// Discards the recorded undo groups, which no longer apply.
  func forgetUndo() {
    undoLog?.forget()
  }

  /// Returns the entity of an object's class.
  ///
  /// - Precondition: The object's class is in the model.
  func entity(of object: ManagedObject) -> EntityDescription {
    if let known = object.entityDescription { return known }
    if let recentEntity, recentEntity.type == type(of: object) { return recentEntity }
    guard let entity = model.schema.entity(of: type(of: object)) else {
      // Use `fatalError`, because `precondition` would drop the message in a release build.
      fatalError(
        "\(type(of: object)) is not part of the model. Add the class to the schema, or add a store "
          + "for the class.")
    }
    recentEntity = entity
    return entity
  }
}

extension ManagedObject {
  /// The context of the object, or `nil` if the object is in no context, for example before it is
  /// inserted.
  public final var managedObjectContext: ManagedObjectContext? { storeContext?.rootContext }

  /// The store context of the object, or `nil` if the object is in no context.
  final var storeContext: ManagedObjectContext? { source as? ManagedObjectContext }

  /// A Boolean value that indicates whether the object had a row when it left its context.
  ///
  /// The context assumes that an object had a row if the object was neither new nor deleted.
  final var hasRow: Bool { number.bits != 0 && !isDeleted && changes?.wasNew == false }

  /// The object's ID, which is temporary until the object is saved.
  ///
  /// - Precondition: The object was inserted into a context.
  public final var objectID: ManagedObjectID {
    guard let space = storeContext?.model.space ?? changes?.space else {
      fatalError(
        "This \(type(of: self)) has no ID until it is inserted into a context. Insert it before "
          + "you read its objectID.")
    }
    return ManagedObjectID(number, space)
  }

  /// Creates an object and inserts it into a context.
  public convenience init(context: ManagedObjectContext) {
    self.init()
    // Empty the list, because values set by an initialiser are treated as default values, not as
    // assigned values.
    changes?.written = []
    context.insert(self)
  }
}
