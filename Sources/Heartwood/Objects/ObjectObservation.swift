import Observation

/// A property value that observers have read.
enum ObservedValue {
  case attribute(StoredValue)
  case target(ObjectNumber?)
  /// The members of a to-many relationship, sorted by number unless the relationship is ordered.
  case members([ObjectNumber], isOrdered: Bool)

  /// Returns whether a value that was read later is the same as this value.
  ///
  /// - Parameter resolved: A closure that returns the current number of an object, given the number
  ///   that the object had when this value was read.
  func isSame(as later: ObservedValue, _ resolved: (ObjectNumber) -> ObjectNumber) -> Bool {
    switch (self, later) {
    case (.attribute(let before), .attribute(let now)): return before.isIdentical(to: now)
    case (.target(let before), .target(let now)):
      return before == now || before.map(resolved) == now
    case (.members(let before, let isOrdered), .members(let now, _)):
      if before == now { return true }
      let current = before.map(resolved)
      return (isOrdered ? current : current.sorted()) == now
    default: return false
    }
  }
}

/// The observers of an object, and the property values that they have read.
///
/// Observers of a property are notified only when the current value differs from the value that
/// they read. The values that observers read are therefore kept until the notification.
final class ObjectObservation {
  private let registrar = ObservationRegistrar()
  /// The values that observers have read, indexed by slot.
  ///
  /// An element is `nil` if observers have not read the property.
  private(set) var seen: [ObservedValue?]

  init(_ entity: EntityDescription) {
    seen = Array(repeating: nil, count: entity.properties.count)
  }

  /// Records that an observer has read a property.
  func recordRead(_ object: ManagedObject, _ slot: Int, _ value: () -> ObservedValue?) {
    registrar.access(object, keyPath: ObservedProperties.path(slot))
    if seen[slot] == nil { seen[slot] = value() }
  }

  /// Notifies the observers of a property if the current value differs from the value that they
  /// read.
  ///
  /// The value that they read is discarded when they are notified.
  ///
  /// - Complexity: O(1). After a notification, no values are compared until an observer reads the
  ///   property again.
  func notifyIfChanged(
    _ object: ManagedObject, _ slot: Int, _ resolved: (ObjectNumber) -> ObjectNumber,
    _ value: () -> ObservedValue?
  ) {
    guard let before = seen[slot], let value = value(), !before.isSame(as: value, resolved)
    else { return }
    seen[slot] = nil
    registrar.withMutation(of: object, keyPath: ObservedProperties.path(slot)) {}
  }
}

/// The key paths that represent properties in observations.
///
/// The key paths are made from slots, because a read does not reveal the key path that the program
/// has used.
private enum ObservedProperties {
  typealias Path = any KeyPath<ManagedObject, Int> & Sendable

  /// The paths of the first 64 slots, which are created once.
  ///
  /// Most classes have at most 64 properties.
  private static let paths: [Path] = (0..<64).map { make($0) }

  static func path(_ slot: Int) -> Path { slot < paths.count ? paths[slot] : make(slot) }

  private static func make(_ slot: Int) -> Path { \ManagedObject.[observed: slot] }
}

extension ManagedObject {
  /// The slot itself.
  ///
  /// A key path to this subscript represents the property in observations.
  fileprivate subscript(observed slot: Int) -> Int { slot }

  /// Sets the access hooks, keeping the hooks that observers need.
  final func setHooks(_ new: AccessHooks) {
    hooks = hooks.contains(.observed) ? new.union([.observed, .reading]) : new
  }

  /// Makes the object report reads and writes to observers.
  final func becomeObservable() { hooks.formUnion([.observed, .reading, .writing]) }

  /// Notifies the context of a change to a property or its members, if the object is observed.
  final func notifyIfObserved(_ property: PropertyDescription) {
    if hooks.contains(.observed) { source?.didChange(self, property) }
  }

  /// Notifies the context that the property at the given offset was read.
  final func didRead(at offset: Int) {
    guard let property = entityDescription?.property(at: offset) else { return }
    source?.didRead(self, property)
  }

  /// Notifies the context that the property at the given offset was set.
  @usableFromInline
  final func didWrite(at offset: Int) {
    guard let property = entityDescription?.property(at: offset) else { return }
    source?.didChange(self, property)
  }
}
