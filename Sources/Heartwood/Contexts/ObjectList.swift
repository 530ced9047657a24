/// An ordered set of retained objects, in insertion order.
///
/// An object stores its own position, so it can be in only one list at a time. An iteration visits
/// the objects that were in the list when the iteration began.
struct ObjectList: Sequence {
  private var objects: [ManagedObject?] = []
  private(set) var count = 0
  /// The number of times that the list has been emptied.
  private var emptyings = 0

  var isEmpty: Bool { count == 0 }
  /// The objects in insertion order.
  var all: [ManagedObject] { Array(self) }
  var underestimatedCount: Int { count }

  struct Iterator: IteratorProtocol {
    fileprivate var rest: IndexingIterator<[ManagedObject?]>

    mutating func next() -> ManagedObject? {
      while let next = rest.next() {
        if let next { return next }
      }
      return nil
    }
  }

  func makeIterator() -> Iterator { Iterator(rest: objects.makeIterator()) }

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
  /// A position in an iteration over a list.
  struct Cursor {
    fileprivate var position = 0
    fileprivate var emptyings = 0
  }

  /// Returns whether `cursor` is still valid.
  ///
  /// Emptying the list invalidates every cursor except those at the start of the list.
  func continues(_ cursor: Cursor) -> Bool { cursor.emptyings == emptyings || cursor.position == 0 }

  /// Returns the objects that were added to the list after `cursor`.
  ///
  /// The method also moves `cursor` to the end of the list.
  func objects(after cursor: inout Cursor) -> [ManagedObject] {
    defer { cursor = Cursor(position: objects.count, emptyings: emptyings) }
    return objects[Swift.min(cursor.position, objects.count)...].compactMap { $0 }
  }
}
