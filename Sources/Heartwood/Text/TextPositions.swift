/// The position of a word in an object.
///
/// The position consists of the attribute's position in the index, and the number of words that
/// precede the word in the attribute.
enum TextPosition {
  private static let fieldShift: UInt32 = 24

  static func make(field: Int, _ position: Int) -> UInt32 {
    UInt32(field) << fieldShift | UInt32(position)
  }

  static func field(_ position: UInt32) -> Int { Int(position >> fieldShift) }

  static func offset(_ position: UInt32) -> Int { Int(position & (1 << fieldShift - 1)) }
}

extension TextSearchTree {
  /// Returns the positions at which a phrase begins, in ascending order.
  ///
  /// - Parameter positions: A closure that returns the positions of a leaf in ascending order.
  static func starts(
    of words: [Word], _ positions: (Int) throws -> [UInt32]
  ) rethrows -> [UInt32] {
    guard let first = words.first else { return [] }
    var starts = try positions(first.leaf)
    var (leaf, others) = (first.leaf, starts)
    for word in words.dropFirst() where !starts.isEmpty {
      // Do not reread the positions of a repeated word, because a phrase may repeat a word many
      // times.
      if word.leaf != leaf { (leaf, others) = (word.leaf, try positions(word.leaf)) }
      var other = 0
      starts.removeAll { start in
        let wanted = start + UInt32(word.offset)
        while other < others.count, others[other] < wanted { other += 1 }
        return other == others.count || others[other] != wanted
      }
    }
    return starts
  }

  /// Returns whether all groups of words occur in the same attribute, at most `distance` words
  /// apart.
  static func areNear(
    _ groups: [[Word]], distance: Int, _ positions: (Int) throws -> [UInt32]
  ) rethrows -> Bool {
    let starts = try groups.map { try Self.starts(of: $0, positions) }
    var next = Array(repeating: 0, count: starts.count)
    var hasStarts = !starts.contains { $0.isEmpty }
    while hasStarts {
      var (lowest, first, last) = (0, UInt32.max, UInt32(0))
      for group in starts.indices {
        let position = starts[group][next[group]]
        if position < first { (lowest, first) = (group, position) }
        last = max(last, position)
      }
      let isInOneField = TextPosition.field(first) == TextPosition.field(last)
      if isInOneField, Int(last - first) <= distance { return true }
      next[lowest] += 1
      hasStarts = next[lowest] < starts[lowest].count
    }
    return false
  }
}
