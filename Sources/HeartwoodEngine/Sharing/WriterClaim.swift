/// The PID and start time of the current writer, encoded in one shared counter for use in messages.
///
/// A writer stores its claim without a system call while it holds the writer lock. If a writer
/// dies, its claim remains until the next writer replaces it.
package struct WriterClaim: Hashable, Sendable {
  package let process: Int32
  /// The time at which the lock was acquired, in milliseconds on the machine-wide monotonic clock.
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

  package func age(at now: UInt64) -> String {
    let milliseconds = now > since ? now - since : 0
    return milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000) s"
  }
}
