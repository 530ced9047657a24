/// How far a long operation on a store has come.
///
/// Counted in pages. The total is an estimate made at the beginning; the last call has both counts
/// equal.
public struct StoreProgress: Hashable, Sendable {
  /// Pages that are done; never more than ``totalPageCount``.
  public var completedPageCount: Int
  /// Pages there are to do.
  public var totalPageCount: Int

  init(completed: Int, of total: Int) {
    completedPageCount = min(completed, total)
    totalPageCount = total
  }

  /// What is done, from 0 to 1.
  public var fraction: Double {
    totalPageCount == 0 ? 1 : Double(completedPageCount) / Double(totalPageCount)
  }
}

/// Passes progress on whenever another hundredth is done.
final class ProgressReport {
  private let total: Int
  private let body: ((StoreProgress) -> Void)?
  private var next = 0

  init(total: Int, _ body: ((StoreProgress) -> Void)?) {
    self.total = total
    self.body = body
  }

  /// Notes how many pages are done.
  @inline(__always)
  func reach(_ completed: Int) {
    if completed >= next { report(completed) }
  }

  /// Notes that all is done.
  func finish() { body?(StoreProgress(completed: total, of: total)) }

  @inline(never)
  private func report(_ completed: Int) {
    next = completed + max(total / 100, 1)
    body?(StoreProgress(completed: completed, of: total))
  }
}
