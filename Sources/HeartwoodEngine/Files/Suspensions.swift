import Synchronization

/// The suspension state of a store.
///
/// The state counts suspensions, so that pages read before the latest suspension can be rejected.
package final class Suspensions: @unchecked Sendable {
  // `@unchecked` is safe because the phase and the memory behind the pointer are atomic.
  private let count: UnsafeMutablePointer<Atomic<UInt64>> = .allocate(capacity: 1)
  private let phase = Atomic(Phase.active)

  private enum Phase: UInt8, AtomicRepresentable {
    case active
    /// A thread is waiting to suspend the store, so maintenance stops at its next step.
    case requested
    case suspended
  }

  init() { count.initialize(to: Atomic(0)) }

  deinit {
    count.deinitialize(count: 1)
    count.deallocate()
  }

  /// Requests that this process end its maintenance and its waits for other processes.
  func request() {
    _ = phase.compareExchange(
      expected: .active, desired: .requested, ordering: .sequentiallyConsistent)
  }

  /// Withdraws a request, unless the store has been suspended.
  func withdrawRequest() {
    _ = phase.compareExchange(
      expected: .requested, desired: .active, ordering: .sequentiallyConsistent)
  }

  func begin() { phase.store(.suspended, ordering: .sequentiallyConsistent) }
  func end() { phase.store(.active, ordering: .sequentiallyConsistent) }

  /// Throws `suspended` if the store is suspended.
  func requireActive() throws(StorageError) {
    if phase.load(ordering: .sequentiallyConsistent) == .suspended { throw Self.suspended }
  }

  /// Throws `suspended` if the store is suspended or a thread is waiting to suspend it.
  func requireNoRequest() throws(StorageError) {
    if phase.load(ordering: .sequentiallyConsistent) != .active { throw Self.suspended }
  }

  func add() { count.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent) }
  var period: Period { Period(count: count, value: count.pointee.load(ordering: .relaxed)) }

  /// A period between two suspensions.
  ///
  /// A period retains no object, because it is checked whenever a page is read. The period is valid
  /// only while its `Suspensions` object exists.
  struct Period {
    fileprivate let count: UnsafeMutablePointer<Atomic<UInt64>>
    fileprivate let value: UInt64

    /// A Boolean value that indicates whether the store has been suspended since the period began.
    var hasPassed: Bool {
      @inline(__always) get { count.pointee.load(ordering: .relaxed) != value }
    }
  }

  static let ended = StorageError(
    .generationExpired,
    "The store was suspended after this snapshot was taken, so the snapshot's generation was "
      + "released. Take a new snapshot after resuming the store.")

  static let busy = StorageError(
    .busy,
    "The store could not be suspended or resumed, because another call or a maintenance run took "
      + "longer than `busyTimeout`. Wait until it has finished, and then try again.")

  static let suspended = StorageError(
    .suspended, "The store is suspended. Call `resume()` before you use it again.")
}
