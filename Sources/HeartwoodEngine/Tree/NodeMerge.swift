/// A redistribution of entries between two neighbouring nodes.
///
/// The entries are either merged into one node or divided evenly between the two nodes.
struct NodeMerge {
  let entries: NodeRebuild

  /// Returns whether the keys next to the boundary between the nodes are in ascending order.
  func isOrdered() -> Bool {
    let boundary = entries.left.count
    let workspace = entries.workspace
    let first = entries.isLeaf ? 0 : 1
    let start = max(boundary, first + 1)
    for position in start..<max(start, min(boundary + 2, entries.count)) {
      let earlier = entries.key(position - 1, in: workspace.firstKey)
      let later = entries.key(position, in: workspace.secondKey)
      guard earlier.compare(later) < 0 else { return false }
    }
    return true
  }

  /// Returns the prefix length for a single node that contains all entries, or `nil` if the entries
  /// do not fit in one node.
  func mergedPrefixCount(pageByteCount: Int) -> Int? {
    entries.fittingPrefixCount(
      0..<entries.count, or: knownPrefixCount(0..<entries.count), pageByteCount: pageByteCount)
  }

  /// Returns a division that improves the balance of the nodes, or `nil` if there is none.
  func balancedSplit(pageByteCount: Int) -> NodeSplit? {
    guard let bounds = NodeSplit.bounds(of: entries) else { return nil }
    let shared = min(entries.left.prefixCount, entries.right?.prefixCount ?? 0)
    let middle = entries.middle(prefixCount: shared, within: bounds)
    if let split = split(at: middle, pageByteCount: pageByteCount) { return split }
    // If no balanced division fits, divide two branches anyway when one of them has fewer than two
    // children, because every child needs a neighbour to merge with.
    guard !entries.isLeaf else { return nil }
    if entries.left.count < 2 { return split(at: bounds.lowerBound, pageByteCount: pageByteCount) }
    if entries.count - entries.left.count < 2 {
      return split(at: bounds.upperBound, pageByteCount: pageByteCount)
    }
    return nil
  }

  private func split(at position: Int, pageByteCount: Int) -> NodeSplit? {
    guard position != entries.left.count else { return nil }
    return NodeSplit(
      entries, at: position, leftPrefixCount: knownPrefixCount(0..<position),
      rightPrefixCount: knownPrefixCount(position..<entries.count), pageByteCount: pageByteCount)
  }

  /// Returns the prefix length of the node that contains all keys of a range.
  ///
  /// The result is `nil` if neither node contains the entire range.
  private func knownPrefixCount(_ range: Range<Int>) -> Int? {
    if range.upperBound <= entries.left.count { return entries.left.prefixCount }
    if range.lowerBound >= entries.left.count { return entries.right?.prefixCount }
    return nil
  }
}
