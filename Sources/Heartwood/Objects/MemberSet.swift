/// Objects in the order in which they joined, each at most once.
///
/// - Complexity: O(1) to join, to leave and to look up.
package struct MemberSet: Sequence {
  /// The objects, with holes where one has left.
  private var places: [ManagedObject?] = []
  /// The place of each object; empty while there are so few that looking at them is quicker.
  private var positions: [ObjectIdentifier: Int] = [:]
  package private(set) var count = 0

  /// The most places that are searched one by one.
  private static let searchedCount = 8

  package init() {}

  package init(_ objects: some Sequence<ManagedObject>) {
    for object in objects { insert(object) }
  }

  package var isEmpty: Bool { count == 0 }
  package var underestimatedCount: Int { count }

  package func contains(_ object: ManagedObject) -> Bool { position(of: object) != nil }

  /// Adds an object at the end; false if it is here already.
  @discardableResult
  package mutating func insert(_ object: ManagedObject) -> Bool {
    guard position(of: object) == nil else { return false }
    if !positions.isEmpty { positions[ObjectIdentifier(object)] = places.count }
    places.append(object)
    count += 1
    if places.count == Self.searchedCount + 1 { compact() }
    return true
  }

  /// Removes an object; false if it is not here.
  @discardableResult
  package mutating func remove(_ object: ManagedObject) -> Bool {
    guard let position = position(of: object) else { return false }
    places[position] = nil
    positions[ObjectIdentifier(object)] = nil
    count -= 1
    // At most every second place is a hole, so that going through them takes as long as there are
    // objects, and closing the holes takes constant time for each that left.
    if count * 2 < places.count { compact() }
    return true
  }

  private func position(of object: ManagedObject) -> Int? {
    positions.isEmpty
      ? places.firstIndex { $0 === object } : positions[ObjectIdentifier(object)]
  }

  /// Closes the holes.
  private mutating func compact() {
    places = places.filter { $0 != nil }
    positions = [:]
    guard places.count > Self.searchedCount else { return }
    positions.reserveCapacity(places.count)
    for (position, object) in places.enumerated() {
      if let object { positions[ObjectIdentifier(object)] = position }
    }
  }

  package struct Iterator: IteratorProtocol {
    fileprivate var places: IndexingIterator<[ManagedObject?]>

    package mutating func next() -> ManagedObject? {
      while let place = places.next() {
        if let place { return place }
      }
      return nil
    }
  }

  package func makeIterator() -> Iterator { Iterator(places: places.makeIterator()) }
}
