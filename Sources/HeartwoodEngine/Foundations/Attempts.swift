/// Limits how often a loop may start over because another process changed what the loop was
/// reading.
///
/// A new attempt is needed only if a change happens at exactly the wrong moment. Reaching the limit
/// therefore means that the files contradict each other, or that another program keeps changing
/// them.
package struct Attempts {
  private var count = 0

  package init() {}

  /// Counts one more attempt.
  ///
  /// - Parameters:
  ///   - action: The attempted action, which follows "Cannot" in the error message.
  ///   - file: The file or directory that the error names.
  /// - Throws: `busy` after ``Limits/maxAttemptCount`` attempts.
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
