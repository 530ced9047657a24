/// A set of objects in insertion order.
///
/// - Complexity: O(1) to insert, remove or look up an object.
package struct MemberSet: Sequence {
  /// The objects in insertion order, with `nil` in place of removed objects.
  private var elements: [ManagedObject?] = []
  /// The index of each object in `elements`.
  ///
  /// The dictionary is empty while `elements` is searched linearly.
  private var positions: [ObjectIdentifier: Int] = [:]
  package private(set) var count = 0

  /// The maximum number of elements that are searched linearly instead of through `positions`.
  private static let searchedCount = 8

  package init() {}

  package init(_ objects: some Sequence<ManagedObject>) {
    for object in objects { insert(object) }
  }

  package var isEmpty: Bool { count == 0 }
  package var underestimatedCount: Int { count }

  package func contains(_ object: ManagedObject) -> Bool { position(of: object) != nil }

  /// Adds an object at the end.
  ///
  /// - Returns: `false` if the set already contained the object.
  @discardableResult
  package mutating func insert(_ object: ManagedObject) -> Bool {
    guard position(of: object) == nil else { return false }
    if !positions.isEmpty { positions[ObjectIdentifier(object)] = elements.count }
    elements.append(object)
    count += 1
    if elements.count == Self.searchedCount + 1 { compact() }
    return true
  }

  /// Removes an object.
  ///
  /// - Returns: `false` if the set did not contain the object.
  @discardableResult
  package mutating func remove(_ object: ManagedObject) -> Bool {
    guard let position = position(of: object) else { return false }
    elements[position] = nil
    positions[ObjectIdentifier(object)] = nil
    count -= 1
    // Remove the `nil` elements when they outnumber the objects, so that iteration takes time
    // proportional to the number of objects. The amortised cost per removal is constant.
    if count * 2 < elements.count { compact() }
    return true
  }

  private func position(of object: ManagedObject) -> Int? {
    positions.isEmpty
      ? elements.firstIndex { $0 === object } : positions[ObjectIdentifier(object)]
  }

  /// Removes the `nil` elements and rebuilds `positions`.
  private mutating func compact() {
    elements = elements.filter { $0 != nil }
    positions = [:]
    guard elements.count > Self.searchedCount else { return }
    positions.reserveCapacity(elements.count)
    for (position, object) in elements.enumerated() {
      if let object { positions[ObjectIdentifier(object)] = position }
    }
  }

  package struct Iterator: IteratorProtocol {
    fileprivate var elements: IndexingIterator<[ManagedObject?]>

    package mutating func next() -> ManagedObject? {
      while let element = elements.next() {
        if let element { return element }
      }
      return nil
    }
  }

  package func makeIterator() -> Iterator { Iterator(elements: elements.makeIterator()) }
}
