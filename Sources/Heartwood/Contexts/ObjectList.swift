/// Objects in the order they were added, each once, strongly held.
///
/// An object keeps its own place, so it can be in one of these lists only.
struct ObjectList {
  private var objects: [ManagedObject?] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  /// The objects, the first that was added first.
  var all: [ManagedObject] { objects.compactMap { $0 } }

  func contains(_ object: ManagedObject) -> Bool {
    let position = object.listPosition
    return objects.indices.contains(position) && objects[position] === object
  }

  mutating func insert(_ object: ManagedObject) {
    guard !contains(object) else { return }
    object.listPosition = objects.count
    objects.append(object)
    count += 1
  }

  mutating func remove(_ object: ManagedObject) {
    guard contains(object) else { return }
    objects[object.listPosition] = nil
    count -= 1
    if count == 0 { objects = [] }
  }

  mutating func removeAll() {
    objects = []
    count = 0
  }
}
