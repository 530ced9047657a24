/// A limit on how often a loop restarts because another process has changed the data being read.
package struct Attempts {
  private var count = 0

  package init() {}

  /// Counts an attempt.
  ///
  /// - Parameter action: The attempted action, which follows "Cannot" in the error message.
  /// - Throws: `busy` if this attempt reaches the limit, ``Limits/maxAttemptCount``.
  package mutating func next(_ action: String, _ file: String) throws(StorageError) {
    count += 1
    guard count < Limits.maxAttemptCount else {
      throw StorageError(
        .busy,
        "Cannot \(action): the files changed during each of \(count) attempts. Check whether "
          + "another program is writing to the store's directory, then try again.", file: file)
    }
  }
}
