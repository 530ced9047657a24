/// Bounds a loop that starts over whenever another process has changed what it was reading.
///
/// Each further attempt needs a change that came at the wrong moment, so a loop that reaches the
/// limit is not unlucky: the files contradict themselves, or something outside the store changes
/// them all the time.
package struct Attempts {
  private var count = 0

  package init() {}

  /// Counts one more attempt.
  ///
  /// - Parameters:
  ///   - action: What is attempted, after "Cannot", for the message.
  ///   - file: The file or directory concerned.
  /// - Throws: `busy` once there have been ``Limits/maxAttemptCount``.
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
