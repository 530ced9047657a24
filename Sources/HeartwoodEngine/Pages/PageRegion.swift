package import Synchronization

/// A range of mapped pages, with one bit per page that indicates whether this process has verified
/// the page.
///
/// The bits are in atomic words that are accessed with relaxed ordering. If a change to a bit is
/// lost or becomes visible late, the only effect is that the process verifies the page again.
package struct PageRegion: @unchecked Sendable {
  // `@unchecked` is safe because the pages are read-only and the bits are atomic.
  package let pages: UnsafeRawPointer
  package let verified: UnsafeMutablePointer<Atomic<UInt64>>

  @inline(__always)
  package func isVerified(_ position: Int) -> Bool {
    verified[position &>> 6].load(ordering: .relaxed) & (1 &<< UInt64(position & 63)) != 0
  }

  package func setVerified(_ position: Int) {
    verified[position >> 6].bitwiseOr(1 << UInt64(position & 63), ordering: .relaxed)
  }

  package func clearVerified(_ position: Int) {
    verified[position >> 6].bitwiseAnd(~(1 << UInt64(position & 63)), ordering: .relaxed)
  }
}

/// The verified bits of one region.
///
/// The memory of the bits is freed when this object is deallocated.
package final class VerifiedBits: @unchecked Sendable {
  // `@unchecked` is safe because the words are atomic.
  package let words: UnsafeMutablePointer<Atomic<UInt64>>
  private let count: Int

  package init(pageCount: Int) {
    count = (pageCount + 63) / 64
    words = .allocate(capacity: count)
    for word in 0..<count { (words + word).initialize(to: Atomic(0)) }
  }

  package func clear(from first: Int) {
    var position = first
    while position < count * 64 {
      let kept = (UInt64(1) << UInt64(position & 63)) - 1
      words[position >> 6].bitwiseAnd(kept, ordering: .relaxed)
      position = (position | 63) + 1
    }
  }

  /// Creates an object with as many bits as `other`, all of them cleared.
  package convenience init(like other: VerifiedBits) { self.init(pageCount: other.count * 64) }

  deinit {
    words.deinitialize(count: count)
    words.deallocate()
  }
}
