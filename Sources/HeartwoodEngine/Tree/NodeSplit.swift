/// A way to divide the entries of one overfull node, or of two neighbours, between two nodes.
struct NodeSplit {
  /// The edge of a tree level where an entry is inserted, or `none` if the entry is inserted
  /// elsewhere.
  ///
  /// A split at an edge gives the node at that edge as few entries as possible and leaves the other
  /// node full, because the next keys are likely to be inserted at the same edge.
  enum Edge {
    case none
    case first
    case last
  }

  let position: Int
  let leftPrefixCount: Int
  let rightPrefixCount: Int

  /// Creates a division of `entries`, or returns `nil` if no division results in two nodes that fit
  /// in their pages.
  ///
  /// The result is never `nil` for an intact page. If a new key does not start with the node's
  /// prefix, a shorter prefix could make the other entries too large. However, such a key sorts
  /// before or after all other keys, so it can be stored in a node of its own.
  ///
  /// - Parameter keyOrder: The result of ``NodeSearch/prefixOrder(_:_:)`` for the new key.
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
  /// If possible, each branch gets at least two children, so that every child has a neighbour to
  /// merge with.
  static func bounds(of entries: NodeRebuild) -> ClosedRange<Int>? {
    let margin = entries.isLeaf || entries.count < 4 ? 1 : 2
    return entries.count < 2 ? nil : margin...(entries.count - margin)
  }

  /// Creates a division of `entries` before `position`, or returns `nil` if one of the two nodes
  /// would not fit in its page.
  ///
  /// `knownLeft` is the length of a prefix that all keys on the left side are known to share, or
  /// `nil` if no such prefix is known. `knownRight` is the corresponding length for the right side.
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

  func write(_ entries: NodeRebuild, to left: MutableBytes, _ right: MutableBytes) {
    entries.write(0..<position, to: left, prefixCount: leftPrefixCount)
    entries.write(position..<entries.count, to: right, prefixCount: rightPrefixCount)
  }
}
