import HeartwoodEngine
import Testing

/// Runs a body on a thread of its own.
final class Aside: @unchecked Sendable {
  // @unchecked because `error` and `hasEnded` are guarded by `lock`, and one thread asks.
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

  /// Gives it the time it needs if nobody holds it up, and not much more.
  func giveTime() {
    lock.withLock { if !hasEnded { lock.wait(milliseconds: 200) } }
  }

  /// Whether it has come to its end by now.
  var isDone: Bool { lock.withLock { hasEnded } }

  /// What it threw, when it is done.
  func outcome() -> StorageError.Kind? {
    thread?.join()
    thread = nil
    return lock.withLock { error?.kind }
  }
}
