/// A place to work on objects: what is changed in it becomes one generation when it is saved.
///
/// A context and its objects are used by one thread at a time; debug builds trap where two are in
/// it at once, and others where the environment has `HEARTWOOD_CHECKS=1`. It holds its objects
/// weakly, unless they were changed; each row has at most one object in it.
///
/// ```swift
/// let note = Note(context: context)
/// note.text = "milk"
/// try context.save()
/// ```
public final class ManagedObjectContext {
  let store: Store
  let model: StoreModel
  /// The stores of the container, of which this is one.
  let group: StoreGroup
  /// The context that takes the place of the store, if it is one below another.
  let parent: ManagedObjectContext?
  /// The context that this is the part of another store of; `nil` for the one the program has.
  unowned let owner: ManagedObjectContext?
  /// Whether there is such a context, though it may be gone.
  let isPart: Bool
  /// The parts of this context for other stores than the first, as far as they were needed.
  var others: [ManagedObjectContext] = []
  @exclusivity(unchecked) var children: [Child] = []
  /// What finds two threads in the context, or in one above or below it; `nil` if nothing does.
  let confinement: ConfinementCheck?
  /// A name for people: logs and history.
  public var name: String?
  /// Who makes the changes, for the history.
  public var transactionAuthor: String?
  /// What happens when a save meets the changes of others; by default it throws.
  public var mergePolicy: MergePolicy = .error
  /// Whether an object whose row is gone counts as deleted when it is read; if not, reading it sets
  /// ``faultError``.
  public var shouldDeleteInaccessibleFaults = true
  /// Decides it for one object, if set: whether that counts as deleted.
  ///
  /// Not called where the caller is told by other means, nor while objects are being deleted.
  public var shouldHandleInaccessibleFault: ((_ fault: ManagedObject) -> Bool)?
  /// Whether the context holds all its objects, not only those that were changed.
  public var retainsRegisteredObjects = false {
    didSet {
      retained = retainsRegisteredObjects ? allRegistered() : []
      for part in others { part.retainsRegisteredObjects = retainsRegisteredObjects }
    }
  }
  /// Why an object could not be read; fetching and saving throw it until ``reset()``.
  public internal(set) var faultError: (any Error)?

  /// Told when somebody wants the context to merge by itself, or does not any more.
  var automaticMergingChanged: ((Bool) -> Void)?
  /// How far it has merged what others have saved; `nil` if it does not do so by itself.
  var autoMerge: AutoMerge?

  /// The objects by number, not retained: one takes itself out when it goes.
  ///
  /// Unchecked, as are other lists here, because it is used for every row, and a table calls nobody
  /// while it is changed.
  @exclusivity(unchecked) var registered = NumberTable<Unmanaged<ManagedObject>>()
  var retained: [ManagedObject] = []
  @exclusivity(unchecked) var inserted = ObjectList()
  @exclusivity(unchecked) var updated = ObjectList()
  @exclusivity(unchecked) var deleted = ObjectList()
  /// Where objects with unsaved changes are, by the unique attributes that were asked for.
  @exclusivity(unchecked) var pendingValues: [PendingValues] = []
  /// Objects that a save checks though they are unchanged.
  var watched: Set<ManagedObject> = []
  /// Objects whose members were read without those that were deleted here.
  var hidingMembers: Set<ObjectNumber> = []
  /// The generation of the last save, if no object here was older than that then.
  var upToDate: Generation?
  var undoLog: UndoLog?
  /// Those who want to be told what happens here.
  var listeners: [WeakListener] = []
  /// Who keeps lists of objects of this part up to date.
  var follower: (any ContextFollower)?
  /// Whether somebody follows this part, or one of a context below.
  var isFollowed = false
  /// Has ``processPendingChanges()`` called soon, if somebody can.
  var scheduleProcessing: (() -> Void)?
  var isProcessingScheduled = false
  /// Who tells those who observe objects of this part; `nil` if they cannot be observed.
  var observer: ContextObserver?
  @exclusivity(unchecked) private var temporaryNumbers = TemporaryNumbers()
  /// The numbers that objects had before they were saved, in all contexts from the root downwards.
  package let renumbered: RenumberedObjects
  /// Which generation is read.
  var pin = Pin.none
  /// What was read last without a pin; held for a moment only.
  weak var recentView: StoreView?
  /// What becomes of a pin when the context has saved.
  public var generationAfterSave = GenerationAfterSave.advance
  /// Objects that are being deleted, so that a cycle of cascades ends.
  var isDeleting: Set<ObjectIdentifier> = []
  /// Relationships of those that are about to lose all members.
  var clearing: Set<ClearedRelationship> = []

  /// Makes a context of the first store of a group.
  convenience init(_ group: StoreGroup) { self.init(group.first, of: group) }

  init(
    _ member: StoreGroup.Member, of group: StoreGroup, parent: ManagedObjectContext? = nil,
    partOf owner: ManagedObjectContext? = nil
  ) {
    store = member.store
    model = member.model
    self.group = group
    self.parent = parent
    self.owner = owner
    isPart = owner != nil
    renumbered = parent?.renumbered ?? RenumberedObjects()
    if let above = owner ?? parent {
      confinement = above.confinement
    } else {
      confinement = .ifOn()
    }
  }

  deinit {
    (follower, observer, isFollowed) = (nil, nil, false)
    // What was loaded can still be read: the compiler lets go of a context after its last use, and
    // objects may be used for longer.
    abandonAll(isOver: true)
    if !isPart { for place in listeners { place.listener?.end() } }
  }

  /// Who makes the changes, for the history.
  var origin: HistoryWriter.Origin {
    HistoryWriter.Origin(author: whole.transactionAuthor, contextName: whole.name)
  }

  // MARK: What has changed

  /// Whether saving would do something.
  public var hasChanges: Bool {
    observer?.noteRead(\.hasChanges)
    return hasOwnChanges || others.contains(where: \.hasOwnChanges)
  }
  /// Whether saving would do something to the store of this part.
  var hasOwnChanges: Bool { !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty }
  /// Objects that will be new rows.
  public var insertedObjects: Set<ManagedObject> {
    observer?.noteRead(\.insertedObjects)
    return gather { $0.inserted.all }
  }
  /// Objects whose rows will be changed.
  public var updatedObjects: Set<ManagedObject> {
    observer?.noteRead(\.updatedObjects)
    return gather { $0.updated.all }
  }
  /// Objects whose rows will be gone.
  public var deletedObjects: Set<ManagedObject> {
    observer?.noteRead(\.deletedObjects)
    return gather { $0.deleted.all }
  }
  /// All objects that are in use.
  public var registeredObjects: Set<ManagedObject> { gather { $0.allRegistered() } }

  private func gather(_ list: (ManagedObjectContext) -> [ManagedObject]) -> Set<ManagedObject> {
    performAndWait { Set(parts.flatMap(list)) }
  }

  func allRegistered() -> [ManagedObject] { registered.values.map { $0.takeUnretainedValue() } }

  // MARK: Reading the store

  /// Throws what kept an object from being read.
  func requireReadable() throws {
    if let faultError = whole.faultError { throw faultError }
  }

  /// Notes why an object could not be read.
  func noteUnreadable(_ error: any Error) {
    if whole.faultError == nil { whole.faultError = error }
  }

  // MARK: Registration

  /// The number of a new object, which no other object has or had, in any context.
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

  /// Ends an object's time in the context; it is of no context then.
  ///
  /// Its attributes stay as they are. It lets go of all related objects: those that hold each other
  /// would do so for ever.
  func abandon(_ object: ManagedObject) {
    let (wasNew, assigned) = (object.isInserted, object.changes?.assigned)
    object.state.subtract([.registered, .inserted, .updated])
    object.help = []
    object.releaseRelated()
    leave(object)
    object.changes?.wasNew = wasNew
    if let assigned { object.changes?.assigned = assigned }
  }

  /// Lets go of an object, which keeps its ID.
  func leave(_ object: ManagedObject) {
    // Its number may be another object's by now.
    if registered[object.number]?.takeUnretainedValue() === object {
      registered[object.number] = nil
      observer?.forget(object.number)
    }
    object.help.remove(.observed)
    object.source = nil
    object.changes = ObjectChanges()
    object.changes?.space = model.space
  }

  /// Ends the time of all objects.
  ///
  /// - Parameter isOver: Whether the context is, so that what was not loaded cannot be known.
  func abandonAll(isOver: Bool = false) {
    forgetUndo()
    for object in allRegistered() {
      abandon(object)
      guard isOver else { continue }
      if object.isFault { object.help = [.reading, .writing] }
      object.changes?.isOrphaned = true
    }
    registered.removeAll()
    retained = []
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    watched.removeAll()
    hidingMembers = []
    tellFollowersOfAll()
  }

  /// Forgets what could be taken back, because it can not any more.
  func forgetUndo() {
    undoLog?.forget()
  }

  /// The entity of an object's class, which must be part of the model.
  func entity(of object: ManagedObject) -> EntityDescription {
    if let known = object.entityDescription { return known }
    guard let entity = model.schema.entity(of: type(of: object)) else {
      // Not a precondition: those do not say in release builds what is wrong.
      fatalError(
        "\(type(of: object)) is no part of the model; name it when you make the Schema, or add a "
          + "store for it")
    }
    return entity
  }
}

extension ManagedObject {
  /// The context it belongs to; `nil` before it was inserted, and after the context is gone.
  public final var managedObjectContext: ManagedObjectContext? { part?.whole }

  /// The part of that context which it is in.
  final var part: ManagedObjectContext? { source as? ManagedObjectContext }

  /// Whether it left a context, and its row is there still as far as that knew.
  final var hasRow: Bool { number.bits != 0 && !isDeleted && changes?.wasNew == false }

  /// What names it; temporary until it was saved.
  ///
  /// - Precondition: It was inserted into a context.
  public final var objectID: ManagedObjectID {
    guard let space = part?.model.space ?? changes?.space else {
      fatalError("A \(type(of: self)) that was inserted into no context has no ID.")
    }
    return ManagedObjectID(number, space)
  }

  /// Makes an object and inserts it.
  public convenience init(context: ManagedObjectContext) {
    self.init()
    // What an initializer sets is what a new object has by itself.
    changes?.written = []
    context.insert(self)
  }
}
