public import Observation

/// An object that notifies observers of changes to values that they have read from a context or its
/// objects.
final class ContextObserver {
  private unowned let storeContext: ManagedObjectContext
  private let registrar = ObservationRegistrar()
  private var observations = NumberTable<ObjectObservation>()
  /// The objects that may have changed since observers read values from them.
  private var changed: Set<ManagedObject> = []
  /// The numbers that new objects had when they were replaced by other objects (guarantee C-12).
  private var replaced: Set<ObjectNumber> = []
  /// The last summary of the context's changes that was reported to observers.
  ///
  /// Until the first notification, this is the summary at the time of an observer's first read. The
  /// property is `nil` if no observer has read the changes yet.
  private var seen: ChangeSummary?

  /// The counts of inserted, updated and deleted objects, and whether a save would write anything.
  private struct ChangeSummary: Equatable {
    var counts: [Int]
    var hasChanges: Bool
  }

  init(_ storeContext: ManagedObjectContext) {
    self.storeContext = storeContext
    for object in storeContext.allRegistered() { object.becomeObservable() }
  }

  // MARK: Objects

  func recordRead(_ object: ManagedObject, _ property: PropertyDescription) {
    // While `awakeFromFetch` runs, the object does not have its final values yet.
    guard let entity = object.entityDescription, !object.state.contains(.awakening) else { return }
    let observation = observations[object.number] ?? ObjectObservation(entity)
    observations[object.number] = observation
    // If the object may have changed since earlier observers read it, notify them now. Otherwise,
    // later changes would be compared with the value that is read now, rather than with the value
    // that those observers read.
    if !changed.isEmpty, changed.contains(object) {
      notifyIfChanged(observation, object, property)
    }
    observation.recordRead(object, property.slot) { value(property, object) }
  }

  /// Notifies observers that a property of an object has been set.
  func notify(ofChangeTo object: ManagedObject, _ property: PropertyDescription) {
    guard !object.state.contains(.awakening) else { return }
    if let observation = observations[object.number] {
      notifyIfChanged(observation, object, property)
    }
    // Check later whether any edits remain, because the setter may not have changed both sides of a
    // relationship yet.
    if object.isUpdated, storeContext.rootContext.observer?.seen != nil,
      changed.insert(object).inserted
    {
      storeContext.scheduleProcessingOnce()
    }
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

  /// Records that a new object has left the context because another object has replaced it.
  func recordReplacement(of number: ObjectNumber) {
    forget(number)
    replaced.insert(number)
  }

  func forget(_ number: ObjectNumber) { observations[number] = nil }

  /// Notifies observers of each value that has changed since they read it.
  ///
  /// To compare the values, the method loads changed objects that are faults.
  func notifyOfRecordedChanges() {
    let objects = changed
    changed = []
    if let root = storeContext.rootContext.observer, root.seen != nil {
      for object in objects where object.source === storeContext {
        _ = storeContext.discardNoOpEdits(of: object)
      }
      root.notifyOfContextChanges()
    }
    for object in objects where object.source === storeContext {
      guard let observation = observations[object.number] else { continue }
      for property in object.entityDescription?.properties ?? []
      where observation.seen[property.slot] != nil {
        notifyIfChanged(observation, object, property)
      }
    }
  }

  private func notifyIfChanged(
    _ observation: ObjectObservation, _ object: ManagedObject, _ property: PropertyDescription
  ) {
    observation.notifyIfChanged(object, property.slot, resolved) { value(property, object) }
  }

  /// Returns the current number of an object, or its last number if another object has replaced it.
  private func resolved(_ number: ObjectNumber) -> ObjectNumber {
    storeContext.renumbered.resolved(number, unlessIn: replaced)
  }

  /// Returns the value of a property, for comparison with a value read earlier.
  ///
  /// The method loads the object first if it is a fault. The result is `nil` if the property is
  /// transient or cannot be read.
  private func value(_ property: PropertyDescription, _ object: ManagedObject) -> ObservedValue? {
    if object.isFault { storeContext.fire(object) }
    switch property.kind {
    case .attribute:
      // Use the value in memory, because that is the value that observers read. For an unreadable
      // value, `storedValue` would return the value in the row.
      let value =
        object.keptValues == nil
        ? try? object.storedValue(property) : object.shownValue(of: property)
      return value.map { .attribute($0) }
    case .toOne: return (try? object.storedValue(property)).map { .target($0.reference) }
    case .toMany(let isOrdered):
      let numbers = storeContext.loadedMembers(of: object, property).map(\.number)
      return .members(isOrdered ? numbers : numbers.sorted(), isOrdered: isOrdered)
    case .transient: return nil
    }
  }

  // MARK: The context

  private var summary: ChangeSummary {
    let storeContexts = storeContext.storeContexts
    return ChangeSummary(
      counts: [\ManagedObjectContext.inserted, \.updated, \.deleted].map { list in
        storeContexts.reduce(0) { $0 + $1[keyPath: list].count }
      },
      // Do not discard edits that seem to have no effect, because the value of the latest edit may
      // not be set yet.
      hasChanges: storeContexts.contains { storeContext in
        !storeContext.inserted.isEmpty || !storeContext.updated.isEmpty
          || storeContext.deleted.contains { !$0.isInaccessible }
      })
  }

  /// Records that an observer has read a property of the context.
  ///
  /// - Precondition: The property's value has already been computed, because computing the value
  ///   may discard edits.
  func recordRead(_ path: KeyPath<ManagedObjectContext, some Any>) {
    notifyOfContextChanges()
    registrar.access(storeContext, keyPath: path)
    if seen == nil { seen = summary }
  }

  /// For each property of the context that has changed since it was last reported, notifies the
  /// observers.
  func notifyOfContextChanges() {
    guard let before = seen else { return }
    let now = summary
    guard before != now else { return }
    seen = now
    func notify(_ path: KeyPath<ManagedObjectContext, some Any>) {
      registrar.withMutation(of: storeContext, keyPath: path) {}
    }
    if before.counts[0] != now.counts[0] { notify(\.insertedObjects) }
    if before.counts[1] != now.counts[1] { notify(\.updatedObjects) }
    if before.counts[2] != now.counts[2] { notify(\.deletedObjects) }
    if before.hasChanges != now.hasChanges { notify(\.hasChanges) }
  }
}

extension ManagedObjectContext: Observable {
  /// A Boolean value that indicates whether observers can track the context's objects and its lists
  /// of changed objects.
  ///
  /// The default is `false`. While tracking is on, `withObservationTracking` and SwiftUI are
  /// notified when a stored property that they have read gets a new value. A refresh, merge or
  /// rollback that changes the value also notifies them. If a user interface displays the context's
  /// objects, turn on tracking before it reads any object.
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
