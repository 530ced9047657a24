import Synchronization

/// A count of suspensions, used to reject pages that were read before the latest suspension.
package final class Suspensions: @unchecked Sendable {
  // `@unchecked` is safe because the memory behind the pointer is atomic.
  private let count: UnsafeMutablePointer<Atomic<UInt64>> = .allocate(capacity: 1)

  init() { count.initialize(to: Atomic(0)) }

  deinit {
    count.deinitialize(count: 1)
    count.deallocate()
  }

  func add() { count.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent) }
  var period: Period { Period(count: count, value: count.pointee.load(ordering: .relaxed)) }

  /// A period between two suspensions.
  ///
  /// The period is checked whenever a page is read. It retains no object, and is valid only while
  /// its `Suspensions` object exists.
  struct Period {
    fileprivate let count: UnsafeMutablePointer<Atomic<UInt64>>
    fileprivate let value: UInt64

    /// A Boolean value that indicates whether the store was suspended after the period began.
    var hasPassed: Bool {
      @inline(__always) get { count.pointee.load(ordering: .relaxed) != value }
    }
  }

  static let ended = StorageError(
    .generationExpired,
    "The store was suspended after this snapshot was taken, so the snapshot's generation was "
      + "released. Take a new snapshot after resuming the store.")

  static let suspended = StorageError(
    .suspended, "The store is suspended. Call `resume()` before using it again.")
}
