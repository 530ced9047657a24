/// A division of entries into two nodes, with the length of each node's prefix.
///
/// The entries come from one overfull node or from two neighbours.
struct NodeSplit {
  /// Whether an entry is inserted at the first or the last position of its level in the tree, or at
  /// neither.
  ///
  /// After a split at an edge, the node at the edge has as few entries as possible and the other
  /// node stays full, because the next keys are likely to be inserted at the same edge.
  enum Edge {
    case none
    case first
    case last
  }

  let position: Int
  let leftPrefixCount: Int
  let rightPrefixCount: Int

  /// Divides `entries`, or returns `nil` if no division results in two nodes that fit in their
  /// pages.
  ///
  /// The entries of an intact page can always be divided, even if the new key does not start with
  /// the node's prefix. Such a key sorts before or after all keys that start with the prefix, so it
  /// can be stored in a node of its own, and the other keys can keep the prefix.
  ///
  /// - Parameter keyOrder: The result of ``NodeSearch/prefixOrder(_:_:)`` for the node and the new
  ///   key.
  init?(_ entries: NodeRebuild, edge: Edge, keyOrder: Int, pageByteCount: Int) {
    guard let bounds = Self.bounds(of: entries) else { return nil }
    let known = entries.left.prefixCount
    let position: Int
    if keyOrder < 0 || (keyOrder == 0 && edge == .first) {
      position = bounds.lowerBound
    } else if keyOrder > 0 || edge == .last {
      position = bounds.upperBound
    } else {
      position = entries.middle(prefixCount: known, within: bounds)
    }
    self.init(
      entries, at: position, leftPrefixCount: keyOrder < 0 ? nil : known,
      rightPrefixCount: keyOrder > 0 ? nil : known, pageByteCount: pageByteCount)
  }

  /// Returns the possible positions for a division, or `nil` if there are too few entries.
  ///
  /// Each side of a branch gets at least two children if possible, so that every child has a
  /// neighbour to merge with.
  static func bounds(of entries: NodeRebuild) -> ClosedRange<Int>? {
    let margin = entries.isLeaf || entries.count < 4 ? 1 : 2
    return entries.count < 2 ? nil : margin...(entries.count - margin)
  }

  /// Divides `entries` before the entry at `position`, or returns `nil` if one of the two nodes
  /// does not fit in its page.
  ///
  /// - Parameters:
  ///   - knownLeft: The length of a prefix that all keys before the position are known to share, or
  ///     `nil` if no such prefix is known.
  ///   - knownRight: The length of a prefix that all keys at and after the position are known to
  ///     share, or `nil` if no such prefix is known.
  init?(
    _ entries: NodeRebuild, at position: Int, leftPrefixCount knownLeft: Int?,
    rightPrefixCount knownRight: Int?, pageByteCount: Int
  ) {
    guard
      let left = entries.fittingPrefixCount(
        0..<position, or: knownLeft, pageByteCount: pageByteCount),
      let right = entries.fittingPrefixCount(
        position..<entries.count, or: knownRight, pageByteCount: pageByteCount)
    else { return nil }
    self.position = position
    leftPrefixCount = left
    rightPrefixCount = right
  }

  /// Writes the entries to the two nodes.
  func write(_ entries: NodeRebuild, to left: MutableBytes, _ right: MutableBytes) {
    entries.write(0..<position, to: left, prefixCount: leftPrefixCount)
    entries.write(position..<entries.count, to: right, prefixCount: rightPrefixCount)
  }
}
