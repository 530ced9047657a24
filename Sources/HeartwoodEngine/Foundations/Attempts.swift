/// Limits how often a loop starts over because another process has changed the data that it was
/// reading.
package struct Attempts {
  private var count = 0

  package init() {}

  /// Counts one more attempt, and throws `busy` after ``Limits/maxAttemptCount`` attempts.
  ///
  /// - Parameter action: The attempted action, which follows "Cannot" in the error message.
  package mutating func next(_ action: String, _ file: String) throws(StorageError) {
    count += 1
    guard count < Limits.maxAttemptCount else {
      throw StorageError(
        .busy,
        "Cannot \(action): the files changed during each of \(count) attempts. Check whether"
          + " another program writes to the store's directory, then try again.", file: file)
    }
  }
}
