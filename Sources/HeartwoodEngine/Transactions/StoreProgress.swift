/// The progress of a long operation on a store.
///
/// The progress is counted in pages. The total is estimated at the start, but in the last report,
/// the completed count always equals the total.
public struct StoreProgress: Hashable, Sendable {
  /// The number of completed pages.
  ///
  /// The number never exceeds ``totalPageCount``.
  public var completedPageCount: Int
  /// The total number of pages.
  public var totalPageCount: Int

  init(completed: Int, of total: Int) {
    completedPageCount = min(completed, total)
    totalPageCount = total
  }

  /// The completed fraction, from 0 to 1.
  public var fraction: Double {
    totalPageCount == 0 ? 1 : Double(completedPageCount) / Double(totalPageCount)
  }
}

/// A reporter that calls a closure each time another percent of the pages has been completed.
final class ProgressReport {
  private let total: Int
  private let body: ((StoreProgress) -> Void)?
  private var next = 0

  init(total: Int, _ body: ((StoreProgress) -> Void)?) {
    self.total = total
    self.body = body
  }

  @inline(__always)
  func reach(_ completed: Int) {
    if completed >= next { report(completed) }
  }

  func finish() { body?(StoreProgress(completed: total, of: total)) }

  @inline(never)
  private func report(_ completed: Int) {
    next = completed + max(total / 100, 1)
    body?(StoreProgress(completed: completed, of: total))
  }
}
