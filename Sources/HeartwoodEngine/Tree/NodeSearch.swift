/// Functions that find a key within one node.
///
/// Nearly every comparison is decided by the heads alone. Because the heads are adjacent, a search
/// reads few cache lines. The search also executes few hard-to-predict conditional jumps.
package enum NodeSearch {
  /// Compares a key with all keys that start with the node's prefix.
  ///
  /// The result is 0 if the key itself starts with the prefix. Otherwise, the result is negative if
  /// the key sorts before all keys with the prefix, and positive if it sorts after them.
  @inline(__always)
  package static func prefixOrder(_ node: NodeView, _ key: SearchKey) -> Int {
    let count = node.prefixCount
    if count == 0 { return 0 }
    guard count <= 8 else { return longPrefixOrder(node, key) }
    let shift = UInt64(64 &- count &* 8)
    let ours = key.head(skipping: 0) &>> shift
    let theirs = node.page.loadBigEndian64(NodeLayout.prefixOffset) &>> shift
    if ours == theirs { return key.count >= count ? 0 : -1 }
    return ours < theirs ? -1 : 1
  }

  @inline(never)
  private static func longPrefixOrder(_ node: NodeView, _ key: SearchKey) -> Int {
    let prefix = node.prefix
    let shared = key.bytes.commonPrefix(with: prefix)
    if shared == prefix.count { return 0 }
    if shared == key.count { return -1 }
    return key.bytes.load8(shared) < prefix.load8(shared) ? -1 : 1
  }

  /// Returns the index of the last branch entry whose key is less than or equal to `key`.
  @inline(__always)
  package static func childSlot(_ node: NodeView, _ key: SearchKey) -> Int {
    let order = prefixOrder(node, key)
    if order != 0 { return order < 0 ? 0 : node.count &- 1 }
    let head = key.head(skipping: node.prefixCount)
    // Skip entry 0, which represents minus infinity and is never compared.
    let length = node.count &- 1
    let smaller = node.page.guessedLowerBound64(node.heads &+ 8, length: length, head, bias: 0.999)
    if smaller == length || node.head(smaller &+ 1) != head { return smaller }
    return tiedChildSlot(node, key, from: smaller &+ 1)
  }

  @inline(never)
  private static func tiedChildSlot(_ node: NodeView, _ key: SearchKey, from first: Int) -> Int {
    var low = first
    var high = endOfTie(node, first)
    while low < high {
      let middle = (low &+ high) &>> 1
      if tiedOrder(node, middle, key) <= 0 { low = middle &+ 1 } else { high = middle }
    }
    return low &- 1
  }

  /// Finds the first leaf entry whose key is greater than or equal to `key`.
  ///
  /// - Parameter touchedLines: The result of ``Bytes/touchedLines`` if a point read prefetched the
  ///   leaf, or 0 otherwise. Comparing this value with a constant keeps the compiler from removing
  ///   the prefetching loads.
  /// - Returns: The index of the entry, and whether the entry's key equals `key`.
  @inline(__always)
  package static func leafSlot(
    _ node: NodeView, _ key: SearchKey, _ touchedLines: UInt64 = 0
  ) -> (slot: Int, found: Bool) {
    let order = prefixOrder(node, key)
    if order != 0 { return (order < 0 ? 0 : node.count, false) }
    let head = key.head(skipping: node.prefixCount)
    let slot = node.page.guessedLowerBound64(node.heads, length: node.count, head, bias: 0.5)
    if slot == node.count || node.head(slot) != head { return (slot, false) }
    let suffixCount = key.count &- node.prefixCount
    if suffixCount <= 8, Int(node.page.load16(node.leafSlot(slot))) == suffixCount,
      touchedLines != .max
    {
      return (slot, true)
    }
    return tiedLeafSlot(node, key, from: slot)
  }

  /// Returns the index of the first leaf entry with the same head as `key`, or `nil` if there is
  /// none.
  ///
  /// This call is the first step of a two-step search in a leaf that is already in the processor's
  /// caches. The second step is ``leafSlot(_:_:from:_:)``.
  @inline(__always)
  package static func candidate(_ node: NodeView, _ key: SearchKey) -> Int? {
    guard prefixOrder(node, key) == 0 else { return nil }
    let head = key.head(skipping: node.prefixCount)
    let slot = node.page.guessedLowerBound64(node.heads, length: node.count, head, bias: 0.5)
    return slot < node.count && node.head(slot) == head ? slot : nil
  }

  /// Returns the index of the leaf entry whose key is `key`, or `nil` if there is none.
  ///
  /// - Parameter candidate: The index returned by the first step, ``candidate(_:_:)``.
  @inline(__always)
  package static func leafSlot(
    _ node: NodeView, _ key: SearchKey, from candidate: Int, _ touchedLines: UInt64
  ) -> Int? {
    let suffixCount = key.count &- node.prefixCount
    if suffixCount <= 8, Int(node.page.load16(node.leafSlot(candidate))) == suffixCount,
      touchedLines != .max
    {
      return candidate
    }
    let (slot, found) = tiedLeafSlot(node, key, from: candidate)
    return found ? slot : nil
  }

  @inline(never)
  private static func tiedLeafSlot(
    _ node: NodeView, _ key: SearchKey, from first: Int
  ) -> (slot: Int, found: Bool) {
    var low = first
    let end = endOfTie(node, first)
    var high = end
    while low < high {
      let middle = (low &+ high) &>> 1
      if tiedOrder(node, middle, key) < 0 { low = middle &+ 1 } else { high = middle }
    }
    return (low, low < end && tiedOrder(node, low, key) == 0)
  }

  /// Returns the index after the last entry that has the same head as the entry at `first`.
  private static func endOfTie(_ node: NodeView, _ first: Int) -> Int {
    let head = node.head(first)
    if first &+ 1 == node.count || node.head(first &+ 1) != head { return first &+ 1 }
    if head == .max { return node.count }
    return first
      &+ node.page.guessedLowerBound64(
        node.heads &+ first &* 8, length: node.count &- first, head &+ 1, bias: 0.5)
  }

  /// Compares an entry's key with a key that has the same prefix and head.
  ///
  /// The result is negative if the entry's key sorts before `key`, 0 if the keys are equal, and
  /// positive otherwise.
  private static func tiedOrder(_ node: NodeView, _ index: Int, _ key: SearchKey) -> Int {
    let ours = node.suffixCount(index)
    let theirs = key.count &- node.prefixCount
    if ours > 8, theirs > 8 {
      let rest = node.rest(index)
      let other = key.bytes.slice(node.prefixCount &+ 8, theirs &- 8)
      let shared = rest.commonPrefix(with: other)
      if shared < rest.count, shared < other.count {
        return Int(rest.load8(shared)) &- Int(other.load8(shared))
      }
    }
    return ours &- theirs
  }
}
