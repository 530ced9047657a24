/// A three-way merge of two versions of an ordered relationship's list.
struct ListMerge {
  /// The common ancestor of the two lists, or `nil` if it is unknown.
  let base: [ObjectNumber]?
  /// The list in the store or in the parent context.
  let theirs: [ObjectNumber]
  /// The list in this context, or `nil` if it is not loaded.
  let mine: [ObjectNumber]?
  /// A Boolean value that indicates whether this context's order wins if both sides have changed
  /// the order.
  let prefersMine: Bool

  /// Returns the merged list, in which each member occurs once.
  ///
  /// - Parameter members: The members after the merge. Members that are in neither list come last,
  ///   in the given order.
  /// - Complexity: O(members).
  func merged(_ members: [ObjectNumber]) -> [ObjectNumber] {
    let present = Set(members)
    let theirs = Self.only(present, of: theirs)
    var result = theirs
    if let mine {
      let mine = Self.only(present, of: mine)
      result = base == self.theirs ? mine : merged(theirs, mine)
    }
    let known = Set(result)
    var seen = known
    return result + members.filter { seen.insert($0).inserted }
  }

  private func merged(_ theirs: [ObjectNumber], _ mine: [ObjectNumber]) -> [ObjectNumber] {
    let common = Set(theirs).intersection(mine).intersection(base ?? theirs)
    let read = Self.only(common, of: base ?? self.theirs)
    let isMineOther = Self.only(common, of: mine) != read
    let areTheirsOther = Self.only(common, of: theirs) != read
    let mineCounts = isMineOther && (prefersMine || !areTheirsOther)
    return mineCounts ? Self.insert(theirs, into: mine) : Self.insert(mine, into: theirs)
  }

  /// Returns a copy of `list` to which the members found only in `others` have been added.
  ///
  /// Each added member is placed after its predecessor in `others`. Members at the start or end of
  /// `others` are placed at the start or end of the result, respectively.
  private static func insert(
    _ others: [ObjectNumber], into list: [ObjectNumber]
  ) -> [ObjectNumber] {
    let known = Set(list)
    let end = others.lastIndex { known.contains($0) }.map { $0 + 1 } ?? 0
    var first: [ObjectNumber] = []
    var followers: [ObjectNumber: [ObjectNumber]] = [:]
    var predecessor: ObjectNumber?
    for number in others[..<end] {
      if known.contains(number) {
        predecessor = number
      } else if let predecessor {
        followers[predecessor, default: []].append(number)
      } else {
        first.append(number)
      }
    }
    return first + list.flatMap { [$0] + (followers[$0] ?? []) } + others[end...]
  }

  private static func only(_ members: Set<ObjectNumber>, of list: [ObjectNumber]) -> [ObjectNumber]
  {
    var seen: Set<ObjectNumber> = []
    return list.filter { members.contains($0) && seen.insert($0).inserted }
  }
}
