public import Observation

/// Notifies the observers of a context, or of its objects, of changes.
final class ContextObserver {
  private unowned let part: ManagedObjectContext
  private let registrar = ObservationRegistrar()
  private var observations = NumberTable<ObjectObservation>()
  /// Objects whose values may differ from those that observers read.
  private var noted: Set<ManagedObject> = []
  /// The numbers of inserted, updated and deleted objects when an observer last read them.
  private var seen: [Int]?

  init(_ part: ManagedObjectContext) {
    self.part = part
    for object in part.allRegistered() { object.becomeObservable() }
  }

  // MARK: Objects

  func noteRead(_ object: ManagedObject, _ property: PropertyDescription) {
    guard let entity = object.entityDescription else { return }
    let observation = observations[object.number] ?? ObjectObservation(entity)
    observations[object.number] = observation
    observation.noteRead(object, property.slot) { value(property, object) }
  }

  /// Notifies observers that a property of an object was set.
  func noteChange(_ object: ManagedObject, _ property: PropertyDescription) {
    observations[object.number]?.compare(object, property.slot) { value(property, object) }
  }

  /// Records that an object may have changed.
  func note(_ object: ManagedObject) {
    if observations[object.number] != nil, noted.insert(object).inserted {
      part.scheduleProcessingOnce()
    }
    part.whole.observer?.tellOfContext()
  }

  func noteNumber(_ new: ObjectNumber, insteadOf old: ObjectNumber) {
    observations[new] = observations[old]
    observations[old] = nil
  }

  func forget(_ number: ObjectNumber) { observations[number] = nil }

  /// Notifies observers of values that differ from those they read; that may load faults.
  func tellOfNoted() {
    tellOfContext()
    guard !noted.isEmpty else { return }
    let objects = noted
    noted = []
    for object in objects where object.source === part {
      guard let observation = observations[object.number] else { continue }
      if object.isFault { part.fire(object) }
      for property in object.entityDescription?.properties ?? []
      where observation.seen[property.slot] != nil {
        observation.compare(object, property.slot) { value(property, object) }
      }
    }
  }

  /// Returns the value of a property; for a to-many relationship, a string that identifies its
  /// members.
  private func value(_ property: PropertyDescription, _ object: ManagedObject) -> StoredValue? {
    switch property.kind {
    case .attribute, .toOne: return try? object.storedValue(property)
    case .toMany(let isOrdered):
      let numbers = part.loadedMembers(of: object, property).map(\.number)
      return .string((isOrdered ? numbers : numbers.sorted()).map { "\($0.bits)" }.joined())
    case .transient: return nil
    }
  }

  // MARK: The context

  private var counts: [Int] {
    [\ManagedObjectContext.inserted, \.updated, \.deleted].map { list in
      part.parts.reduce(0) { $0 + $1[keyPath: list].count }
    }
  }

  func noteRead(_ path: KeyPath<ManagedObjectContext, some Any>) {
    registrar.access(part, keyPath: path)
    if seen == nil { seen = counts }
  }

  /// Notifies observers of the context's changed objects, if their numbers changed.
  func tellOfContext() {
    guard let before = seen else { return }
    let now = counts
    guard before != now else { return }
    seen = now
    func tell(_ path: KeyPath<ManagedObjectContext, some Any>) {
      registrar.withMutation(of: part, keyPath: path) {}
    }
    if before[0] != now[0] { tell(\.insertedObjects) }
    if before[1] != now[1] { tell(\.updatedObjects) }
    if before[2] != now[2] { tell(\.deletedObjects) }
    let isEmpty = { (counts: [Int]) in counts.allSatisfy { $0 == 0 } }
    if isEmpty(before) != isEmpty(now) { tell(\.hasChanges) }
  }
}

extension ManagedObjectContext: Observable {
  /// Whether its objects and its lists of changed objects are observable; `false` by default.
  ///
  /// If set, `withObservationTracking` and SwiftUI are notified when a stored property that they
  /// read has another value: because it was set, or because its object was read again, merged or
  /// rolled back. Set it for a context that a user interface shows, before its objects are read.
  ///
  /// ```swift
  /// container.viewContext.tracksObservation = true
  /// ```
  ///
  /// - Complexity: While it is on, reading a property takes ten times as long, and the context
  ///   keeps the values that were read. While it is off, there is no cost.
  public var tracksObservation: Bool {
    get { observer != nil }
    set {
      confinement?.enter()
      defer { confinement?.leave() }
      guard newValue != tracksObservation else { return }
      for part in parts {
        part.observer = newValue ? ContextObserver(part) : nil
        guard !newValue else { continue }
        for object in part.allRegistered() {
          object.help.remove(.observed)
          if !object.isFault { object.help.remove(.reading) }
        }
      }
    }
  }

  func didRead(_ object: ManagedObject, _ property: PropertyDescription) {
    observer?.noteRead(object, property)
  }

  func didChange(_ object: ManagedObject, _ property: PropertyDescription) {
    observer?.noteChange(object, property)
  }
}
