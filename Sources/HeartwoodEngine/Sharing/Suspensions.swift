import Synchronization

/// How often a store was suspended in this process: what was read before is not to be used after.
package final class Suspensions: @unchecked Sendable {
  // @unchecked because the memory behind the pointer is atomic.
  private let count: UnsafeMutablePointer<Atomic<UInt64>> = .allocate(capacity: 1)

  init() { count.initialize(to: Atomic(0)) }

  deinit {
    count.deinitialize(count: 1)
    count.deallocate()
  }

  /// Lets every mark pass that was set until now.
  func add() { count.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent) }

  /// A mark set now.
  var mark: Mark { Mark(count: count, value: count.pointee.load(ordering: .relaxed)) }

  /// A time between two suspensions; asked for each page, it retains nothing.
  ///
  /// Valid as long as the suspensions it is from.
  struct Mark {
    fileprivate let count: UnsafeMutablePointer<Atomic<UInt64>>
    fileprivate let value: UInt64

    /// Whether the store was suspended since.
    var hasPassed: Bool {
      @inline(__always) get { count.pointee.load(ordering: .relaxed) != value }
    }
  }

  static let ended = StorageError(
    .generationExpired,
    "The store was suspended after this snapshot was taken, and its generation was given up. Take "
      + "a new snapshot once the store is resumed.")

  static let suspended = StorageError(
    .suspended, "The store is suspended. Call `resume()` before it is used again.")
}
