import Observation

/// The observers of an object, and the values they have read.
///
/// Observers of a property are notified only when its value differs from the one that they read, so
/// values are kept here from the read to the notification.
final class ObjectObservation {
  private let registrar = ObservationRegistrar()
  /// The value that was read of each property, by slot.
  private(set) var seen: [StoredValue?]

  init(_ entity: EntityDescription) {
    seen = Array(repeating: nil, count: entity.properties.count)
  }

  /// Records that an observer reads a property.
  func recordRead(_ object: ManagedObject, _ slot: Int, _ value: () -> StoredValue?) {
    registrar.access(object, keyPath: ObservedProperties.path(slot))
    if seen[slot] == nil { seen[slot] = value() }
  }

  /// Notifies the observers of a property if its value differs from the one read, and forgets that
  /// value.
  ///
  /// - Complexity: O(1) until the property is read again.
  func notifyIfChanged(_ object: ManagedObject, _ slot: Int, _ value: () -> StoredValue?) {
    guard let before = seen[slot], let value = value(), !before.isIdentical(to: value) else {
      return
    }
    seen[slot] = nil
    registrar.withMutation(of: object, keyPath: ObservedProperties.path(slot)) {}
  }
}

/// The key paths that represent properties in observations.
///
/// They are made of slots, because the program's key paths are not available where properties are
/// read.
private enum ObservedProperties {
  typealias Path = any KeyPath<ManagedObject, Int> & Sendable

  /// The paths of the first 64 slots, created once; most classes have no more.
  private static let paths: [Path] = (0..<64).map { make($0) }

  static func path(_ slot: Int) -> Path { slot < paths.count ? paths[slot] : make(slot) }

  private static func make(_ slot: Int) -> Path { \ManagedObject.[observed: slot] }
}

extension ManagedObject {
  /// Represents a property in observations.
  fileprivate subscript(observed slot: Int) -> Int { slot }

  /// Sets the access hooks, and keeps the ones that observers need.
  final func setHooks(_ new: AccessHooks) {
    hooks = hooks.contains(.observed) ? new.union([.observed, .reading]) : new
  }

  /// Enables the reporting of reads and writes to observers.
  final func becomeObservable() { hooks.formUnion([.observed, .reading, .writing]) }

  /// Reports a write of a property or its members, if the object is observed.
  final func notifyIfObserved(_ property: PropertyDescription) {
    if hooks.contains(.observed) { source?.didChange(self, property) }
  }

  /// Reports a read of the property at an offset.
  final func didRead(at offset: Int) {
    guard let property = entityDescription?.property(at: offset) else { return }
    source?.didRead(self, property)
  }

  /// Reports a write of the property at an offset.
  @usableFromInline
  final func didWrite(at offset: Int) {
    guard let property = entityDescription?.property(at: offset) else { return }
    source?.didChange(self, property)
  }
}
