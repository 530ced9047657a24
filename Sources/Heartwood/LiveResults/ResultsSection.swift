/// The objects of a ``ResultsList`` that have the same section value.
///
/// Like its list, a section never changes. Positions start at 0.
public struct ResultsSection<M: ManagedObject>: RandomAccessCollection {
  /// The positions of the section's objects in the list.
  public let range: Range<Int>
  let value: StoredValue
  let list: ResultsList<M>

  /// The section value as text, or `nil` if there is no value.
  public var name: String? { value.text }

  /// The objects in the section.
  ///
  /// - Complexity: O(objects in the section), plus one row read for each object that is not in
  ///   memory.
  public var objects: [M] { list.objects(in: range) }

  /// Returns the section value, converted to the given type.
  ///
  /// - Throws: An error if the value does not have the given type.
  public func value<Value: AttributeValue>(as type: Value.Type = Value.self) throws -> Value {
    try Value(storedValue: value)
  }

  /// The position of the first object, which is always 0.
  public var startIndex: Int { 0 }

  /// The position after the last object.
  public var endIndex: Int { range.count }

  /// The object at a position in the section.
  ///
  /// - Precondition: The position is in the section.
  /// - Complexity: O(1), plus one row read if the object is not in memory.
  public subscript(position: Int) -> M {
    // Use `fatalError`, because `precondition` would drop the message in a release build.
    guard indices.contains(position) else {
      fatalError(
        "Position \(position) is not in the section. Pass a position from 0 to count - 1.")
    }
    return list[range.lowerBound + position]
  }
}

/// The sections of a list, in list order, with the number of objects in each section.
struct SectionCounts {
  struct Section {
    let value: StoredValue
    var count: Int
  }

  private(set) var sections: [Section] = []

  init() {}

  /// Counts the entries of each section.
  ///
  /// - Parameters:
  ///   - entries: The entries of the list, in list order.
  ///   - term: The sort term that defines the sections, or `nil` if the list has no sections.
  init(_ entries: [ResultsTree.Entry], _ term: FetchOrder.Term?) {
    guard let term else { return }
    for entry in entries {
      guard let value = entry.keys.values.first else { continue }
      if let last = sections.last, term.order(last.value, value) == 0 {
        sections[sections.count - 1].count += 1
      } else {
        sections.append(Section(value: value, count: 1))
      }
    }
  }

  /// Updates the counts after entries have been removed and inserted.
  ///
  /// - Returns: The changes to the section names.
  /// - Complexity: A binary search for each entry, plus a pass over all sections if a section is
  ///   added or removed.
  mutating func update(
    removed: [ResultsTree.Entry], inserted: [ResultsTree.Entry], _ term: FetchOrder.Term
  ) -> [CollectionDifference<String?>.Change] {
    var new: [Section] = []
    for entry in removed {
      guard let value = entry.keys.values.first else { continue }
      if let position = position(of: value, term) { sections[position].count -= 1 }
    }
    for entry in inserted {
      guard let value = entry.keys.values.first else { continue }
      if let position = position(of: value, term) {
        sections[position].count += 1
      } else if let position = new.firstIndex(where: { term.order($0.value, value) == 0 }) {
        new[position].count += 1
      } else {
        new.append(Section(value: value, count: 1))
      }
    }
    let gone = sections.indices.filter { sections[$0].count == 0 }
    guard !gone.isEmpty || !new.isEmpty else { return [] }
    var changes = gone.map { position in
      CollectionDifference<String?>.Change.remove(
        offset: position, element: sections[position].value.text, associatedWith: nil)
    }
    sections.removeAll { $0.count == 0 }
    for section in new { sections.insert(section, at: insertionIndex(of: section.value, term)) }
    for section in new {
      guard let position = position(of: section.value, term) else { continue }
      changes.append(
        .insert(offset: position, element: section.value.text, associatedWith: nil))
    }
    return changes
  }

  private func position(of value: StoredValue, _ term: FetchOrder.Term) -> Int? {
    let index = insertionIndex(of: value, term)
    guard index < sections.count, term.order(sections[index].value, value) == 0 else { return nil }
    return index
  }

  /// Returns the index of the first section that does not precede a value.
  private func insertionIndex(of value: StoredValue, _ term: FetchOrder.Term) -> Int {
    var (lower, upper) = (0, sections.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      let order = term.order(sections[middle].value, value)
      if order != 0, (order < 0) != term.isReversed { lower = middle + 1 } else { upper = middle }
    }
    return lower
  }
}
