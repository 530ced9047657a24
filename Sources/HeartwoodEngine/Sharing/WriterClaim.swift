/// Who the writer is and since when, in one shared word: for messages, nothing else.
///
/// It is stored without a system call, under the writer lock. A writer that died leaves it behind
/// until the next one comes.
package struct WriterClaim: Hashable, Sendable {
  package let process: Int32
  /// Milliseconds by the clock that never jumps, which all processes of a machine share.
  package let since: UInt64

  private static let clockBitCount: UInt64 = 42

  package init(process: Int32, since: UInt64) {
    self.process = process
    self.since = since
  }

  /// `nil` if nobody is the writer.
  package init?(word: UInt64) {
    guard word != 0 else { return nil }
    process = Int32(truncatingIfNeeded: word >> Self.clockBitCount)
    since = word & (1 << Self.clockBitCount - 1)
  }

  package var word: UInt64 {
    UInt64(UInt32(bitPattern: process)) << Self.clockBitCount
      | since & (1 << Self.clockBitCount - 1)
  }

  /// How long it has been so, in words.
  package func age(at now: UInt64) -> String {
    let milliseconds = now > since ? now - since : 0
    return milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000) s"
  }
}
