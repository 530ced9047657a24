/// Objects in the order they were added, each once, strongly held.
///
/// An object keeps its own place, so it can be in one of these lists only.
struct ObjectList {
  private var objects: [ManagedObject?] = []
  private(set) var count = 0
  /// How often the places were given anew.
  private var emptyings = 0

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
    if count == 0 { removeAll() }
  }

  mutating func removeAll() {
    objects = []
    count = 0
    emptyings += 1
  }
}

extension ObjectList {
  /// How far somebody has gone through a list.
  struct Place {
    fileprivate var position = 0
    fileprivate var emptyings = 0
  }

  /// Whether the list was not emptied since somebody was at a place.
  func continues(_ place: Place) -> Bool { place.emptyings == emptyings || place.position == 0 }

  /// The objects that were added since somebody was at a place, which moves to the end.
  func objects(after place: inout Place) -> [ManagedObject] {
    defer { place = Place(position: objects.count, emptyings: emptyings) }
    return objects[min(place.position, objects.count)...].compactMap { $0 }
  }
}
