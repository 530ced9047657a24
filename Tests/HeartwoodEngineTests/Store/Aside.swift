import HeartwoodEngine
import Testing

/// Runs a closure on a separate thread.
final class Aside: @unchecked Sendable {
  // @unchecked because `lock` protects `error` and `hasEnded`, and only one thread uses `thread`.
  private let lock = Lock()
  private var thread: SystemThread?
  private var hasEnded = false
  private var error: StorageError?

  init(_ body: @escaping @Sendable () throws -> Void) {
    thread = SystemThread { [self] in
      var caught: StorageError?
      do { try body() } catch let error as StorageError {
        caught = error
      } catch {
        Issue.record("\(error)")
      }
      lock.withLock {
        error = caught
        hasEnded = true
        lock.wakeAll()
      }
    }
    precondition(thread != nil)
  }

  /// Waits until the closure has ended, but at most 200 ms, because it may be blocked.
  func giveTime() {
    lock.withLock { if !hasEnded { lock.wait(milliseconds: 200) } }
  }

  /// A Boolean value that indicates whether the closure has ended.
  var isDone: Bool { lock.withLock { hasEnded } }

  /// Waits until the closure has ended, and returns the kind of the error that it threw.
  func outcome() -> StorageError.Kind? {
    thread?.join()
    thread = nil
    return lock.withLock { error?.kind }
  }
}
