/// The byte-range locks on one file.
///
/// Requests never wait. The caller must synchronise access.
package struct RangeLocks {
  private struct Held {
    let owner: ObjectIdentifier
    let range: Range<UInt64>
    let isExclusive: Bool
  }

  private var held: [Held] = []

  package init() {}

  /// Sets, converts or releases a lock, or returns `false` if another owner holds a conflicting
  /// lock.
  package mutating func set(
    _ kind: LockKind, _ range: Range<UInt64>, owner: ObjectIdentifier
  ) -> Bool {
    guard !range.isEmpty else { return true }
    let isExclusive = kind == .exclusive
    let isBlocked = held.contains {
      $0.owner != owner && $0.range.overlaps(range) && ($0.isExclusive || isExclusive)
    }
    guard kind == .none || !isBlocked else { return false }
    var kept: [Held] = []
    for lock in held {
      guard lock.owner == owner, lock.range.overlaps(range) else {
        kept.append(lock)
        continue
      }
      // As with `fcntl`, the owner keeps the parts of its old lock that lie outside the range.
      let before = lock.range.lowerBound..<max(lock.range.lowerBound, range.lowerBound)
      let after = min(lock.range.upperBound, range.upperBound)..<lock.range.upperBound
      for part in [before, after] where !part.isEmpty {
        kept.append(Held(owner: owner, range: part, isExclusive: lock.isExclusive))
      }
    }
    if kind != .none { kept.append(Held(owner: owner, range: range, isExclusive: isExclusive)) }
    held = kept
    return true
  }

  package mutating func releaseAll(of owner: ObjectIdentifier) {
    held.removeAll { $0.owner == owner }
  }

  /// Returns a part of `range` that another owner has locked, or `nil` if there is none.
  package func lockedByOthers(than owner: ObjectIdentifier, in range: Range<UInt64>) -> Range<
    UInt64
  >? {
    held.first { $0.owner != owner && $0.range.overlaps(range) }?.range.clamped(to: range)
  }
}
