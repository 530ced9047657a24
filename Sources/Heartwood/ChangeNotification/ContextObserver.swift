public import Observation

/// An object that notifies observers of changes to values that they have read from a context or its
/// objects.
final class ContextObserver {
  private unowned let storeContext: ManagedObjectContext
  private let registrar = ObservationRegistrar()
  private var observations = NumberTable<ObjectObservation>()
  /// The objects that may have changed since observers read values from them.
  private var changed: Set<ManagedObject> = []
  /// The counts of inserted, updated and deleted objects that observers last saw.
  ///
  /// The counts date from the latest notification. Before the first notification, they date from an
  /// observer's first read. The property is `nil` if no observer has read the counts yet.
  private var seen: [Int]?

  init(_ storeContext: ManagedObjectContext) {
    self.storeContext = storeContext
    for object in storeContext.allRegistered() { object.becomeObservable() }
  }

  // MARK: Objects

  func recordRead(_ object: ManagedObject, _ property: PropertyDescription) {
    guard let entity = object.entityDescription else { return }
    let observation = observations[object.number] ?? ObjectObservation(entity)
    observations[object.number] = observation
    // If the object may have changed since earlier observers read it, notify them now. Otherwise,
    // their values would be taken for the value that is read now.
    if !changed.isEmpty, changed.contains(object) {
      observation.notifyIfChanged(object, property.slot) { value(property, object) }
    }
    observation.recordRead(object, property.slot) { value(property, object) }
  }

  /// Notifies observers that a property of an object has been set.
  func notify(ofChangeTo object: ManagedObject, _ property: PropertyDescription) {
    observations[object.number]?.notifyIfChanged(object, property.slot) { value(property, object) }
  }

  /// Records that an object may have changed.
  func recordChange(of object: ManagedObject) {
    if observations[object.number] != nil, changed.insert(object).inserted {
      storeContext.scheduleProcessingOnce()
    }
    storeContext.rootContext.observer?.notifyOfContextChanges()
  }

  func recordNumber(_ new: ObjectNumber, insteadOf old: ObjectNumber) {
    observations[new] = observations[old]
    observations[old] = nil
  }

  func forget(_ number: ObjectNumber) { observations[number] = nil }

  /// Notifies observers of each value that has changed since they read it.
  ///
  /// Changed objects that are faults are loaded first.
  func notifyOfRecordedChanges() {
    notifyOfContextChanges()
    guard !changed.isEmpty else { return }
    let objects = changed
    changed = []
    for object in objects where object.source === storeContext {
      guard let observation = observations[object.number] else { continue }
      for property in object.entityDescription?.properties ?? []
      where observation.seen[property.slot] != nil {
        observation.notifyIfChanged(object, property.slot) { value(property, object) }
      }
    }
  }

  /// Returns the value of a property, for comparison with a value read earlier.
  ///
  /// A fault is loaded first. A to-many relationship is represented by a string that identifies its
  /// members. Returns `nil` if the property is transient or cannot be read.
  private func value(_ property: PropertyDescription, _ object: ManagedObject) -> StoredValue? {
    if object.isFault { storeContext.fire(object) }
    switch property.kind {
    case .attribute, .toOne: return try? object.storedValue(property)
    case .toMany(let isOrdered):
      let numbers = storeContext.loadedMembers(of: object, property).map(\.number)
      return .string((isOrdered ? numbers : numbers.sorted()).map { "\($0.bits)" }.joined())
    case .transient: return nil
    }
  }

  // MARK: The context

  private var counts: [Int] {
    [\ManagedObjectContext.inserted, \.updated, \.deleted].map { list in
      storeContext.storeContexts.reduce(0) { $0 + $1[keyPath: list].count }
    }
  }

  func recordRead(_ path: KeyPath<ManagedObjectContext, some Any>) {
    registrar.access(storeContext, keyPath: path)
    if seen == nil { seen = counts }
  }

  /// Notifies the context's observers if the count of inserted, updated or deleted objects has
  /// changed.
  func notifyOfContextChanges() {
    guard let before = seen else { return }
    let now = counts
    guard before != now else { return }
    seen = now
    func notify(_ path: KeyPath<ManagedObjectContext, some Any>) {
      registrar.withMutation(of: storeContext, keyPath: path) {}
    }
    if before[0] != now[0] { notify(\.insertedObjects) }
    if before[1] != now[1] { notify(\.updatedObjects) }
    if before[2] != now[2] { notify(\.deletedObjects) }
    let isEmpty = { (counts: [Int]) in counts.allSatisfy { $0 == 0 } }
    if isEmpty(before) != isEmpty(now) { notify(\.hasChanges) }
  }
}

extension ManagedObjectContext: Observable {
  /// A Boolean value that indicates whether observers can track the context's objects and its lists
  /// of changed objects.
  ///
  /// The default is `false`. While tracking is on, `withObservationTracking` and SwiftUI are
  /// notified when a stored property that they have read gets a new value. A refresh, merge or
  /// rollback that changes the value also notifies them. If a user interface displays the context's
  /// objects, turn on tracking before the user interface reads any object.
  ///
  /// ```swift
  /// container.viewContext.tracksObservation = true
  /// ```
  ///
  /// - Complexity: If tracking is on, reading a property takes about ten times as long, and the
  ///   context keeps the values that were read. If tracking is off, there is no cost.
  public var tracksObservation: Bool {
    get { observer != nil }
    set {
      confinement?.enter()
      defer { confinement?.leave() }
      guard newValue != tracksObservation else { return }
      for storeContext in storeContexts {
        storeContext.observer = newValue ? ContextObserver(storeContext) : nil
        guard !newValue else { continue }
        for object in storeContext.allRegistered() {
          object.hooks.remove(.observed)
          if !object.isFault { object.hooks.remove(.reading) }
        }
      }
    }
  }

  func didRead(_ object: ManagedObject, _ property: PropertyDescription) {
    observer?.recordRead(object, property)
  }

  func didChange(_ object: ManagedObject, _ property: PropertyDescription) {
    observer?.notify(ofChangeTo: object, property)
  }

  func didWriteElement(_ object: ManagedObject, _ property: PropertyDescription) {
    confinement?.enter()
    defer { confinement?.leave() }
    if object.isInserted {
      object.recordAssignmentIfSet(property)
    } else {
      discardNoOpEdit(of: object, property)
    }
    object.notifyIfObserved(property)
  }
}
