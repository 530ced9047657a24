/// The PID of the current writer and the time at which it acquired the writer lock, encoded in one
/// shared counter.
///
/// The claim is used only in messages. A writer stores it while it holds the writer lock, without a
/// system call. If a writer dies, its claim remains until the next writer replaces it.
package struct WriterClaim: Hashable, Sendable {
  package let process: Int32
  /// The time at which the writer acquired the lock, in milliseconds of the monotonic clock, which
  /// all processes on a machine share.
  package let since: UInt64

  private static let clockBitCount: UInt64 = 42

  package init(process: Int32, since: UInt64) {
    self.process = process
    self.since = since
  }

  /// Decodes a counter value, or returns `nil` if there is no writer.
  package init?(word: UInt64) {
    guard word != 0 else { return nil }
    process = Int32(truncatingIfNeeded: word >> Self.clockBitCount)
    since = word & (1 << Self.clockBitCount - 1)
  }

  package var word: UInt64 {
    UInt64(UInt32(bitPattern: process)) << Self.clockBitCount
      | since & (1 << Self.clockBitCount - 1)
  }

  /// Returns the time since the writer acquired the lock, as text.
  package func age(at now: UInt64) -> String {
    let milliseconds = now > since ? now - since : 0
    return milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000) s"
  }
}
