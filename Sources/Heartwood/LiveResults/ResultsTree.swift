/// The ordered objects of a list, with fast lookup of positions.
///
/// The structure is a counted B+tree: each node stores the number of entries in its subtree, and a
/// table maps each object to its leaf. Inserting, removing or looking up an object, or finding its
/// position, therefore visits only a few nodes on each level of the tree. Empty nodes are removed,
/// but nodes are never merged. New entries reuse the space of removed entries in a node.
final class ResultsTree {
  /// An object with its sort keys.
  struct Entry {
    let keys: FetchOrder.Keys
    /// The object, or `nil` if it has not been accessed yet.
    var object: ManagedObject?

    var number: ObjectNumber { keys.number }
  }

  final class Node {
    // `unowned(unsafe)` is safe here, because the tree retains every node that is in use.
    unowned(unsafe) var parent: Node?
    var children: [Node] = []
    var entries: [Entry] = []
    var count = 0
    /// The sort keys at which the subtree begins.
    ///
    /// Entries before the subtree sort before these keys, and entries in the subtree sort at or
    /// after them. Only a node's first child may contain earlier entries, because the tree compares
    /// the keys only for later children. The keys stay the same when the first entry is removed.
    let start: FetchOrder.Keys?

    init(parent: Node?, start: FetchOrder.Keys?) {
      self.parent = parent
      self.start = start
    }

    var isLeaf: Bool { children.isEmpty }

    /// Returns the index of an object's entry in this leaf, which must contain the object.
    func position(of number: ObjectNumber) -> Int {
      guard let position = entries.firstIndex(where: { $0.number == number }) else {
        preconditionFailure("The table maps an object to a leaf that does not contain it.")
      }
      return position
    }
  }

  /// The maximum number of entries in a leaf, and of children in an inner node.
  ///
  /// The number is kept small so that a node's array spans only a few cache lines.
  private static let maxEntryCount = 64

  private let order: FetchOrder
  private var root = Node(parent: nil, start: nil)
  private var leaves = NumberTable<Node>()
  /// The number of sort key comparisons so far, for use in measurements.
  private(set) var comparisons = 0

  /// Creates a tree from sorted entries.
  init(_ order: FetchOrder, _ entries: [Entry] = []) {
    self.order = order
    guard !entries.isEmpty else { return }
    let half = Self.maxEntryCount / 2
    var level = stride(from: 0, to: entries.count, by: half).map { start in
      let leaf = Node(parent: nil, start: entries[start].keys)
      leaf.entries = Array(entries[start..<min(start + half, entries.count)])
      leaf.count = leaf.entries.count
      for entry in leaf.entries { leaves[entry.number] = leaf }
      return leaf
    }
    while level.count > 1 {
      level = stride(from: 0, to: level.count, by: half).map { start in
        let node = Node(parent: nil, start: level[start].start)
        node.children = Array(level[start..<min(start + half, level.count)])
        for child in node.children {
          child.parent = node
          node.count += child.count
        }
        return node
      }
    }
    root = level[0]
  }

  var count: Int { root.count }

  // MARK: Lookup

  /// Returns the entry for an object, or `nil` if it is not in the list.
  subscript(number: ObjectNumber) -> Entry? {
    leaves[number].map { $0.entries[$0.position(of: number)] }
  }

  func contains(_ number: ObjectNumber) -> Bool { leaves[number] != nil }

  /// Returns the position of an object, or `nil` if it is not in the list.
  func position(of number: ObjectNumber) -> Int? {
    guard let leaf = leaves[number] else { return nil }
    var position = leaf.position(of: number)
    var node = leaf
    while let parent = node.parent {
      for sibling in parent.children {
        if sibling === node { break }
        position += sibling.count
      }
      node = parent
    }
    return position
  }

  /// Returns the entry at a position, which must exist.
  func entry(at position: Int) -> Entry {
    let (leaf, rest) = location(of: position)
    return leaf.entries[rest]
  }

  /// Returns the entries in a range of positions.
  func entries(in range: Range<Int>) -> [Entry] {
    var result: [Entry] = []
    result.reserveCapacity(range.count)
    forEachLeaf(in: range) { leaf, range in result += leaf.entries[range] }
    return result
  }

  /// Returns the numbers of the objects in a range of positions.
  func numbers(in range: Range<Int>) -> [ObjectNumber] {
    var result: [ObjectNumber] = []
    result.reserveCapacity(range.count)
    forEachLeaf(in: range) { leaf, range in
      for entry in leaf.entries[range] { result.append(entry.number) }
    }
    return result
  }

  private func location(of position: Int) -> (leaf: Node, position: Int) {
    precondition(position >= 0 && position < count, "The position is out of range.")
    var (node, rest) = (root, position)
    while !node.isLeaf {
      for child in node.children {
        if rest < child.count {
          node = child
          break
        }
        rest -= child.count
      }
    }
    return (node, rest)
  }

  private func forEachLeaf(in range: Range<Int>, _ body: (Node, Range<Int>) -> Void) {
    func visit(_ node: Node, _ start: Int) {
      guard start < range.upperBound, start + node.count > range.lowerBound else { return }
      if node.isLeaf {
        let lower = max(range.lowerBound - start, 0)
        return body(node, lower..<min(range.upperBound - start, node.count))
      }
      var start = start
      for child in node.children {
        visit(child, start)
        start += child.count
      }
    }
    if !range.isEmpty { visit(root, 0) }
  }

  // MARK: Modification

  /// Stores a reference to an object in the object's entry.
  ///
  /// - Returns: `false` if the list does not contain the object; otherwise, `true`.
  @discardableResult
  func hold(_ object: ManagedObject, _ number: ObjectNumber) -> Bool {
    guard let leaf = leaves[number] else { return false }
    leaf.entries[leaf.position(of: number)].object = object
    return true
  }

  /// Inserts an entry at the position determined by its sort keys.
  func insert(_ entry: Entry) {
    var node = root
    while !node.isLeaf { node = node.children[child(of: node, for: entry.keys)] }
    node.entries.insert(entry, at: location(of: entry.keys, in: node))
    leaves[entry.number] = node
    var ancestor: Node? = node
    while let current = ancestor {
      current.count += 1
      ancestor = current.parent
    }
    splitIfFull(node)
  }

  /// Removes an object.
  ///
  /// - Returns: The object's entry, or `nil` if the object was not in the list.
  @discardableResult
  func remove(_ number: ObjectNumber) -> Entry? {
    guard let leaf = leaves[number] else { return nil }
    leaves[number] = nil
    let entry = leaf.entries.remove(at: leaf.position(of: number))
    var ancestor: Node? = leaf
    while let current = ancestor {
      current.count -= 1
      ancestor = current.parent
    }
    var empty = leaf
    while empty.count == 0, let parent = empty.parent {
      parent.children.removeAll { $0 === empty }
      empty = parent
    }
    return entry
  }

  func areInOrder(_ first: FetchOrder.Keys, _ second: FetchOrder.Keys) -> Bool {
    comparisons += 1
    return order.areInOrder(first, second)
  }

  /// Returns the index of the child into which to insert an entry with the given sort keys.
  ///
  /// The result is the last child whose start does not sort after the keys. If there is no such
  /// child, the result is the first child.
  private func child(of node: Node, for keys: FetchOrder.Keys) -> Int {
    var (lower, upper) = (1, node.children.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if let start = node.children[middle].start, areInOrder(keys, start) {
        upper = middle
      } else {
        lower = middle + 1
      }
    }
    return lower - 1
  }

  private func location(of keys: FetchOrder.Keys, in leaf: Node) -> Int {
    var (lower, upper) = (0, leaf.entries.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if areInOrder(keys, leaf.entries[middle].keys) { upper = middle } else { lower = middle + 1 }
    }
    return lower
  }

  private func splitIfFull(_ full: Node) {
    var node = full
    while max(node.entries.count, node.children.count) > Self.maxEntryCount {
      let parent = node.parent ?? growRoot()
      let half = Self.maxEntryCount / 2
      let start = node.isLeaf ? node.entries[half].keys : node.children[half].start
      let sibling = Node(parent: parent, start: start)
      if node.isLeaf {
        sibling.entries = Array(node.entries[half...])
        node.entries.removeSubrange(half...)
        sibling.count = sibling.entries.count
        for entry in sibling.entries { leaves[entry.number] = sibling }
      } else {
        sibling.children = Array(node.children[half...])
        node.children.removeSubrange(half...)
        for child in sibling.children {
          child.parent = sibling
          sibling.count += child.count
        }
      }
      node.count -= sibling.count
      let position = parent.children.firstIndex { $0 === node } ?? 0
      parent.children.insert(sibling, at: position + 1)
      node = parent
    }
  }

  /// Adds a new root above the current root.
  private func growRoot() -> Node {
    let new = Node(parent: nil, start: nil)
    new.children = [root]
    new.count = root.count
    root.parent = new
    root = new
    return new
  }
}
