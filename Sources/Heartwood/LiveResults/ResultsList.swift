/// The objects of a live list at one moment, loaded as they are accessed.
///
/// A list never changes: it contains the same objects in the same order, even after the objects
/// have changed, left the live list or been deleted. If an object is no longer in memory
/// and has no row, the list returns a fault, as for any object whose row another context has
/// deleted. The list must be used on the thread of its context.
public struct ResultsList<M: ManagedObject>: RandomAccessCollection {
  private let state: ListState
  /// The live list, or `nil` if nothing has been fetched.
  private let list: LiveList?

  /// Creates a list of the objects that a live list contains now.
  init(_ list: LiveList?) {
    self.list = list
    state = list?.state ?? ListState([], [])
  }

  /// The position of the first object, which is always 0.
  public var startIndex: Int { 0 }

  /// The position after the last object.
  public var endIndex: Int { state.numbers.count }

  /// The object at a position.
  ///
  /// - Precondition: The position is in the list.
  /// - Complexity: O(1), plus one row read if the object is not in memory.
  public subscript(position: Int) -> M {
    guard indices.contains(position),
      let object = list?.object(state.numbers[position], of: state) as? M
    else { LiveList.reportMissing(position) }
    return object
  }

  /// The current IDs of the objects in order, without loading the objects.
  ///
  /// - Complexity: O(objects).
  public var objectIDs: [ManagedObjectID] {
    guard let list else { return [] }
    return state.numbers.map { list.id($0) }
  }

  /// The sections in order, or one section with all objects if there is no section property.
  ///
  /// An empty list has no sections.
  ///
  /// - Complexity: O(sections).
  public var sections: [ResultsSection<M>] {
    var start = 0
    return state.sections.map { section in
      defer { start += section.count }
      return ResultsSection(
        range: start..<start + section.count, value: section.value, list: self)
    }
  }

  /// Returns the objects in a range of positions.
  ///
  /// The rows of objects that are not in memory are read in row order.
  func objects(in range: Range<Int>) -> [M] {
    [M](list?.objects(state.numbers[range], of: state) ?? [])
  }
}

/// The objects and sections that a live list contains between two changes.
final class ListState {
  /// The numbers of the objects, in list order.
  let numbers: [ObjectNumber]
  let sections: [SectionCounts.Section]
  /// The objects that were accessed after they had left the live list.
  ///
  /// The live list retains only its own objects. Without these references, each access to a former
  /// object could create another fault.
  var formerObjects: [ObjectNumber: ManagedObject] = [:]

  init(_ numbers: [ObjectNumber], _ sections: [SectionCounts.Section]) {
    self.numbers = numbers
    self.sections = sections
  }
}
