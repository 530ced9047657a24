import Observation

/// Who looks at an object, and what they have seen of it.
///
/// A property is told of when it is another value than was seen, and by nothing else; so values
/// that were read are kept here until then.
final class ObjectObservation {
  private let registrar = ObservationRegistrar()
  /// What was seen of each property, by slot.
  private(set) var seen: [StoredValue?]

  init(_ entity: EntityDescription) {
    seen = Array(repeating: nil, count: entity.properties.count)
  }

  /// Somebody looks at a property.
  func noteRead(_ object: ManagedObject, _ slot: Int, _ value: () -> StoredValue?) {
    registrar.access(object, keyPath: ObservedProperties.path(slot))
    if seen[slot] == nil { seen[slot] = value() }
  }

  /// Tells of a property if it is another than was seen; from then on nothing was seen of it.
  ///
  /// - Complexity: O(1) until the property is read again.
  func compare(_ object: ManagedObject, _ slot: Int, _ value: () -> StoredValue?) {
    guard let before = seen[slot], let value = value(), !before.isIdentical(to: value) else {
      return
    }
    seen[slot] = nil
    registrar.withMutation(of: object, keyPath: ObservedProperties.path(slot)) {}
  }
}

/// What properties are called in observations: by their slots, since the key paths of the program
/// are gone where properties are read.
private enum ObservedProperties {
  typealias Path = any KeyPath<ManagedObject, Int> & Sendable

  /// Those of most classes, made once.
  private static let paths: [Path] = (0..<64).map { make($0) }

  static func path(_ slot: Int) -> Path { slot < paths.count ? paths[slot] : make(slot) }

  private static func make(_ slot: Int) -> Path { \ManagedObject.[observed: slot] }
}

extension ManagedObject {
  /// Stands for a property in observations.
  fileprivate subscript(observed slot: Int) -> Int { slot }

  /// Sets what has to be asked, besides what those who observe the object need.
  final func setHelp(_ new: ObjectHelp) {
    help = help.contains(.observed) ? new.union([.observed, .reading]) : new
  }

  /// Has reading and writing told to those who observe the object.
  final func becomeObservable() { help.formUnion([.observed, .reading, .writing]) }

  /// Tells of a property that was set, or whose members were.
  final func tellIfObserved(_ property: PropertyDescription) {
    if help.contains(.observed) { source?.didChange(self, property) }
  }

  /// Tells that the property at a place was read.
  final func didRead(at offset: Int) {
    guard let property = entityDescription?.property(at: offset) else { return }
    source?.didRead(self, property)
  }

  /// Tells that the property at a place was set.
  @usableFromInline
  final func didWrite(at offset: Int) {
    guard let property = entityDescription?.property(at: offset) else { return }
    source?.didChange(self, property)
  }
}
