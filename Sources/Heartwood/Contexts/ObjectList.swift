/// Objects in the order they were added, each once, strongly held.
struct ObjectList {
  private var objects: [ManagedObject?] = []
  private var positions: [ObjectIdentifier: Int] = [:]

  var isEmpty: Bool { positions.isEmpty }
  var count: Int { positions.count }
  /// The objects, the first that was added first.
  var all: [ManagedObject] { objects.compactMap { $0 } }

  func contains(_ object: ManagedObject) -> Bool { positions[ObjectIdentifier(object)] != nil }

  mutating func insert(_ object: ManagedObject) {
    guard positions[ObjectIdentifier(object)] == nil else { return }
    positions[ObjectIdentifier(object)] = objects.count
    objects.append(object)
  }

  mutating func remove(_ object: ManagedObject) {
    guard let position = positions.removeValue(forKey: ObjectIdentifier(object)) else { return }
    objects[position] = nil
    if positions.isEmpty { objects = [] }
  }

  mutating func removeAll() {
    objects = []
    positions = [:]
  }
}
