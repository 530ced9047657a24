/// The division of an overfull node, and the prefixes of the two resulting nodes.
struct NodeSplit {
  /// The new node that stays full, because the next keys are likely to go to the other.
  enum Edge {
    case none
    case first
    case last
  }

  let position: Int
  let leftPrefixCount: Int
  let rightPrefixCount: Int

  /// Divides `entries`; `nil` if no division results in two nodes that fit, which only a corrupt
  /// page can cause.
  ///
  /// A new key without the node's prefix sorts before or after all keys that have it, so the others
  /// can keep the prefix.
  init?(_ entries: NodeRebuild, edge: Edge, keyOrder: Int, pageSize: Int) {
    let count = entries.count
    // A branch keeps two children on each side, so that every child has a neighbour to merge with.
    let margin = entries.isLeaf || count < 4 ? 1 : 2
    guard count >= 2 else { return nil }
    let bounds = margin...(count - margin)
    if keyOrder < 0 || (keyOrder == 0 && edge == .first) {
      self.init(entries, at: bounds.lowerBound, keyOrder: keyOrder, pageSize: pageSize)
    } else if keyOrder > 0 || edge == .last {
      self.init(entries, at: bounds.upperBound, keyOrder: keyOrder, pageSize: pageSize)
    } else {
      let middle = entries.middle(prefixCount: entries.left.prefixCount, within: bounds)
      self.init(entries, at: middle, keyOrder: keyOrder, pageSize: pageSize)
    }
  }

  private init?(_ entries: NodeRebuild, at position: Int, keyOrder: Int, pageSize: Int) {
    let known = entries.left.prefixCount
    guard
      let left = entries.fittingPrefixCount(
        0..<position, or: keyOrder < 0 ? nil : known, pageSize: pageSize),
      let right = entries.fittingPrefixCount(
        position..<entries.count, or: keyOrder > 0 ? nil : known, pageSize: pageSize)
    else { return nil }
    self.position = position
    leftPrefixCount = left
    rightPrefixCount = right
  }
}
