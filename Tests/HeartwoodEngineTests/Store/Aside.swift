import HeartwoodEngine
import Testing

/// A body that runs on a thread of its own.
final class Aside: @unchecked Sendable {
  // @unchecked because `error` and `hasEnded` are guarded by `lock`, and one thread queries them.
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

  /// Waits as long as it takes if nothing blocks it, and not much longer.
  func giveTime() {
    lock.withLock { if !hasEnded { lock.wait(milliseconds: 200) } }
  }

  /// Whether it has ended.
  var isDone: Bool { lock.withLock { hasEnded } }

  /// The error that it threw, once it has ended.
  func outcome() -> StorageError.Kind? {
    thread?.join()
    thread = nil
    return lock.withLock { error?.kind }
  }
}
